"""Values against plain loops, and zero where the model tells nothing of the trait."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import reference
from batches import same_block_per_group, sample
from fairret.lab.baseline import AdversarialDebiasingLoss, HSICLoss, PRemoverLoss
from fairret.lab.baseline.hsic import (
    CELLS,
    SERIES_FROM,
    centred_trait,
    hsic_by_rows,
    hsic_by_series,
    median_distance,
)
from fairret.loss import NormLoss

N, D, WIDTH = 23, 3, 4
BATCH = sample(N, seed=2)
MISSING = BATCH.sens.clone()
MISSING[[1, 5, 6]] = 0
STRICT = (PRemoverLoss(), HSICLoss(), HSICLoss(bandwidth=0.05))
TWICE = torch.tensor([2.0, 1.0, 3.0, 0.0] * 6, dtype=torch.float64)[:N]


def adversary(hidden_size=WIDTH, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return AdversarialDebiasingLoss(D, hidden_size).double()


def hidden(n=N, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(n, WIDTH, generator=rng, dtype=torch.float64)


@pytest.mark.parametrize("weight", [None, TWICE], ids=["", "weighted"])
@pytest.mark.parametrize("sens", [BATCH.sens, MISSING], ids=["", "missing"])
def test_mutual_information_equals_the_plain_loop(sens, weight):
    got = PRemoverLoss()(BATCH.logit, sens, weight=weight).item()
    h = BATCH.logit.sigmoid().numpy()
    w = None if weight is None else weight.numpy()
    expected = reference.mutual_information(h, sens.numpy(), w)
    assert got == pytest.approx(expected, rel=1e-12)
    assert got > 1e-3


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.2, 0.35, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("sens", [BATCH.sens, MISSING], ids=["", "missing"])
def test_hsic_equals_all_four_matrices(sens, sigma):
    got = HSICLoss(bandwidth=sigma)(BATCH.logit, sens).item()
    expected = reference.hsic(BATCH.logit.sigmoid().numpy(), sens.numpy(), sigma)
    assert got == pytest.approx(expected, rel=1e-11)
    assert got > 1e-5


def test_terms_of_the_benchmark_are_multiples_of_ours():
    n = 400
    rng = np.random.default_rng(0)
    group = (rng.random(n) < 0.3).astype(float)
    h = 1 / (1 + np.exp(-rng.normal(size=n) - 0.7 * group))
    logit, sens = torch.logit(torch.tensor(h)), F.one_hot(torch.tensor(group).long())
    ours = PRemoverLoss()(logit, sens).item()
    theirs = reference.ffb_prejudice_remover(h, group)
    assert theirs == pytest.approx(n * ours, rel=1e-10)
    ours = HSICLoss(bandwidth=1 / math.sqrt(2))(logit, sens).item()
    factor = (1 - 1 / math.e) * n**2 / (n - 1) ** 2
    theirs = reference.ffb_hsic(h, group)
    assert theirs == pytest.approx(factor * ours, rel=1e-10)


@pytest.mark.parametrize("weight", [None, TWICE], ids=["", "weighted"])
def test_gain_of_the_adversary_equals_the_plain_loop(weight):
    loss, z = adversary(), hidden()
    got = loss(BATCH.logit, MISSING, hidden=z, weight=weight).item()
    guess = loss.adversary(z).detach().numpy()
    w = None if weight is None else weight.numpy()
    expected = reference.adversary_gain(guess, MISSING.numpy(), w)
    assert got == pytest.approx(expected, rel=1e-12)


def test_adversary_without_a_hidden_layer_sees_the_score():
    loss = adversary(None)
    h = BATCH.logit.sigmoid()
    guess = loss.adversary(h[:, None]).detach().numpy()
    expected = reference.adversary_gain(guess, BATCH.sens.numpy())
    assert loss(BATCH.logit, BATCH.sens).item() == pytest.approx(expected, rel=1e-12)


def test_adversary_that_knows_only_base_rates_gains_nothing():
    loss = adversary()
    with torch.no_grad():
        for parameter in loss.parameters():
            parameter.zero_()
        loss.adversary[-1].bias.copy_(BATCH.sens.mean(0).log())
    value = loss(BATCH.logit, BATCH.sens, hidden=hidden())
    assert value.item() == pytest.approx(0, abs=1e-14)  # sums of 23 float64


@pytest.mark.parametrize("loss", STRICT, ids=repr)
def test_independence_costs_nothing_and_dependence_something(loss):
    batch = same_block_per_group()
    fair = loss(*batch)
    assert 0 <= fair < 1e-15  # rounding of float64
    logit = batch.logit.clone()
    logit[0] += 0.1
    assert loss(logit, batch.sens) > 1e-6


def test_mutual_information_sees_means_and_hsic_distributions():
    logit = torch.tensor([-2.0, 2.0, 0.0, 0.0], dtype=torch.float64)
    sens = torch.tensor([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert PRemoverLoss()(logit, sens) < 1e-15
    assert HSICLoss()(logit, sens) > 1e-3
    assert HSICLoss(bandwidth="median")(logit, sens) > 1e-3


def test_mutual_information_is_zero_exactly_at_demographic_parity():
    batch = same_block_per_group()
    logit = batch.logit.clone()
    logit[:5] = logit[:5].sigmoid().mean().logit()  # same mean, other scores
    assert NormLoss("pr")(logit, batch.sens) < 1e-12
    assert PRemoverLoss()(logit, batch.sens) < 1e-15


def test_perfect_prediction_of_two_groups_has_their_entropy():
    logit = torch.tensor([900.0, 900, -900, -900, -900], dtype=torch.float64)
    sens = torch.tensor([[1, 0]] * 2 + [[0, 1]] * 3)
    expected = -0.4 * np.log(0.4) - 0.6 * np.log(0.6)
    assert PRemoverLoss()(logit, sens).item() == pytest.approx(expected)


@pytest.mark.parametrize(
    "loss", [*STRICT, HSICLoss(bandwidth="median"), adversary(None)], ids=repr
)
def test_weight_two_is_the_row_twice(loss):
    rows = torch.arange(N).repeat_interleave(TWICE.long())
    got = loss(BATCH.logit, MISSING, weight=TWICE)
    expected = loss(BATCH.logit[rows], MISSING[rows])
    # the bisection stops at 1e-12 of the range
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("loss", [*STRICT, HSICLoss(bandwidth="median")], ids=repr)
def test_missing_rows_and_the_order_of_rows_do_not_matter(loss):
    known = MISSING.sum(1) > 0
    got = loss(BATCH.logit, MISSING)
    torch.testing.assert_close(got, loss(BATCH.logit[known], MISSING[known]))
    torch.testing.assert_close(got, loss(BATCH.logit.flip(0), MISSING.flip(0)))
    torch.testing.assert_close(got, loss(BATCH.logit, MISSING.flip(1)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [1, 5, 22, 23, 24])
def test_chunks_change_neither_value_nor_gradient(rows, dtype):
    results = []
    for chunk in (None, rows):
        h = BATCH.logit.sigmoid().requires_grad_()
        a = centred_trait(BATCH.sens, torch.full_like(h.detach(), 1 / N))
        value = hsic_by_rows(h, a, torch.tensor(0.3), dtype, chunk)
        (gradient,) = torch.autograd.grad(value, h)
        results.append((value.detach(), gradient))
    torch.testing.assert_close(*results)


class Largest(TorchDispatchMode):
    """Remember the number of elements of the largest tensor that was made."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.numel = max(self.numel, result.numel())
        return result


