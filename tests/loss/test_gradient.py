"""Gradients against finite differences, and that they exist where they are needed."""

import numpy as np
import pytest
import torch

import reference
from batches import (
    PROJECTIONS,
    SMOOTH_PROJECTIONS,
    STATISTICS,
    VIOLATIONS,
    balanced,
    paired,
    sample,
)
from fairret.loss import (
    KLProjectionLoss,
    NormLoss,
    ProjectionLoss,
    TotalVariationProjectionLoss,
)

N = 13


def check(function, logit):
    logit = logit.clone().requires_grad_()
    return torch.autograd.gradcheck(function, (logit,), eps=1e-6, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("kind", ["one", "continuous"])
@pytest.mark.parametrize("name", [*STATISTICS, "tpr+ppv"])
@pytest.mark.parametrize("loss_cls", VIOLATIONS)
def test_violation_passes_gradcheck(loss_cls, name, kind):
    batch = sample(N, kind, seed=3)
    loss = loss_cls(name)
    assert check(lambda x: loss(x, *batch[1:]), batch.logit)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3.0, torch.inf])
def test_every_norm_passes_gradcheck(p):
    batch = sample(N, "three", seed=4)
    loss = NormLoss("ppv", p)
    assert check(lambda x: loss(x, *batch[1:]), batch.logit)


@pytest.mark.parametrize(
    ("loss_cls", "name"), paired(SMOOTH_PROJECTIONS, [*STATISTICS, "tpr+fpr"])
)
def test_exact_gradient_is_that_of_the_minimum(loss_cls, name):
    batch = balanced(5, d_s=2, block=9, positives=4)
    loss = loss_cls(name, gradient="exact", tol=1e-9)
    assert check(lambda x: loss(x, *batch[1:]), batch.logit)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pr", "ppv", "fn_fp", "tpr+fpr"])
@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_paper_gradient_is_that_of_the_minimum_where_c_is_given(loss_cls, name):
    batch = balanced(6, d_s=2, block=9, positives=4)
    loss = loss_cls(name, gradient="paper", tol=1e-9)
    with torch.no_grad():
        c = loss.statistic.overall(batch.logit.sigmoid(), batch.label)
    assert check(lambda x: loss(x, *batch[1:], target_statistic=c), batch.logit)


@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_paper_gradient_holds_the_projection_fixed(loss_cls):
    batch = sample(N, "three", seed=7)
    loss = loss_cls("ppv")
    f_star = loss.project(*batch).f_star
    logit = batch.logit.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(logit, *batch[1:]), logit)
    step = 1e-6
    expected = []
    for i in range(N):
        sides = []
        for sign in (step, -step):
            h = torch.sigmoid(batch.logit[i] + sign).item()
            sides.append(
                reference.divergence_value(loss.divergence.name, f_star[i].item(), h)
            )
        expected.append((sides[0] - sides[1]) / (2 * step) / N)
    torch.testing.assert_close(
        gradient, torch.tensor(expected, dtype=torch.float64), atol=1e-7, rtol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pr", "tpr", "fpr", "accuracy", "fnr", "tnr"])
def test_exact_total_variation_passes_gradcheck_for_linear_statistics(name):
    # for ratios its value is exact to 1e-7 only: see the differences of cvxpy's optima
    batch = balanced(5, d_s=2, block=9, positives=4)
    loss = TotalVariationProjectionLoss(name, gradient="exact", tol=1e-9)
    assert check(lambda x: loss(x, *batch[1:]), batch.logit)


@pytest.mark.parametrize("name", ["ppv", "for", "fn_fp"])
@pytest.mark.parametrize("divergence", ["kl", "js", "sed", "chi2", "tv"])
def test_exact_gradient_equals_differences_of_cvxpy_optima(divergence, name):
    """The optimum itself, by another solver: h and c = gamma_bar(h) both move."""
    batch = balanced(8, d_s=2, block=6, positives=3)
    logit = batch.logit.clone().requires_grad_()
    loss = ProjectionLoss(name, divergence, gradient="exact")
    (gradient,) = torch.autograd.grad(loss(logit, *batch[1:]), logit)
    _, s, y = batch.numpy()

    def optimum(x):
        h = 1 / (1 + np.exp(-x))
        return reference.project(divergence, h, *reference.constraint([name], h, s, y))

    x, step = batch.logit.numpy(), 1e-4
    for i in (0, 4, 9):
        move = step * np.eye(len(x))[i]
        slope = (optimum(x + move)[1] - optimum(x - move)[1]) / (2 * step)
        assert gradient[i].item() == pytest.approx(slope, abs=2e-6)


def test_both_gradients_differ_for_a_ratio_and_their_losses_do_not():
    batch = sample(40, seed=9)
    gradients, values = [], []
    for kind in ("paper", "exact"):
        logit = batch.logit.clone().requires_grad_()
        loss = KLProjectionLoss("fn_fp", gradient=kind)(logit, *batch[1:])
        gradients.append(torch.autograd.grad(loss, logit)[0])
        values.append(loss.detach())
    assert torch.equal(*values)
    assert (gradients[0] - gradients[1]).abs().max() > 1e-4


@pytest.mark.parametrize("gradient", ["paper", "exact"])
def test_kl_gradient_at_parity_is_zero(gradient):
    batch = balanced(1)
    logit = batch.logit.reshape(3, -1)[:1].repeat(3, 1).flatten().requires_grad_()
    KLProjectionLoss("ppv", gradient=gradient)(logit, *batch[1:]).backward()
    assert logit.grad.abs().max() < 1e-9


def test_gradient_lowers_the_violation():
    batch = sample(300, "three", seed=10)
    for loss in (NormLoss("pr"), KLProjectionLoss("pr"), ProjectionLoss("pr", "tv")):
        logit = batch.logit.clone().requires_grad_()
        before = loss(logit, batch.sens)
        (gradient,) = torch.autograd.grad(before, logit)
        after = loss(batch.logit - 0.1 * gradient / gradient.norm(), batch.sens)
        assert after < before.detach()


@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_gradient_flows_through_the_model_alone(loss_cls):
    batch = sample(N, seed=11)
    logit = batch.logit.clone().requires_grad_()
    weight = torch.ones(N, dtype=torch.float64)
    loss = loss_cls("tpr")(logit, *batch[1:], weight=weight)
    loss.backward()
    assert logit.grad is not None
    assert weight.grad is None
