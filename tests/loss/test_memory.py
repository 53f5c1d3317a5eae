"""A loss that remembers: small batches, and the gradient of large ones."""

import numpy as np
import pytest
import torch

from batches import LOSSES, SMOOTH_PROJECTIONS, VIOLATIONS, sample
from fairret.errors import DtypeError, RangeError
from fairret.loss import KLProjectionLoss, NormLoss, ProjectionLoss, SmoothMaxLoss
from small_stream import (
    PEOPLE,
    REMEMBERING,
    SIZE,
    N,
    evaluate,
    stream,
    take,
    with_many_groups,
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss_cls", "name"),
    [*zip(SMOOTH_PROJECTIONS, ("pr", "ppv", "fn_fp", "ppv"), strict=True)],
)
def test_small_batches_have_the_gradient_of_all_rows(loss_cls, name):
    expected, _ = evaluate(loss_cls(name), PEOPLE)
    values, errors = stream(loss_cls(name, memory=4096), 300)
    plain_values, plain_errors = stream(loss_cls(name), 40)
    assert errors[-100:].mean() < 0.3
    assert errors[-100:].mean() < 0.05 * plain_errors.mean()
    assert 0.7 < values[-100:].mean() / expected < 1.4
    assert plain_values.mean() / expected > 1.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_more_groups_than_rows_of_a_batch_do_not_drive_it_away(loss_cls, seed):
    people = with_many_groups(45, seed)
    expected, _ = evaluate(loss_cls("pr"), people)
    values, errors = stream(loss_cls("pr", memory=4096), 300, seed, people)
    assert errors[:50].mean() < 1
    assert errors[-50:].mean() < 0.15
    assert 0.7 < values[-50:].mean() / expected < 1.3


@pytest.mark.slow
def test_multipliers_of_hundreds_of_groups_are_found_without_a_factorisation():
    people = with_many_groups(150, seed=0)
    expected, _ = evaluate(KLProjectionLoss("pr"), people)
    values, errors = stream(KLProjectionLoss("pr", memory=4096), 300, 0, people)
    assert errors[-50:].mean() < 0.4
    assert 0.4 < values[-50:].mean() / expected < 1.3


@pytest.mark.slow
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_multipliers_come_back_from_far_away(loss_cls):
    loss = loss_cls("pr", memory=1000)
    stream(loss, 40)
    loss.memory.nu += torch.linspace(-9, 9, len(loss.memory.nu))
    assert stream(loss, 20)[1].mean() > 1
    assert stream(loss, 500)[1][-50:].mean() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pr", "ppv"])
@pytest.mark.parametrize("loss_cls", VIOLATIONS)
def test_violation_of_small_batches_is_that_of_all_rows(loss_cls, name):
    expected, _ = evaluate(loss_cls(name), PEOPLE)
    values, errors = stream(loss_cls(name, memory=4096), 300)
    plain_values, plain_errors = stream(loss_cls(name), 40)
    assert values[-100:].mean() < 1.5 * expected
    assert plain_values.mean() > 2.5 * expected
    assert errors[-100:].mean() < plain_errors.mean()


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_batch_as_long_as_the_memory_stands_for_itself(loss_cls):
    loss = loss_cls("ppv", memory=100)
    for start in (0, 100, 200):
        batch = take(slice(start, start + 100))
        value, grad = evaluate(loss, batch)
        expected, plain = evaluate(loss_cls("ppv"), batch)
        assert value == pytest.approx(expected, rel=1e-12)
        torch.testing.assert_close(grad, plain)


@pytest.mark.parametrize("gradient", ["paper", "exact"])
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_same_batch_again_and_again_is_projected_exactly(loss_cls, gradient):
    batch = take(slice(0, 300))
    loss = loss_cls("ppv", memory=301, gradient=gradient)
    for _ in range(60):
        value, grad = evaluate(loss, batch)
    expected, plain = evaluate(loss_cls("ppv", gradient=gradient), batch)
    assert value == pytest.approx(expected, rel=1e-4)
    torch.testing.assert_close(grad, plain, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_short_batch_after_long_ones_is_one_of_theirs(loss_cls):
    loss = loss_cls("ppv", memory=2000)
    for start in (0, 2000):
        evaluate(loss, take(slice(start, start + 2000)))
    value, _ = evaluate(loss, take(slice(4000, 4100)))
    expected, _ = evaluate(loss_cls("ppv"), take(slice(2000, 4100)))
    alone, _ = evaluate(loss_cls("ppv"), take(slice(4000, 4100)))
    assert abs(value - expected) < 0.2 * abs(alone - expected)


def test_weights_count_as_rows_do():
    loss, rows = NormLoss("ppv", memory=10**6), take(slice(600))
    weight = torch.linspace(0, 3, 600, dtype=torch.float64)
    for own in torch.arange(600).split(100):
        part = take(own)
        value = loss(part.logit.requires_grad_(), *part[1:], weight=weight[own])
    expected = NormLoss("ppv")(*rows, weight=weight)
    torch.testing.assert_close(value, expected)


def test_first_batches_count_alike():
    loss, rows = NormLoss("pr", memory=10**6), torch.arange(N)
    for part in rows[:960].split(SIZE):
        value, _ = evaluate(loss, take(part))
    assert value == pytest.approx(evaluate(NormLoss("pr"), take(rows[:960]))[0])


@pytest.mark.slow
def test_constraints_out_of_reach_leave_the_loss_finite():
    batch = sample(30, "three", seed=0)
    assert KLProjectionLoss("tpr+ppv").project(*batch).status.name == "INFEASIBLE"
    loss = KLProjectionLoss("tpr+ppv", memory=60, gradient="exact")
    for _ in range(500):
        value, grad = evaluate(loss, batch)
    assert 0 < value < 10
    assert grad.isfinite().all()


@pytest.mark.slow
def test_absent_groups_and_classes_leave_the_loss_finite():
    for name in ("pr", "tpr", "ppv", "fn_fp"):
        for make in (SmoothMaxLoss, KLProjectionLoss):
            loss = make(name, memory=200)
            for row in range(40):
                value, grad = evaluate(loss, take(slice(row, row + 1)))
                assert torch.tensor(value).isfinite()
                assert grad.isfinite().all()


@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_memory_that_is_no_number_of_rows_is_refused(loss_cls):
    for memory in (1.5, True, "long", 4096.0, None):
        with pytest.raises(DtypeError, match="`memory` must be a whole number of rows"):
            loss_cls("pr", memory=memory)
    for memory in (-1, 2**60):
        with pytest.raises(RangeError, match="`memory` must be at least 0 and below"):
            loss_cls("pr", memory=memory)
    assert loss_cls("pr", memory=np.int64(7)).memory.rows == 7


def test_total_variation_cannot_remember():
    with pytest.raises(RangeError, match="`memory` must be 0 for TotalVariation"):
        ProjectionLoss("pr", "tv", memory=100)
    assert len(REMEMBERING) == len(LOSSES) - 1
