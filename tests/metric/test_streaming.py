"""Metrics over a stream: as if all rows had come at once."""

import math
import pickle

import pytest
import torch

import reference
from batches import STACKS, STATISTICS, same_block_per_group, sample
from fairret.errors import DtypeError, RangeError
from fairret.loss import NormLoss, SmoothMaxLoss
from fairret.metric import (
    LinearFractionalParity,
    MaxViolation,
    Parity,
    ParityTable,
    ViolationNorm,
    ViolationSmoothMax,
)
from fairret.statistic import ConditionalPositiveRate
from streams import METRICS, assert_same

N, D_S = 53, 9
KINDS = pytest.mark.parametrize("kind", METRICS)


def rows(seed=1, kind="three", n=N):
    batch = sample(n, kind, seed=seed)
    return batch.logit.sigmoid(), batch.sens, batch.label


def streamed(metric, data, sizes):
    for part in zip(*(x.split(sizes) for x in data), strict=True):
        metric.update(*part)
    return metric


@KINDS
@pytest.mark.parametrize("sizes", [[1, 30, 22], [50, 3], [1] * N])
def test_stream_equals_one_batch(kind, sizes):
    data = rows()
    whole, parts = METRICS[kind](D_S), METRICS[kind](D_S)
    whole.update(*data)
    assert_same(streamed(parts, data, sizes).compute(), whole.compute())


@pytest.mark.parametrize("sizes", [[17, 58], [1] * 75])
def test_noise_floor_of_equal_groups_does_not_turn_with_the_rounding(sizes):
    batch = same_block_per_group(block=5, d_s=5)  # equal eigenvalues
    order = torch.randperm(75, generator=torch.Generator().manual_seed(20))
    data = [x.repeat(3, *[1] * (x.dim() - 1))[order] for x in batch]
    data[0] = data[0].sigmoid()
    whole, parts = Parity("pr"), Parity("pr")
    whole.update(*data)
    assert_same(streamed(parts, data, sizes).compute(), whole.compute())


@KINDS
def test_group_absent_from_a_batch_is_not_booked_to_another(kind):
    data = rows(seed=2, kind="one")
    order = data[1][:, 1].argsort(stable=True)  # the second group comes last
    whole, parts = METRICS[kind](3), METRICS[kind](3)
    whole.update(*data)
    sorted_rows = [x[order] for x in data]
    assert_same(streamed(parts, sorted_rows, [8, 5, 40]).compute(), whole.compute())


@pytest.mark.parametrize("name", STATISTICS)
def test_absent_group_changes_nothing_for_the_others(name):
    h, s, y = rows(seed=3, kind="one")
    absent = torch.zeros(N, 1, dtype=s.dtype)
    with_it, without = Parity(name), Parity(name)
    with_it.update(h, torch.cat((s[:, :1], absent, s[:, 1:]), 1), y)
    without.update(h, s, y)
    ours, theirs = with_it.compute().scores, without.compute().scores
    assert ours.count.tolist() == [*s[:, :1].sum(0), 0, *s[:, 1:].sum(0)]
    assert ours.estimable.tolist() == [True, False, True, True]
    others = [0, 2, 3]
    for vector in ("statistic", "standard_error", "low", "violation"):
        values = getattr(ours, vector)
        assert math.isnan(values[1])
        torch.testing.assert_close(values[others], getattr(theirs, vector))
    torch.testing.assert_close(ours.max_violation, theirs.max_violation)
    assert ours.test.df == theirs.test.df


def test_group_without_positives_is_nan_with_its_count():
    h, s, y = rows(seed=4, kind="one")
    y = y.masked_fill(s[:, 2] == 1, 0)
    metric = Parity("tpr", names=["a", "b", "c"])
    metric.update(h, s, y)
    group = metric.compute().scores.groups["c"]
    assert group.count == s[:, 2].sum() > 0
    assert not group.estimable
    assert math.isnan(group.statistic)
    assert not group.beyond_chance


