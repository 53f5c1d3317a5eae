"""Batches in which nobody is missing, and sums that are right all the same."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from batches import sample
from fairret.errors import DtypeError, RangeError, ShapeError
from fairret.loss import KLProjectionLoss
from fairret.training import StratifiedBatchSampler, rarest_group

STRATA = torch.tensor([0] * 700 + [1] * 250 + [2] * 47 + [3] * 3)


@pytest.mark.parametrize(("size", "least"), [(32, 1), (32, 5), (100, 1), (16, 4)])
def test_every_stratum_is_in_every_batch(size, least):
    sampler = StratifiedBatchSampler(STRATA, size, least=least)
    batches = list(sampler)
    assert len(batches) == len(sampler) == len(STRATA) // size
    for batch in batches:
        count = STRATA[batch].bincount(minlength=4)
        assert count.equal(sampler.shares)
        assert count.sum() == size
        assert count.min() >= least


def test_batch_is_divided_in_proportion_where_that_is_possible():
    assert StratifiedBatchSampler(STRATA, 1000).shares.tolist() == [700, 250, 47, 3]
    assert StratifiedBatchSampler(STRATA, 100).shares.tolist() == [70, 25, 4, 1]


def test_weights_make_the_sums_of_an_epoch_right():
    sampler = StratifiedBatchSampler(STRATA, 50, least=4)
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0)) + STRATA
    rows = torch.tensor([row for _ in range(60) for batch in sampler for row in batch])
    w = sampler.weight[rows]
    torch.testing.assert_close(w.mean(), torch.tensor(1.0))
    for k in range(4):
        share = (w * (STRATA[rows] == k)).mean()
        torch.testing.assert_close(share, (k == STRATA).float().mean())
    torch.testing.assert_close((w * x[rows]).mean(), x.mean(), rtol=0, atol=0.01)


def test_rows_of_a_stratum_take_turns():
    sampler = StratifiedBatchSampler(STRATA, 50)
    rows = torch.tensor([row for batch in sampler for row in batch])
    seen = rows.bincount(minlength=1000)
    assert seen.max() <= 1 + 20 // 3  # the three of the last stratum, in 20 batches
    assert seen[STRATA == 0].max() == 1


def test_epochs_differ_and_seeds_reproduce_them():
    one, two = (StratifiedBatchSampler(STRATA, 50, seed=3) for _ in range(2))
    first = list(one)
    assert first == list(two)
    assert first != list(one)
    assert first != list(StratifiedBatchSampler(STRATA, 50, seed=9))
    two.set_epoch(0)  # as a job does that goes on
    assert first == list(two)


def test_epoch_of_one_seed_is_not_the_next_of_another():
    one, two = (StratifiedBatchSampler(STRATA, 50, seed=seed) for seed in (0, 1))
    list(one)
    assert list(one) != list(two)


def test_processes_deal_out_batches_of_their_own():
    dealt = [
        list(StratifiedBatchSampler(STRATA, 50, rank=rank, processes=3))
        for rank in range(3)
    ]
    assert [len(own) for own in dealt] == [6, 6, 6]
    frequent = [r for own in dealt for batch in own for r in batch if STRATA[r] == 0]
    assert len(frequent) == len(set(frequent)) > 600  # no two of them have the same


def test_rows_of_no_group_do_not_hide_a_rare_one():
    sens = torch.zeros(1000, 2)
    sens[:5, 0] = 1
    sens[5:400, 1] = 1
    strata = rarest_group(sens)
    assert strata.bincount().tolist() == [5, 395, 600]
    for batch in StratifiedBatchSampler(strata, 16):
        assert sens[batch, 0].any()


def test_patterns_of_memberships_are_strata():
    sens = torch.tensor([[1.0, 0, 1], [1, 0, 0], [0, 1, 1], [1, 0, 1]] * 5)
    sampler = StratifiedBatchSampler(sens, 4)
    for batch in sampler:
        assert len(torch.unique(sens[batch], dim=0)) == 3


def test_sampler_feeds_a_loader_and_a_fairret():
    batch = sample(400, "one")
    sampler = StratifiedBatchSampler(batch.sens, 20)
    rows = TensorDataset(*batch, sampler.weight)
    fairret = KLProjectionLoss("pr")
    for logit, sens, label, weight in DataLoader(rows, batch_sampler=sampler):
        assert fairret(logit, sens, label, weight=weight).isfinite()


def test_what_cannot_be_dealt_is_refused():
    with pytest.raises(RangeError, match="`batch_size` must be at least 8, for 4 str"):
        StratifiedBatchSampler(STRATA, 7, least=2)
    with pytest.raises(RangeError, match="`least` must be a whole number"):
        StratifiedBatchSampler(STRATA, 7, least=0)
    with pytest.raises(ShapeError, match=r"`strata` must have shape .* got \(0,\)"):
        StratifiedBatchSampler(STRATA[:0], 7)
    with pytest.raises(RangeError, match="`rank` must be one of 0 to 1 for 2 process"):
        StratifiedBatchSampler(STRATA, 7, rank=2, processes=2)
    with pytest.raises(RangeError, match=r"`processes` must .* `torch.distributed"):
        StratifiedBatchSampler(STRATA, 7, processes=0)
    with pytest.raises(DtypeError, match="`seed` must be a whole number; got None"):
        StratifiedBatchSampler(STRATA, 7, seed=None)
    with pytest.raises(ShapeError, match="`sens` must have memberships"):
        rarest_group(STRATA)
    for sens in ([[1, 0]], np.eye(2)):
        with pytest.raises(DtypeError, match="`sens` must be a tensor"):
            rarest_group(sens)
    with pytest.raises(DtypeError, match="`strata` must be a tensor"):
        StratifiedBatchSampler([0, 1], 2)
