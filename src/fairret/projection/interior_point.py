r"""Primal-dual interior point (Mehrotra) for what Newton cannot solve.

It handles saturated scores, rare and empty groups, dependent constraints, total
variation, and constraints that cannot be met: then it tends to the least violation.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.distributed import Processes
from fairret.divergence import Divergence, SmoothDivergence, TotalVariation
from fairret.projection.linear import Gram
from fairret.projection.matrix import Matrix, Mirrored
from fairret.projection.problem import Problem, Solution, better

RIDGE = 1e-10  # of the mean diagonal; it is proximal, absent from g, so without bias
NEARLY = 1e3  # times the least barrier: a mean distance from the optimum of 1e-7
TO_THE_WALL = 0.995  # share of the way to the nearest bound that a step may go
SETTLED = 1e-7  # gaps below this are equally good: prefer the later, more central one
STUCK = 1 - 1e-6  # of the last gap: at the end of the path it is the least one
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

    a: Matrix  # (m, N)
    b: Tensor  # (m,)
    p: Tensor  # (N,)
    over: Processes
    slope: Callable[[Tensor, Tensor], Tensor]
    curvature: Callable[[Tensor, Tensor], Tensor]


class _State(NamedTuple):
    y: Tensor  # (2, N): the unknown, and its distance to the upper bound
    z: Tensor  # (2, N): multipliers of both bounds
    nu: Tensor  # (m,)
    t: Tensor  # (N,), nu @ a
    g: Tensor  # (m,), b + a (p y)


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
        f, g = _scores_of(state, scaled, divergence), state.g * rms
        return Solution(f, state.nu / rms, g, problem.residual(g), step)

    best = report(state, 0)
    least = torch.linalg.vector_norm(best.g / rms)
    mu, before = torch.ones_like(least), best.residual
    for step in range(1, (max_iter if read else min(max_iter, constants.steps)) + 1):
        state, mu = _step(box, state, constants)
        new = report(state, step)
        gap = torch.linalg.vector_norm(new.g / rms)
        keep = gap <= least.clamp_min(SETTLED)  # not if NaN
        best, least = better(new, best, keep), torch.where(keep, gap, least)
        stuck = new.residual >= STUCK * before
        if read and mu <= 10 * constants.least_mu and (stuck or new.residual <= tol):
            break
        before = new.residual
    else:
        if read:
            best = best._replace(optimal=bool(mu <= NEARLY * constants.least_mu))
    if isinstance(divergence, TotalVariation):
        best = _leave_alone(problem, best)
    return best


def _scale(problem: Problem) -> tuple[Problem, Tensor]:
    """Give every constraint the root mean square 1, so that a rare group counts."""
    scores, a, b, p, size, over, _ = problem
    rms = problem.rms()  # of which squares may underflow, or overflow
    rms = torch.where(rms.isfinite(), torch.maximum(rms, size), size)
    return Problem(scores, a.divide(rms), b / rms, p, size / rms, over), rms


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
        sums = box.over.total(box.p @ d.abs(), box.a.collect(box.p * y[0]))
        mu, start = 0.01 + 0.2 * sums[0], sums[1]
    elif isinstance(divergence, TotalVariation):
        box, y = _variation_box(problem)
        d = torch.ones_like(y[0])
        (start,) = box.over.total(box.a.collect(box.p * y[0]))
        mu = torch.full_like(box.b[0], 0.1)
    else:  # a divergence of the user's that is neither
        raise TypeError(f"no projection is known for {divergence!r}")
    z = torch.relu(_signed(d)) + mu / y
    nu, t = torch.zeros_like(box.b), torch.zeros_like(d)
    return box, _State(y, z, nu, t, box.b + start)


def _scores_of(state: _State, problem: Problem, divergence: Divergence) -> Tensor:
    if isinstance(divergence, SmoothDivergence):
        return state.y[0].clamp(0, 1)  # y and its distance to 1 drift by rounding
    up, down = state.y[0].chunk(2)
    return (problem.scores.h + up - down).clamp(0, 1)


def _smooth_box(problem: Problem, divergence: SmoothDivergence) -> tuple[_Box, Tensor]:
    scores, a, b, p, _, over, _ = problem

    def slope(f: Tensor, u: Tensor) -> Tensor:
        return divergence.slope(f, u, scores)

    def curvature(f: Tensor, u: Tensor) -> Tensor:
        return divergence.curvature(f, u, scores)

    start = torch.stack((scores.h, scores.k)).clamp(0.2, 0.8)
    return _Box(a, b, p, over, slope, curvature), start


def _variation_box(problem: Problem) -> tuple[_Box, Tensor]:
    """Write f = h + up - down, 0 <= up <= 1 - h, 0 <= down <= h, cost up + down."""
    scores, a, _, p, _, over, _ = problem
    box = _Box(
        Mirrored(a),
        problem.gap(scores.h),
        torch.cat((p, p)),
        over,
        lambda y, _: torch.ones_like(y),
        lambda y, _: torch.zeros_like(y),
    )
    half = torch.cat((scores.k, scores.h)).clamp_min(1e-9) / 2
    return box, torch.stack((half, half))


def _signed(x: Tensor) -> Tensor:
    return torch.stack((x, -x))


def _largest(decrease: Tensor) -> Tensor:
    if decrease.numel() == 0:  # a process without rows
        return decrease.new_full((), -torch.inf)
    return decrease.max()


def _reach(decreases: Tensor, share: float) -> Tensor:
    """Longest step of at most 1 that takes no more than `share` of anything away."""
    largest = decreases.max()
    return torch.where(largest > share, share / largest, torch.ones_like(largest))


def _step(box: _Box, state: _State, constants: Constants) -> tuple[_State, Tensor]:
    """Predict, correct, and go: one message each, where processes share the rows."""
    a, b, p, over, slope, curvature = box
    y, z, nu, t, _ = state
    inverse = 1 / y
    theta = 1 / (curvature(y[0], y[1]) + (z * inverse).sum(0))
    weight = p * theta
    r = -(slope(y[0], y[1]) + t)
    apart = y * z * p  # from complementarity
    gram = Gram(a, weight, len(b), over, exact=True)
    total, reached, pulled, central, between = over.total(
        gram.summand(),
        a.collect(p * y[0]),
        a.collect(weight * r),
        a.collect(weight * (inverse[0] - inverse[1])),
        apart.sum(),
    )
    factor = gram.prepare(total, lambda x: constants.rho + RIDGE * x.mean())
    g, mu = b + reached, between / 2

    # predictor: straight at mu = 0; e is its step relative to y
    e = _signed(theta * (r - a.spread(factor.solve(pulled + g)))) * inverse
    bend = z * (e + e.square())
    turned, down, down_z, once, twice = over.total(
        a.collect(weight * (bend[0] - bend[1])),
        over.slot(_largest(-e)),
        over.slot(_largest(1 + e)),
        (apart * e).sum(),
        (apart * e.square()).sum(),
    )
    down, down_z = _reach(down, 1), _reach(down_z, 1)
    # the sum over p y z (1 + down e) (1 - down_z (1 + e)), multiplied out
    left = between + down * once
    left = left - down_z * (between + once + down * (once + twice))
    sigma = (left / between).clamp(0, 1) ** 3
    pull = (sigma * mu).clamp_min(constants.least_mu)  # towards the central path
    v = bend + pull * inverse

    # corrector
    d_nu = factor.solve(pulled + turned + pull * central + g)
    d_t = a.spread(d_nu)
    d_y = _signed(theta * (r + v[0] - v[1] - d_t))
    d_z = v - z - z * inverse * d_y
    length, length_z, d_g, doubt = over.total(
        over.slot(_largest(-d_y * inverse)),
        over.slot(_largest(-d_z / z)),
        a.collect(p * d_y[0]),
        0 * (d_y.sum() + d_z.sum() + d_nu.sum()),  # NaN if anything is not finite
    )
    length, length_z = _reach(length, TO_THE_WALL), _reach(length_z, TO_THE_WALL)
    fine = torch.isfinite(length * length_z + doubt)
    new = _State(
        y + length * d_y,
        z + length_z * d_z,
        nu + length_z * d_nu,
        t + length_z * d_t,
        g + length * d_g,
    )
    kept = _State(*(torch.where(fine, b, a) for a, b in zip(state, new, strict=True)))
    return kept, mu
