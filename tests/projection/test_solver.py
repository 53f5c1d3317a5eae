"""The solver on problems that are easy, hard, degenerate, impossible, and large."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import linprog

import fairret
from batches import sample
from fairret import Status
from fairret.divergence import DIVERGENCES, read_scores
from fairret.errors import DtypeError
from fairret.loss import KLProjectionLoss, ProjectionLoss
from fairret.projection import solve
from fairret.statistic import get_statistic
from problems import hard_problems, make_problem

NAMES = tuple(DIVERGENCES)


def least_violation(batch, stack):
    """The least sum of relative gaps that any scores leave, by linear programming."""
    statistic = get_statistic(stack)
    prob = batch.logit.sigmoid()
    c = torch.nan_to_num(statistic.overall(prob, batch.label))
    intercept, slope = statistic.fixed_constraint(c, batch.sens, batch.label)
    den = statistic.denom(prob, batch.sens, batch.label).flatten()
    a, b = slope.T[den != 0].numpy(), intercept.sum(0)[den != 0].numpy()
    size = np.abs(a).sum(1)
    a, b = a[size > 0] / size[size > 0, None], b[size > 0] / size[size > 0]
    m, n = a.shape
    result = linprog(
        np.r_[np.zeros(n), np.ones(2 * m)],
        A_eq=np.c_[a, -np.eye(m), np.eye(m)],
        b_eq=-b,
        bounds=[(0, 1)] * n + [(0, None)] * (2 * m),
    )
    return result.fun


@pytest.mark.slow
@pytest.mark.parametrize("divergence", NAMES)
def test_every_feasible_problem_is_solved_and_every_other_is_proved_so(divergence):
    unsolved, unproved, solved = [], [], 0
    for index, (stack, batch) in enumerate(hard_problems()):
        batch = batch.to(torch.float32)  # float32 in, float64 inside
        found = ProjectionLoss(stack, divergence).project(*batch)
        assert torch.isfinite(found.f_star).all()
        assert found.f_star.min() >= 0
        assert found.f_star.max() <= 1
        if found.status is Status.CONVERGED:
            assert found.residual <= 1e-6
            solved += 1
        elif least_violation(batch.to(torch.float64), stack) < 1e-9:
            unsolved.append((index, stack, found))
        elif found.status is not Status.INFEASIBLE:
            unproved.append((index, stack, found))
    assert unsolved == []
    assert unproved == []
    assert solved > 60


@pytest.mark.parametrize("divergence", NAMES)
def test_projection_of_a_projection_is_itself(divergence):
    batch = sample(60, "three", seed=3)
    loss = ProjectionLoss("tpr", divergence)
    c = get_statistic("tpr").overall(batch.logit.sigmoid(), batch.label)
    once = loss.project(*batch, target_statistic=c).f_star
    rest = (batch.sens, batch.label)
    again = loss.project(once, *rest, pred_as_logit=False, target_statistic=c).f_star
    torch.testing.assert_close(again, once, atol=1e-6, rtol=0)


@pytest.mark.parametrize("divergence", NAMES)
def test_fair_scores_are_left_as_they_are(divergence):
    prob = torch.tensor([0.2, 0.7, 0.2, 0.7, 0.2, 0.7], dtype=torch.float64)
    sens = torch.eye(3, dtype=torch.float64).repeat_interleave(2, 0)
    found = fairret.project(prob, sens, statistic="pr", divergence=divergence)
    torch.testing.assert_close(found.f_star, prob, atol=1e-7, rtol=0)
    assert found.divergence < 1e-9


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("divergence", NAMES)
def test_scale_of_the_constraints_is_irrelevant(divergence, size):
    batch = sample(40, "three", seed=4)
    n = 40
    a = batch.sens.T.contiguous()
    p = torch.full((n,), 1 / n, dtype=torch.float64)
    scores = read_scores(batch.logit)
    b = -0.45 * (a @ p)
    expected = solve(make_problem(scores, a, b, p), DIVERGENCES[divergence])
    found = solve(make_problem(scores, size * a, size * b, p), DIVERGENCES[divergence])
    torch.testing.assert_close(found.f, expected.f, atol=1e-6, rtol=0)


def test_more_steps_leave_a_smaller_residual():
    """What Fig. C.1 varies."""
    batch = sample(300, "three", seed=5, scale=3)
    found = [
        KLProjectionLoss("pr", max_iter=k).project(*batch[:2]) for k in (1, 2, 3, 30)
    ]
    assert [f.iterations for f in found[:3]] == [1, 2, 3]
    residuals = [f.residual for f in found]
    assert residuals == sorted(residuals, reverse=True)
    assert found[0].status is Status.ITERATION_LIMIT
    assert found[3].status is Status.CONVERGED


@pytest.mark.parametrize("divergence", NAMES)
@pytest.mark.parametrize("max_iter", [1, 4, 12])
def test_limit_on_the_steps_is_kept(divergence, max_iter):
    batch = sample(64, "continuous", seed=6, scale=80, positive=0.02)
    loss = ProjectionLoss("fn_fp", divergence, max_iter=max_iter)
    found = loss.project(*batch)
    assert found.iterations <= max_iter
    assert torch.isfinite(loss(*batch))


@pytest.mark.parametrize("divergence", NAMES)
def test_one_row_is_a_problem_too(divergence):
    found = fairret.project(
        np.array([0.3]), np.array([[1.0, 0.0]]), statistic="pr", divergence=divergence
    )
    assert found.f_star == pytest.approx([0.3], abs=1e-6)


def test_arrays_give_arrays_and_tensors_give_tensors():
    batch = sample(30, seed=7)
    prob, sens, label = batch.numpy()
    found = fairret.project(prob, sens, label, statistic="ppv")
    assert isinstance(found.f_star, np.ndarray)
    assert found.f_star.dtype == np.float64
    tensors = fairret.project(
        torch.tensor(prob), torch.tensor(sens), torch.tensor(label), statistic="ppv"
    )
    np.testing.assert_array_equal(tensors.f_star.numpy(), found.f_star)
    column = fairret.project(
        prob[:, None].astype("float32"),
        sens.astype(bool),
        label.astype(int),
        statistic="ppv",
        weight=np.ones(30),
    )
    assert column.f_star.shape == (30, 1)
    assert column.f_star.dtype == np.float32
    np.testing.assert_allclose(column.f_star[:, 0], found.f_star, atol=1e-5)
    logit = fairret.project(
        batch.logit, *batch[1:], statistic="ppv", pred_as_logit=True
    )
    torch.testing.assert_close(logit.f_star, tensors.f_star)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_groups_in_words_are_refused_with_a_word_on_encoding(kind):
    prob, words = np.array([0.2, 0.4, 0.6, 0.8]), kind(["woman", "man"] * 2)
    advice = r"strings such as 'woman'\. Encode them with `fairret\.sensitive\."
    with pytest.raises(DtypeError, match=advice):
        fairret.project(prob, words, statistic="pr")
    with pytest.raises(DtypeError, match=advice):
        fairret.project(prob, sens=words, statistic="pr")
    with pytest.raises(DtypeError, match=r"`label` .*strings such as '1'"):
        fairret.project(prob, np.eye(4), kind(["1", "0"] * 2), statistic="tpr")
    with pytest.raises(DtypeError, match=r"`sens` .*got the string 'sex'"):
        fairret.project(prob, sens="sex", statistic="pr")


def test_projected_scores_are_fair_and_keep_the_overall_value():
    batch = sample(500, "three", seed=8)
    prob = batch.logit.sigmoid()
    statistic = get_statistic("ppv")
    found = fairret.project(prob, *batch[1:], statistic=statistic)
    c = statistic.overall(prob, batch.label)
    gamma = statistic(found.f_star, *batch[1:])
    torch.testing.assert_close(gamma, c.expand(9), rtol=1e-6, atol=0)


def test_result_shows_itself_without_the_scores():
    batch = sample(30, seed=9)
    shown = repr(KLProjectionLoss("pr").project(*batch[:2]))
    assert shown.startswith("Projection(status=CONVERGED, residual=")
    assert "tensor" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("divergence", NAMES)
def test_large_batches_are_solved(divergence):
    batch = sample(100_000, "continuous", seed=10, scale=4).to(torch.float32)
    for name in ("pr", "fn_fp"):
        found = ProjectionLoss(name, divergence).project(*batch)
        assert found.status is Status.CONVERGED
        assert found.residual <= 1e-6


def test_converged_means_optimal_too():
    """An interior point that stops early may be feasible and far from the optimum."""
    rng = torch.Generator().manual_seed(1)
    logit = 12 * torch.randn(64, generator=rng, dtype=torch.float64)
    sens = torch.eye(3, dtype=torch.float64).repeat(22, 1)[:64]
    sens = torch.cat((sens, torch.rand(64, 2, generator=rng).double()), 1)
    best = ProjectionLoss("pr", "chi2").project(logit, sens)
    assert best.status is Status.CONVERGED
    converged = set()
    for max_iter in range(1, 30):
        found = ProjectionLoss("pr", "chi2", max_iter=max_iter).project(logit, sens)
        converged.add(found.status is Status.CONVERGED)
        if found.status is Status.CONVERGED:
            assert found.divergence == pytest.approx(best.divergence, rel=1e-3)
    assert converged == {True, False}
