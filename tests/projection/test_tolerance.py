"""The nearest scores within a tolerance: equal to cvxpy, optimal, and soon found."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

import fairret
import reference
from batches import KINDS, STACKS, STATISTICS, balanced, sample
from fairret import Status
from fairret.divergence import DIVERGENCES
from fairret.loss import KLProjectionLoss, ProjectionLoss
from fairret.loss.nearest import add_up_batch, pose_problem
from fairret.projection import solve
from problems import hard_problems

N = 47
NAMES = ("kl", "js", "sed", "chi2", "tv")
LIMITS = (0.02, 0.1, 0.4)


def assert_equals_cvxpy(divergence, names, limit, batch, weight=None):
    h, s, y = batch.numpy()
    a, b, p = reference.within(names, h, s, y, limit, weight)
    expected, value = reference.project(divergence, h, a, b, p, at_most=True)
    loss = ProjectionLoss("+".join(names), divergence, max_violation=limit)
    w = None if weight is None else torch.as_tensor(weight)
    found = loss.project(*batch, weight=w)
    f = found.f_star.numpy()
    assert found.status is Status.CONVERGED
    assert found.residual <= 1e-6
    assert (b + a @ (p * f)).max() <= 1e-6
    # total variation sets scores that moved by less than 3e-7 back to h
    atol = 1e-6 if divergence == "tv" else 1e-7
    assert abs(found.divergence - value) <= atol * (1 + value)
    if divergence != "tv":  # whose optimum is not unique
        assert np.abs(f - expected).max() <= 1e-5


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("divergence", NAMES)
def test_projection_within_a_tolerance_equals_cvxpy(divergence, name):
    i, j = STATISTICS.index(name), NAMES.index(divergence)
    batch = sample(N, KINDS[(i + j) % 3], seed=i + 31 * j)
    assert_equals_cvxpy(divergence, [name], LIMITS[(i + 2 * j) % 3], batch)


@pytest.mark.parametrize("divergence", NAMES)
def test_stacks_and_weights_equal_cvxpy_too(divergence):
    for limit, stack in zip(LIMITS, STACKS, strict=True):
        names = stack.split("+")
        assert_equals_cvxpy(divergence, names, limit, balanced(len(names)))
    weight = np.random.default_rng(5).uniform(0.1, 3, N)
    assert_equals_cvxpy(divergence, ["ppv"], 0.1, sample(N, "three", 9), weight)


@pytest.mark.parametrize("name", ["pr", "fn_fp"])
def test_groups_end_at_the_limit_or_within_it(name):
    batch = sample(500, "three", seed=8)
    found = KLProjectionLoss(name, max_violation=0.05).project(*batch)
    h, s, y = batch.numpy()
    c = reference.gamma(name, h, y, np.ones(500))
    own = [reference.gamma(name, found.f_star.numpy(), y, x) for x in s.T]
    v = np.abs(np.array(own) / c - 1)
    assert v.max() == pytest.approx(0.05, abs=1e-6)
    assert v.min() < 0.049


@pytest.mark.parametrize("divergence", ["kl", "sed"])
def test_multipliers_are_zero_within_the_band_and_point_outwards_at_it(divergence):
    batch = ProjectionLoss("ppv").read(*sample(500, "three", seed=8))
    divergence = DIVERGENCES[divergence]
    problem = pose_problem(batch, divergence, 0.05, add_up_batch(batch)).problem
    found = solve(problem, divergence, tol=1e-9)
    g = problem.gap(found.f)
    largest = problem.band.b + problem.band.e.matvec(problem.p * found.f)
    tight = (g.abs() - largest).abs() <= 1e-7 * largest
    assert 2 <= int(tight.sum()) < len(g)
    assert torch.equal(found.nu[~tight], torch.zeros_like(found.nu[~tight]))
    assert (found.nu * g)[tight].min() > 0


@pytest.mark.parametrize("divergence", NAMES)
def test_tiny_tolerance_is_parity_and_a_huge_one_is_no_constraint(divergence):
    batch = sample(60, "three", seed=3)
    parity = ProjectionLoss("ppv", divergence).project(*batch)
    for limit in (1e-12, 1e-9):
        tiny = ProjectionLoss("ppv", divergence, max_violation=limit).project(*batch)
        assert tiny.status is Status.CONVERGED
        assert tiny.divergence == pytest.approx(parity.divergence, rel=1e-6)
    huge = ProjectionLoss("ppv", divergence, max_violation=1e9).project(*batch)
    assert torch.equal(huge.f_star, batch.logit.sigmoid())
    assert huge.divergence == huge.residual == huge.iterations == 0


@pytest.mark.parametrize("limit", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("name", ["pr", "fn_fp"])
def test_ordinary_batches_take_few_steps(name, limit, monkeypatch):
    """Also if the traits make constraints dependent, so that not all can be tight."""
    monkeypatch.setattr("fairret.projection.solver.interior_point", None)
    for seed in range(4):
        batch = sample(512, "three", seed, scale=1.0)
        found = KLProjectionLoss(name, max_violation=limit).project(*batch)
        assert found.status is Status.CONVERGED
        assert found.iterations <= 9


def least_excess(batch, stack, limit):
    """The least sum of relative gaps outside of the band, by linear programming."""
    divergence = DIVERGENCES["sed"]
    read = ProjectionLoss(stack).read(*batch)
    sides = pose_problem(read, divergence, limit, add_up_batch(read)).problem
    sides = sides.two_sided()
    a = torch.stack([sides.a.matvec(x) for x in torch.diag(sides.p)], 1).numpy()
    b, size = sides.b.numpy(), np.abs(a).sum(1)
    a, b = a[size > 0] / size[size > 0, None], b[size > 0] / size[size > 0]
    m, n = a.shape
    cost, slack = np.r_[np.zeros(n), np.ones(m)], np.c_[a, -np.eye(m)]
    bounds = [(0, 1)] * n + [(0, None)] * m
    return linprog(cost, A_ub=slack, b_ub=-b, bounds=bounds).fun


@pytest.mark.slow
@pytest.mark.parametrize("divergence", NAMES)
def test_every_feasible_problem_is_solved_and_every_other_is_proved_so(divergence):
    wrong, solved = [], 0
    for index, (stack, batch) in enumerate(hard_problems()):
        if index % 3:
            continue
        limit = (0.001, 0.1)[index % 2]
        batch = batch.to(torch.float32)
        loss = ProjectionLoss(stack, divergence, max_violation=limit)
        found = loss.project(*batch)
        assert 0 <= found.f_star.min() <= found.f_star.max() <= 1
        feasible = found.status is Status.CONVERGED
        if not feasible:
            feasible = least_excess(batch.to(torch.float64), stack, limit) < 1e-9
        if found.status is not (Status.CONVERGED if feasible else Status.INFEASIBLE):
            wrong.append((index, stack, found))
        solved += feasible
    assert wrong == []
    assert solved > 20


def test_function_takes_the_tolerance_too():
    prob = np.array([0.2, 0.4, 0.6, 0.8])
    sens = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    found = fairret.project(prob, sens, statistic="pr", max_violation=0.2)
    np.testing.assert_allclose(found.f_star.reshape(2, 2).mean(1), [0.4, 0.6])
    same = fairret.project(prob, sens, statistic="pr", max_violation=0.41)
    np.testing.assert_array_equal(same.f_star, prob)
