r"""Primal-dual interior point (Mehrotra) for what Newton cannot solve.

It handles saturated scores, rare and empty groups, dependent constraints, total
variation, and constraints that cannot be met: then it tends to the least violation.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.divergence import Divergence, SmoothDivergence, TotalVariation
from fairret.projection.problem import (
    Problem,
    Solution,
    better,
    factor_ridge,
    weighted_gram,
)

RIDGE = 1e-10  # of the mean diagonal; it is proximal, absent from g, so without bias
NEARLY = 1e3  # times the least barrier: a mean distance from the optimum of 1e-7
TO_THE_WALL = 0.995  # share of the way to the nearest bound that a step may go
SETTLED = 1e-7  # gaps below this are equally good: prefer the later, more central one
UNMOVED = 3e-7  # total variation leaves a score alone, or moves it by more than this


class Constants(NamedTuple):
    """What a study of 1 352 problems chose for each divergence."""

    steps: int = 15
    rho: float = 1e-10  # absolute part of the ridge
    least_mu: float = 1e-10  # the barrier never falls below this


CONSTANTS: dict[str, Constants] = {
    "js": Constants(rho=1e-9),
    "sed": Constants(rho=1e-9),
    "chi2": Constants(steps=25, rho=1e-13),
    "tv": Constants(steps=30, least_mu=1e-8),
}


class _Box(NamedTuple):
    """A separable convex function of y over a box, under b + a (p y) = 0."""

    a: Tensor  # (m, N)
    b: Tensor  # (m,)
    p: Tensor  # (N,)
    slope: Callable[[Tensor, Tensor], Tensor]
    curvature: Callable[[Tensor, Tensor], Tensor]


class _State(NamedTuple):
    y: Tensor  # (2, N): the unknown, and its distance to the upper bound
    z: Tensor  # (2, N): multipliers of both bounds
    nu: Tensor  # (m,)
    t: Tensor  # (N,), nu @ a


def interior_point(
    problem: Problem,
    divergence: Divergence,
    *,
    tol: float,
    max_iter: int,
    read: bool,
) -> Solution:
    """Follow the central path; with `read`, stop where the host sees that it is there.

    Without `read` the loop has a fixed number of steps and never waits for the device.
    """
    constants = CONSTANTS.get(divergence.name, Constants())
    scaled, rms = _scale(problem)
    box, state = _set_up(scaled, divergence)

    def report(state: _State, step: int) -> Solution:
        f = _scores_of(state, scaled, divergence)
        g = problem.gap(f)
        return Solution(f, state.nu / rms, g, problem.residual(g), step)

    best = report(state, 0)
    least = torch.linalg.vector_norm(best.g / rms)
    mu = torch.ones_like(least)
    for step in range(1, (max_iter if read else min(max_iter, constants.steps)) + 1):
        state, mu = _step(box, state, constants)
        new = report(state, step)
        gap = torch.linalg.vector_norm(new.g / rms)
        keep = gap <= least.clamp_min(SETTLED)  # not if NaN
        best, least = better(new, best, keep), torch.where(keep, gap, least)
        if read and mu <= 10 * constants.least_mu and new.residual <= tol:
            break
    else:
        if read:
            best = best._replace(optimal=bool(mu <= NEARLY * constants.least_mu))
    if isinstance(divergence, TotalVariation):
        best = _leave_alone(problem, best)
    return best


def _scale(problem: Problem) -> tuple[Problem, Tensor]:
    """Give every constraint the root mean square 1, so that a rare group counts."""
    scores, a, b, p, size = problem
    rms = torch.sqrt(a.square() @ p)
    rms = torch.maximum(rms, size)  # squares may underflow; empty rows have size 1
    return Problem(scores, a / rms[:, None], b / rms, p, size / rms), rms


def _leave_alone(problem: Problem, solution: Solution) -> Solution:
    """Set scores that hardly moved back to h: the sign of f - h must not be noise."""
    h = problem.scores.h
    f = torch.where((solution.f - h).abs() <= UNMOVED, h, solution.f)
    g = problem.gap(f)
    still = solution._replace(f=f, g=g, residual=problem.residual(g))
    return better(still, solution, still.residual <= solution.residual + UNMOVED)


def _set_up(problem: Problem, divergence: Divergence) -> tuple[_Box, _State]:
    if isinstance(divergence, SmoothDivergence):
        box, y = _smooth_box(problem, divergence)
        d = box.slope(y[0], y[1])
        mu = 0.01 + 0.2 * (box.p @ d.abs())
    elif isinstance(divergence, TotalVariation):
        box, y = _variation_box(problem)
        d = torch.ones_like(y[0])
        mu = torch.full_like(box.b[0], 0.1)
    else:  # a divergence of the user's that is neither
        raise TypeError(f"no projection is known for {divergence!r}")
    z = torch.relu(_signed(d)) + mu / y
    return box, _State(y, z, torch.zeros_like(box.b), torch.zeros_like(d))


def _scores_of(state: _State, problem: Problem, divergence: Divergence) -> Tensor:
    if isinstance(divergence, SmoothDivergence):
        return state.y[0].clamp(0, 1)  # y and its distance to 1 drift by rounding
    up, down = state.y[0].chunk(2)
    return (problem.scores.h + up - down).clamp(0, 1)


def _smooth_box(problem: Problem, divergence: SmoothDivergence) -> tuple[_Box, Tensor]:
    scores, a, b, p, _ = problem

    def slope(f: Tensor, u: Tensor) -> Tensor:
        return divergence.slope(f, u, scores)

    def curvature(f: Tensor, u: Tensor) -> Tensor:
        return divergence.curvature(f, u, scores)

    start = torch.stack((scores.h, scores.k)).clamp(0.2, 0.8)
    return _Box(a, b, p, slope, curvature), start


def _variation_box(problem: Problem) -> tuple[_Box, Tensor]:
    """Write f = h + up - down, 0 <= up <= 1 - h, 0 <= down <= h, cost up + down."""
    scores, a, _, p, _ = problem
    box = _Box(
        torch.cat((a, -a), 1),
        problem.gap(scores.h),
        torch.cat((p, p)),
        lambda y, _: torch.ones_like(y),
        lambda y, _: torch.zeros_like(y),
    )
    half = torch.cat((scores.k, scores.h)).clamp_min(1e-9) / 2
    return box, torch.stack((half, half))


def _signed(x: Tensor) -> Tensor:
    return torch.stack((x, -x))


def _reach(decrease: Tensor, share: float) -> Tensor:
    """Longest step of at most 1 that takes no more than `share` of anything away."""
    largest = decrease.max()
    return torch.where(largest > share, share / largest, torch.ones_like(largest))


def _step(box: _Box, state: _State, constants: Constants) -> tuple[_State, Tensor]:
    a, b, p, slope, curvature = box
    y, z, nu, t = state
    inverse = 1 / y
    theta = 1 / (curvature(y[0], y[1]) + (z * inverse).sum(0))
    weight = p * theta
    gram = weighted_gram(a, weight)
    factor = factor_ridge(gram, constants.rho + RIDGE * gram.diagonal().mean())
    g = b + a @ (p * y[0])
    mu = ((y * z) @ p).sum() / 2

    def direction(r: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        d_nu = factor.solve(a @ (weight * r) + g)
        d_t = d_nu @ a
        return _signed(theta * (r - d_t)), d_nu, d_t

    r = -(slope(y[0], y[1]) + t)
    e = direction(r)[0] * inverse  # predictor: straight at mu = 0, relative to y
    down, down_z = _reach(-e, 1), _reach(1 + e, 1)
    predicted = ((y * z * (1 + down * e) * (1 - down_z * (1 + e))) @ p).sum() / 2
    sigma = (predicted / mu).clamp(0, 1) ** 3
    v = z * (e + e.square()) + (sigma * mu).clamp_min(constants.least_mu) * inverse

    d_y, d_nu, d_t = direction(r + v[0] - v[1])  # corrector
    d_z = v - z - z * inverse * d_y
    length = _reach(-d_y * inverse, TO_THE_WALL)
    length_z = _reach(-d_z / z, TO_THE_WALL)
    fine = torch.isfinite(length * length_z * d_nu.sum() * d_y.sum() * d_z.sum())
    new = _State(
        y + length * d_y, z + length_z * d_z, nu + length_z * d_nu, t + length_z * d_t
    )
    kept = _State(*(torch.where(fine, b, a) for a, b in zip(state, new, strict=True)))
    return kept, mu