@pytest.mark.parametrize("name", STATISTICS)
def test_violations_equal_the_loops(name):
    h, s, y = rows(seed=5, kind="continuous")
    metric = streamed(Parity(name), (h, s, y), [20, 33]).compute().scores
    expected = reference.violations(name, h.numpy(), s.numpy(), y.numpy())
    torch.testing.assert_close(metric.violation, torch.from_numpy(expected))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*STATISTICS, *STACKS])
def test_norm_and_smooth_maximum_are_the_losses_of_the_whole(name, weighted):
    h, s, y = rows(seed=6)
    w = 0.3 + h.flip(0) if weighted else None
    for metric_cls, loss_cls in (
        (ViolationNorm, NormLoss),
        (ViolationSmoothMax, SmoothMaxLoss),
    ):
        metric = metric_cls(name)
        for own in torch.arange(N).split(31):
            metric.update(h[own], s[own], y[own], weight=None if w is None else w[own])
        loss = loss_cls(name)(h, s, y, weight=w, pred_as_logit=False)
        torch.testing.assert_close(metric.compute(), loss, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", STATISTICS)
def test_largest_violation_is_the_metric_of_013(name):
    data = rows(seed=7)
    ours = streamed(MaxViolation(name), data, [20, 33])
    theirs = streamed(LinearFractionalParity(name, D_S), data, [20, 33])
    torch.testing.assert_close(ours.compute(), theirs.compute(), rtol=1e-12, atol=0)


@KINDS
def test_reset_forgets_all_rows(kind):
    metric, fresh = METRICS[kind](D_S), METRICS[kind](D_S)
    metric.update(*rows(seed=8))
    metric.compute()
    metric.reset()
    for some in (metric, fresh):
        some.update(*rows(seed=9))
    assert_same(metric.compute(), fresh.compute())


def test_reset_forgets_groups_that_were_not_told():
    metric = MaxViolation("pr")
    metric.update(*rows(kind="three"))
    metric.reset()
    metric.update(*rows(kind="one"))
    assert metric.compute() > 0


@pytest.mark.slow
@KINDS
def test_copies_and_pickles_go_on_by_themselves(kind):
    metric = METRICS[kind](D_S)
    metric.update(*rows(seed=10))
    before = metric.compute()
    for copy in (metric.clone(), pickle.loads(pickle.dumps(metric))):
        assert_same(copy.compute(), before)
        copy.update(*rows(seed=11))
        both = METRICS[kind](D_S)
        for seed in (10, 11):
            both.update(*rows(seed=seed))
        assert_same(copy.compute(), both.compute())
    assert_same(metric.compute(), before)
    assert_same(pickle.loads(pickle.dumps(before)), before)


@KINDS
def test_state_comes_back_from_a_file(kind, tmp_path):
    metric, other = METRICS[kind](D_S), METRICS[kind](D_S)
    for some in (metric, other):
        some.persistent(True)
        some.update(*rows(seed=12))
    metric.update(*rows(seed=13))
    torch.save(metric.state_dict(), tmp_path / "state.pt")
    other.load_state_dict(torch.load(tmp_path / "state.pt"))
    assert_same(other.compute(), metric.compute())


@KINDS
def test_forward_gives_the_batch_and_keeps_the_sum(kind):
    first, second = rows(seed=14), rows(seed=15)
    metric, alone, both = (METRICS[kind](D_S) for _ in range(3))
    metric(*first)
    alone.update(*second)
    assert_same(metric(*second), alone.compute())
    both.update(*first)
    both.update(*second)
    assert_same(metric.compute(), both.compute())


@KINDS
def test_memory_does_not_grow_with_the_stream(kind):
    metric = METRICS[kind](D_S)
    sizes = set()
    for _ in range(5):
        metric.update(*rows(seed=16))
        sizes.add(sum(getattr(metric, name).numel() for name in metric._defaults))
        assert not any(getattr(metric, name).requires_grad for name in metric._defaults)
    assert len(sizes) == 1


def test_decision_is_a_score_above_the_threshold():
    metric = Parity("pr", threshold=0.3)
    score = torch.tensor([0.3, 0.31, 0.29, 0.3])  # in float32, 0.3 is above 0.3
    metric.update(score, torch.ones(4, 1))
    assert metric.compute().decisions.overall == 0.25
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        metric.reset()
        score = torch.tensor([0.3, 0.31, 0.29, 0.3], dtype=dtype)
        metric.update(score, torch.ones(4, 1))
        assert metric.compute().decisions.overall == 0.25, dtype


def test_decisions_of_integers_are_those_given():
    metric = Parity("pr", threshold=0.5)
    metric.update(torch.tensor([0, 1, 1, 1, 0]), torch.ones(5, 1))
    scores, decisions = metric.compute()
    assert scores.overall == decisions.overall == 0.6


def test_scores_and_decisions_come_from_one_pass():
    h, s, y = rows(seed=17)
    both = Parity("ppv", threshold=0.45)
    scores, decisions = Parity("ppv"), Parity("ppv")
    streamed(both, (h, s, y), [29, 24])
    scores.update(h, s, y)
    decisions.update((h > 0.45).double(), s, y)
    assert_same(both.compute().scores, scores.compute().scores)
    assert_same(both.compute().decisions, decisions.compute().scores)
    assert scores.compute().decisions is None


def test_logits_are_measured_as_their_probabilities():
    batch = sample(N, "three", seed=18)
    logits = Parity("fn_fp", threshold=0.7, pred_as_logit=True)
    probabilities = Parity("fn_fp", threshold=0.7)
    logits.update(batch.logit[:, None], batch.sens, batch.label)
    probabilities.update(batch.logit.sigmoid(), batch.sens.bool(), batch.label.long())
    assert_same(logits.compute(), probabilities.compute())


def test_every_notion_of_a_table_gets_its_own_inputs():
    h, s, y = rows(seed=19)
    region = (h.flip(0) > 0.4).double()
    table = ParityTable([ConditionalPositiveRate("region"), "pr", "tpr"])
    table.update(h, s, y, region=region)
    result = table.compute()
    for name, own in (("pr", region >= 0), ("cpr('region')", region == 1)):
        alone = Parity("pr")
        alone.update(h[own], s[own])
        ours, theirs = result[name].scores, alone.compute().scores
        torch.testing.assert_close(ours.statistic, theirs.statistic)
        torch.testing.assert_close(ours.noise_floor, theirs.noise_floor)


@pytest.mark.parametrize("kind", sorted(METRICS.keys() - {"LinearFractionalParity"}))
def test_metric_that_has_seen_nothing_takes_the_state_of_another(kind):
    data = rows(seed=21)
    filled, empty, other = (METRICS[kind](None) for _ in range(3))
    filled.update(*data)
    empty.merge_state(filled)
    assert_same(empty.compute(), filled.compute())
    filled.merge_state(other)  # and nothing changes the other way
    assert_same(filled.compute(), empty.compute())


def test_result_is_computed_again_after_a_merge():
    data, more = rows(seed=22), rows(seed=23, n=31)
    both, first, second = Parity("tpr"), Parity("tpr"), Parity("tpr")
    streamed(both, data, [N])
    streamed(both, more, [31])
    first.update(*data)
    second.update(*more)
    first.compute()
    first.merge_state(second)
    assert_same(first.compute(), both.compute())


def test_sparse_tensors_are_refused_with_a_word_on_what_to_do():
    h, s, y = rows(seed=24)
    for name, call in {
        "prob": (h.to_sparse(), s, y),
        "sens": (h, s.to_sparse(), y),
        "label": (h, s, y.to_sparse()),
    }.items():
        with pytest.raises(DtypeError, match=rf"`{name}` .*`{name}\.to_dense\(\)`"):
            Parity("tpr").update(*call)


def test_logits_are_refused_with_the_option_that_accepts_them():
    h, s, y = rows(seed=25)
    logit = 5 * torch.logit(h)
    with pytest.raises(RangeError, match="metrics with `pred_as_logit=True`"):
        Parity("tpr").update(logit, s, y)
    Parity("tpr", pred_as_logit=True).update(logit, s, y)
