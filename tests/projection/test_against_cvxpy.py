"""The projection agrees with cvxpy + Clarabel on random problems."""

import numpy as np
import pytest
import torch

import reference
from batches import KINDS, STACKS, STATISTICS, balanced, sample
from fairret import Status
from fairret.loss import ProjectionLoss

N = 47
DIVERGENCES = ("kl", "js", "sed", "chi2", "tv")


def solve_both(divergence, names, batch, weight=None):
    h, s, y = batch.numpy()
    a, b, p = reference.constraint(names, h, s, y, weight)
    expected, value = reference.project(divergence, h, a, b, p)
    loss = ProjectionLoss("+".join(names), divergence)
    w = None if weight is None else torch.as_tensor(weight)
    found = loss.project(*batch, weight=w)
    assert found.status is Status.CONVERGED
    assert found.residual <= 1e-6
    return found, expected, value, (a, b, p)


def assert_same_value(divergence, found, value):
    # total variation sets scores that moved by less than 3e-7 back to h
    atol = 1e-6 if divergence == "tv" else 1e-7
    assert abs(found.divergence - value) <= atol * (1 + value)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_projection_equals_cvxpy(divergence, name):
    i, j = STATISTICS.index(name), DIVERGENCES.index(divergence)
    kind = KINDS[(i + j) % 3]  # each of them with every statistic and divergence
    found, expected, value, (a, b, p) = solve_both(
        divergence, [name], sample(N, kind, seed=i + 31 * j)
    )
    f = found.f_star.numpy()
    assert_same_value(divergence, found, value)
    assert np.abs(b + a @ (p * f)).max() <= 1e-6
    if divergence != "tv":  # whose optimum is not unique
        assert np.abs(f - expected).max() <= 1e-5


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_stacked_projection_equals_cvxpy(divergence, stack):
    names = stack.split("+")
    found, expected, value, _ = solve_both(divergence, names, balanced(len(names)))
    assert_same_value(divergence, found, value)
    if divergence != "tv":
        assert np.abs(found.f_star.numpy() - expected).max() <= 1e-5


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_weighted_projection_equals_cvxpy(divergence):
    weight = np.random.default_rng(5).uniform(0.1, 3, N)
    found, expected, value, _ = solve_both(
        divergence, ["ppv"], sample(N, "three", 9), weight
    )
    assert_same_value(divergence, found, value)
    if divergence != "tv":
        assert np.abs(found.f_star.numpy() - expected).max() <= 1e-5
