"""Projection losses with a tolerance: zero within it, and exact outside."""

import math

import numpy as np
import pytest
import torch

import reference
from batches import (
    PROJECTIONS,
    SMOOTH_PROJECTIONS,
    STATISTICS,
    balanced,
    same_block_per_group,
    sample,
)
from fairret import device
from fairret.errors import DtypeError, RangeError, StateError
from fairret.loss import (
    KLProjectionLoss,
    ProjectionLoss,
    SquaredEuclideanProjectionLoss,
    TotalVariationProjectionLoss,
)

N = 13


def evaluate(loss, batch, **options):
    logit = batch[0].clone().requires_grad_()
    value = loss(logit, *batch[1:], **options)
    value.backward()
    return value.detach(), logit.grad


def check(function, logit):
    logit = logit.clone().requires_grad_()
    return torch.autograd.gradcheck(function, (logit,), eps=1e-6, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_cost_is_zero_if_and_only_if_all_groups_are_within_tolerance(loss_cls, name):
    batch = sample(60, "continuous", seed=STATISTICS.index(name))
    h, s, y = batch.numpy()
    largest = reference.violations(name, h, s, y).max()
    for gradient in ("paper", "exact"):
        within = loss_cls(name, max_violation=largest * (1 + 1e-9), gradient=gradient)
        value, grad = evaluate(within, batch)
        assert value == 0
        assert torch.equal(grad, torch.zeros_like(grad))
    value, grad = evaluate(loss_cls(name, max_violation=0.99 * largest), batch)
    assert value > 0
    assert grad.abs().max() > 0


@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_larger_tolerance_costs_less_and_no_tolerance_is_parity(loss_cls):
    batch = sample(80, "three", seed=2)
    plain = evaluate(loss_cls("ppv", gradient="exact"), batch)
    limits = (0.0, 0.01, 0.1, 0.3, 5.0)
    losses = [loss_cls("ppv", gradient="exact", max_violation=x) for x in limits]
    found = [evaluate(loss, batch) for loss in losses]
    assert all(torch.equal(*pair) for pair in zip(found[0], plain, strict=True))
    values = [value.item() for value, _ in found]
    assert values == sorted(values, reverse=True)
    assert values[3] > values[4] == 0


@pytest.mark.parametrize("name", ["pr", "for", "fn_fp", "tpr+fpr"])
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_exact_gradient_is_that_of_the_minimum(loss_cls, name):
    batch = balanced(5, d_s=3, block=7, positives=3)
    loss = loss_cls(name, gradient="exact", max_violation=0.03, tol=1e-9)
    assert loss(*batch) > 0
    assert check(lambda x: loss(x, *batch[1:]), batch.logit)


@pytest.mark.parametrize("name", ["pr", "ppv", "fn_fp"])
@pytest.mark.parametrize("divergence", ["kl", "js", "sed", "chi2", "tv"])
def test_exact_gradient_equals_differences_of_cvxpy_optima(divergence, name):
    batch = balanced(8, d_s=2, block=6, positives=3)
    loss = ProjectionLoss(name, divergence, gradient="exact", max_violation=0.02)
    value, gradient = evaluate(loss, batch)
    assert value > 0
    _, s, y = batch.numpy()

    def optimum(x):
        h = 1 / (1 + np.exp(-x))
        problem = reference.within([name], h, s, y, 0.02)
        return reference.project(divergence, h, *problem, at_most=True)[1]

    x, step = batch.logit.numpy(), 1e-4
    for i in (0, 9):
        move = step * np.eye(len(x))[i]
        slope = (optimum(x + move) - optimum(x - move)) / (2 * step)
        assert gradient[i].item() == pytest.approx(slope, abs=2e-6)


@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_paper_gradient_holds_the_projection_fixed(loss_cls):
    batch = sample(N, "three", seed=7)
    loss = loss_cls("ppv", max_violation=0.1)
    f_star = loss.project(*batch).f_star
    _, gradient = evaluate(loss, batch)
    step = 1e-6
    for i in (0, 5, 12):
        sides = [
            reference.divergence_value(
                loss.divergence.name,
                f_star[i].item(),
                torch.sigmoid(batch.logit[i] + sign).item(),
            )
            for sign in (step, -step)
        ]
        slope = (sides[0] - sides[1]) / (2 * step) / N
        assert gradient[i].item() == pytest.approx(slope, abs=1e-7, rel=1e-4)


def test_target_takes_the_place_of_the_overall_value():
    batch = sample(60, "one", seed=4)
    gammas = ProjectionLoss("pr").statistic(batch.logit.sigmoid(), batch.sens)
    loss = KLProjectionLoss("pr", max_violation=0.2)
    target = float(gammas.max()) / 1.2
    limit = float((gammas / target - 1).abs().max())
    assert loss(*batch[:2], target_statistic=target) > 0  # a group below the limit
    wider = KLProjectionLoss("pr", max_violation=limit * (1 + 1e-9))
    assert wider(*batch[:2], target_statistic=target) == 0


def test_zero_overall_value_has_an_absolute_tolerance():
    """The footnote of Eq. 9: the violation is then that of the statistic itself."""
    prob = torch.tensor([0.05, 0.15, 0.1, 0.1], dtype=torch.float64)
    sens = torch.eye(2, dtype=torch.float64).repeat_interleave(2, 0)
    options = {"pred_as_logit": False, "target_statistic": 0.0}
    for limit, within in ((0.2, True), (0.05, False)):
        loss = SquaredEuclideanProjectionLoss("pr", max_violation=limit)
        assert bool(loss(prob, sens, **options) == 0) == within
        found = loss.project(prob, sens, **options)
        means = found.f_star.view(2, 2).mean(1)
        torch.testing.assert_close(means, torch.full_like(means, min(limit, 0.1)))


@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_rows_of_weight_zero_and_absent_groups_change_nothing(loss_cls):
    batch = sample(40, "one", seed=6)
    loss = loss_cls("ppv", max_violation=0.05)
    value, grad = evaluate(loss, batch)
    more = type(batch)(*(torch.cat((x, 1 - x[:7])) for x in batch))
    absent = torch.cat((more.sens, torch.zeros_like(more.sens[:, :1])), 1)
    weight = (torch.arange(47) < 40).double()
    other, other_grad = evaluate(loss, more._replace(sens=absent), weight=weight)
    assert value > 0
    torch.testing.assert_close(other, value)
    torch.testing.assert_close(other_grad[:40], grad, atol=1e-7, rtol=1e-5)
    assert other_grad[40:].abs().max() == 0


def test_single_group_of_everybody_costs_nothing():
    batch = sample(30, seed=1)
    everybody = torch.ones(30, 1, dtype=torch.float64)
    loss = KLProjectionLoss("ppv", max_violation=1e-3)
    assert loss(batch.logit, everybody, batch.label) == 0


@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_float32_agrees_with_float64(loss_cls):
    batch = sample(200, "three", seed=5)
    loss = loss_cls("tpr", max_violation=0.1)
    value, grad = evaluate(loss, batch)
    other, other_grad = evaluate(loss, batch.to(torch.float32))
    torch.testing.assert_close(other, value.float(), rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(other_grad, grad.float(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("may_read", [True, False])
@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_devices_without_free_reads_give_the_same(loss_cls, may_read, monkeypatch):
    batch = sample(300, "three", seed=3)
    h, s, y = batch.numpy()
    largest = reference.violations("ppv", h, s, y).max()
    losses = [loss_cls("ppv", max_violation=x) for x in (0.05, largest * 1.01)]
    expected = [evaluate(loss, batch) for loss in losses]
    monkeypatch.setattr(device, "reads_are_free", lambda _: False)
    monkeypatch.setattr(device, "may_read", lambda _: may_read)
    found = [evaluate(loss, batch) for loss in losses]
    assert expected[1][0] == found[1][0] == 0
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("sharing", ["loss", "memory"])
@pytest.mark.compile
def test_compiled_loss_equals_the_eager_one(sharing):
    batch = sample(90, "three", seed=5)
    memory = 1000 if sharing == "memory" else 0
    results = []
    for compiles in (False, True):
        loss = KLProjectionLoss("ppv", max_violation=0.05, memory=memory)
        first = evaluate(loss, batch)
        if compiles:
            loss = torch.compile(loss, fullgraph=True, backend="aot_eager")
        results.append((first, evaluate(loss, batch)))
    assert results[0][1][0] > 0
    torch.testing.assert_close(*results)


@pytest.mark.simulation
def test_memory_gives_small_batches_the_loss_of_large_ones():
    torch.manual_seed(0)
    rows = 8192
    sens = torch.eye(2, dtype=torch.float64)[torch.randint(2, (rows,))]
    logit = torch.randn(rows, dtype=torch.float64) + 0.45 * sens[:, 0] - 0.5

    def losses(limit, memory):
        loss = KLProjectionLoss("pr", max_violation=limit, memory=memory)
        values = []
        for _ in range(150):
            i = torch.randint(rows, (64,))
            values.append(loss(logit[i].requires_grad_(), sens[i]).detach())
        return torch.stack(values[60:])

    expected = KLProjectionLoss("pr", max_violation=0.05)(logit, sens).item()
    assert expected > 1e-3
    assert losses(0.05, memory=4096).mean().item() == pytest.approx(expected, rel=0.3)
    assert losses(0.05, memory=0).mean() > 1.5 * expected
    assert KLProjectionLoss("pr", max_violation=0.3)(logit, sens) == 0
    assert (losses(0.3, memory=4096) == 0).all()


def test_memory_belongs_to_a_tolerance():
    state = KLProjectionLoss("pr", memory=100, max_violation=0.1).state_dict()
    KLProjectionLoss("pr", memory=100, max_violation=0.1).load_state_dict(state)
    for limit in (0.0, 0.2):
        with pytest.raises(StateError, match=r"max_violation=0\.1"):
            KLProjectionLoss("pr", memory=100, max_violation=limit).load_state_dict(
                state
            )


def test_tolerance_shows_in_the_text_of_a_loss():
    assert "max_violation=0.1" in repr(KLProjectionLoss("pr", max_violation=0.1))
    assert "max_violation" not in repr(KLProjectionLoss("pr"))


@pytest.mark.parametrize("limit", [-0.1, math.nan, math.inf])
def test_impossible_tolerances_are_refused(limit):
    with pytest.raises(RangeError, match=r"`max_violation` must be at least 0 and fin"):
        TotalVariationProjectionLoss("pr", max_violation=limit)


@pytest.mark.parametrize("limit", ["0.1", True, None])
def test_tolerance_must_be_a_number(limit):
    with pytest.raises(DtypeError, match="`max_violation` must be a number"):
        ProjectionLoss("pr", max_violation=limit)


def test_fair_scores_are_within_any_tolerance():
    batch = same_block_per_group()
    assert KLProjectionLoss("ppv", max_violation=1e-9)(*batch) == 0