@pytest.mark.parametrize("bandwidth", [0.5, 0.1, "median"])
def test_no_matrix_of_all_pairs_is_made(bandwidth):
    n = 1_500
    batch = sample(n)
    logit = batch.logit.float().requires_grad_()
    with Largest() as largest:
        HSICLoss(bandwidth=bandwidth)(logit, batch.sens).backward()
    assert n < largest.numel <= CELLS < n * n
    assert logit.grad.isfinite().all()


@pytest.mark.parametrize("sigma", [SERIES_FROM, 0.5, 3.0])
def test_series_equals_rows_in_value_and_gradient(sigma):
    results = []
    for by_rows in (False, True):
        h = BATCH.logit.sigmoid().requires_grad_()
        a = centred_trait(BATCH.sens, torch.full_like(h.detach(), 1 / N))
        if by_rows:
            value = hsic_by_rows(h, a, a.new_tensor(sigma), torch.float64)
        else:
            value = hsic_by_series(h, a, sigma)
        (gradient,) = torch.autograd.grad(value, h)
        results.append((value.detach(), gradient))
    # sums of 23 x 23 float64 in another order
    torch.testing.assert_close(*results, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("sigma", [0.5, 0.1])
def test_float32_keeps_its_digits_where_scores_are_almost_equal(sigma, spread):
    """Float32 around 0.9 steps by 6e-8: without centring, a spread of 5e-8 is lost."""
    h = 0.9 + 0.05 * spread * torch.tanh(BATCH.logit)
    a = centred_trait(BATCH.sens, torch.full_like(h, 1 / N))
    narrow = hsic_by_rows(h, a, h.new_tensor(sigma), torch.float32).double()
    kernel = torch.expm1(-((h[:, None] - h).square()) / (2 * sigma**2))
    expected = torch.trace(a.T @ kernel @ a)
    torch.testing.assert_close(narrow, expected, rtol=2e-5, atol=0)


@pytest.mark.parametrize("n", [1, 2, 7, 23])
def test_median_is_that_of_all_pairs(n):
    h = BATCH.logit[:n].sigmoid()
    pairs = sorted(abs(x - z).item() for x, z in itertools.product(h, h))
    expected = pairs[(len(pairs) - 1) // 2]
    got = median_distance(h, torch.full_like(h, 1 / n)).item()
    assert got == pytest.approx(expected, abs=1e-11)  # 40 halvings


def test_median_bandwidth_is_the_median():
    h = BATCH.logit.sigmoid()
    sigma = median_distance(h, torch.full_like(h, 1 / N)).item()
    got = HSICLoss(bandwidth="median")(BATCH.logit, BATCH.sens)
    expected = HSICLoss(bandwidth=sigma)(BATCH.logit, BATCH.sens)
    torch.testing.assert_close(got, expected)
