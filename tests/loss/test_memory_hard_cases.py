"""A memory where scores are saturated, statistics undefined, or batches broken."""

import copy

import pytest
import torch
import torch.nn.functional as F

from batches import SMOOTH_PROJECTIONS
from fairret.loss import (
    ChiSquaredProjectionLoss,
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    NormLoss,
    SquaredEuclideanProjectionLoss,
)
from fairret.loss.memory import Memory
from small_stream import take


def streamed(loss, logit, *others, batches, size=128):
    """Value of the last batches of a stream; gradients there, and counts, by row."""
    rng = torch.Generator().manual_seed(0)
    values, slopes = [], torch.zeros_like(logit)
    count = torch.zeros_like(logit)
    for k in range(batches):
        rows = torch.randint(len(logit), (size,), generator=rng)
        x = logit[rows].requires_grad_()
        value = loss(x, *(other[rows] for other in others))
        value.backward()
        if k >= batches - 200:
            values.append(value.item())
            slopes.index_add_(0, rows, size * x.grad)
            count.index_add_(0, rows, torch.ones_like(x.grad))
    return sum(values) / len(values), slopes, count


def two_groups(low):
    """One group's scores are far below the other's."""
    rng = torch.Generator().manual_seed(0)
    noise = torch.randn(2, 10_000, generator=rng, dtype=torch.float64)
    logit = torch.cat([0.3 * noise[0] + low, 0.5 * noise[1] - 1])
    return logit, F.one_hot(torch.arange(2).repeat_interleave(10_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss_cls", "low", "sharpness"),
    [
        (JensenShannonProjectionLoss, -16.0, 1.0),
        (JensenShannonProjectionLoss, -2.5, 10.0),
        (KLProjectionLoss, -4.5, 10.0),
        (SquaredEuclideanProjectionLoss, -16.0, 1.0),
        (ChiSquaredProjectionLoss, -6.0, 1.0),
    ],
)
def test_multipliers_of_saturated_scores_are_found(loss_cls, low, sharpness):
    logit, sens = two_groups(low)
    x = logit.clone().requires_grad_()
    expected = loss_cls("pr", sharpness=sharpness)(x, sens)
    expected.backward()
    loss = loss_cls("pr", sharpness=sharpness, memory=4096)
    value, slope, count = streamed(loss, logit, sens, batches=1200)
    assert value == pytest.approx(expected.item(), rel=0.1)
    own, want = slope[:10_000].sum() / count[:10_000].sum(), x.grad[:10_000].mean()
    assert own.item() == pytest.approx(len(logit) * want.item(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_group_without_a_statistic_is_left_alone(loss_cls):
    rng = torch.Generator().manual_seed(0)
    shares = torch.tensor([0.6, 0.35, 0.05])
    group = torch.multinomial(shares, 6000, True, generator=rng)
    label = (torch.rand(6000, generator=rng) < 0.4).double()
    label[group == 2] = 1  # nobody there can be a false positive
    logit = torch.randn(6000, generator=rng, dtype=torch.float64)
    args = (F.one_hot(group), label)
    loss = loss_cls("fn_fp", memory=3000)
    value, slope, _ = streamed(loss, logit, *args, batches=300, size=64)
    assert slope[group == 2].abs().max() < 1e-12
    assert slope[group != 2].abs().max() > 1e-3
    assert value < 3 * loss_cls("fn_fp")(logit, *args).item()


def test_batches_in_which_no_statistic_is_defined_cost_nothing():
    loss, sens = KLProjectionLoss("fn_fp", memory=500), F.one_hot(torch.arange(64) % 2)
    for _ in range(20):
        x = torch.randn(64, dtype=torch.float64, requires_grad=True)
        value = loss(x, sens, torch.ones(64))
        value.backward()
    assert value.item() < 1e-15
    assert x.grad.abs().max() == 0


def test_batch_that_is_not_finite_is_not_remembered_in_parts():
    memory, n = Memory(500, ["num", "den"]), torch.tensor(100.0)

    def remember(num, den):
        share = memory.add_rows(n, num, den)
        memory.mix("num", num, share)
        return memory.mix("den", den, share)

    remember(torch.tensor([1.0]), torch.tensor([2.0]))
    remember(torch.tensor([torch.nan]), torch.tensor([9.0]))
    found = [float(memory.get_buffer(name)) for name in ("seen", "num", "den")]
    assert found == [100, 1, 2]


@pytest.mark.parametrize("loss_cls", [NormLoss, *SMOOTH_PROJECTIONS])
def test_padding_does_not_age_a_memory(loss_cls):
    plain, padded = (loss_cls("pr", memory=64) for _ in range(2))
    rng = torch.Generator().manual_seed(0)
    for _ in range(10):
        logit = torch.randn(32, generator=rng, dtype=torch.float64)
        sens = F.one_hot(torch.arange(32) % 2)
        weight = (torch.arange(32) < 8).double()
        want = plain(logit[:8].requires_grad_(), sens[:8])
        value = padded(logit.requires_grad_(), sens, weight=weight)
    torch.testing.assert_close(value, want)
    assert padded.memory.seen == plain.memory.seen == 80


@pytest.mark.parametrize("loss_cls", [NormLoss, *SMOOTH_PROJECTIONS])
@pytest.mark.parametrize("size", [32, 64])  # the latter is as long as the memory
def test_batch_of_padding_alone_changes_nothing(loss_cls, size):
    loss = loss_cls("pr", memory=64)
    rng = torch.Generator().manual_seed(0)
    sens, nothing = F.one_hot(torch.arange(size) % 2), torch.zeros(size)
    for _ in range(4):
        logit = torch.randn(size, generator=rng, dtype=torch.float64).requires_grad_()
        before = copy.deepcopy(loss.state_dict())
        assert loss(logit, sens, weight=nothing).isfinite()
        for name, kept in loss.state_dict().items():
            assert torch.equal(kept, before[name]) or not before[name].numel(), name
        loss(logit + torch.arange(size) % 2, sens)


@pytest.mark.parametrize("loss_cls", [NormLoss, *SMOOTH_PROJECTIONS])
def test_rows_that_count_make_a_batch_long_and_padding_does_not(loss_cls):
    batch = take(slice(36))
    weight = (torch.arange(36) < 24).double()
    value = loss_cls("pr", memory=36)(batch.logit.requires_grad_(), *batch[1:])
    padded, short = (loss_cls("pr", memory=36) for _ in range(2))
    found = padded(batch.logit.requires_grad_(), *batch[1:], weight=weight)
    part = take(slice(24))
    want = short(part.logit.requires_grad_(), *part[1:])
    torch.testing.assert_close(found, want)
    assert found != value
