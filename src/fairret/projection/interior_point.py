r"""Primal-dual interior-point method (Mehrotra) for problems that Newton cannot solve.

It handles saturated scores, rare and empty groups, dependent constraints and total
variation. If the constraints are infeasible, it converges to the least violation.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.divergence import Divergence
from fairret.projection.box import Box, make_box
from fairret.projection.linear import Gram
from fairret.projection.problem import Problem, Solution, better

RIDGE = 1e-10  # of the mean diagonal; proximal, absent from g, hence without bias
NEARLY = 1e3  # times the least barrier: a mean distance from the optimum of 1e-7
TO_THE_BOUND = 0.995  # share of the way to the nearest bound that a step may go
SETTLED = 1e-7  # gaps below this are equally good: prefer the later, more central one
STUCK = 1 - 1e-6  # of the last gap: at the end of the path it is the least one
UNMOVED = 3e-7  # total variation leaves a score as it is, or moves it further


class _State(NamedTuple):
    y: Tensor  # (2, N): the unknown, and its distance to the upper bound
    z: Tensor  # (2, N): multipliers of both bounds
    nu: Tensor  # (m,)
    t: Tensor  # (N,), nu @ a
    g: Tensor  # (m,), b + a (p y)


def interior_point(
    problem: Problem, divergence: Divergence, *, tol: float, max_iter: int, read: bool
) -> Solution:
    """Follow the central path.

    With `read` the host stops the loop at convergence. Without it the number of steps
    is fixed, and the host never waits for the device.
    """
    banded = problem.band is not None
    posed = problem.two_sided() if banded else problem
    scaled, rms = _scale(posed)
    box = make_box(scaled, divergence, slack=banded)
    state = _set_up(box)
    end = divergence.least_barrier

    def report(state: _State, step: int) -> Solution:
        f, g, nu = box.scores(state.y[0]).clamp(0, 1), state.g * rms, state.nu / rms
        return Solution(f, nu, g, posed.residual(g), step)

    best = report(state, 0)
    least = torch.linalg.vector_norm(state.g)
    mu, before = torch.ones_like(least), best.residual
    earlier = before
    steps = max_iter if read else min(max_iter, divergence.path_steps)
    for step in range(1, steps + 1):
        state, mu = _step(box, state, divergence)
        new = report(state, step)
        gap = torch.linalg.vector_norm(state.g)
        keep = gap <= least.clamp_min(SETTLED)  # not if NaN
        best, least = better(new, best, keep), torch.where(keep, gap, least)
        # with slack, the residual may rise once
        stuck = new.residual >= STUCK * (earlier if banded else before)
        if read and mu <= 10 * end and (stuck or new.residual <= tol):
            break
        earlier, before = before, new.residual
    else:
        if read:
            best = best._replace(optimal=bool(mu <= NEARLY * end))
    if banded:
        best = _join_sides(problem, best)
    return _restore_unmoved(problem, best) if divergence.has_kink else best


def _scale(problem: Problem) -> tuple[Problem, Tensor]:
    """Scale every constraint to a root mean square of 1, so that rare groups count."""
    size, rms = problem.size, problem.rms()  # whose squares may under- or overflow
    rms = torch.where(rms.isfinite(), torch.maximum(rms, size), size)
    scaled = problem._replace(
        a=problem.a.divide_rows(rms),
        b=problem.b / rms,
        size=size / rms,
        start=problem.start / rms,
    )
    return scaled, rms


def _join_sides(problem: Problem, solution: Solution) -> Solution:
    """Return to one multiplier per constraint, and leave out the slack."""
    above, below = solution.nu.chunk(2)
    g = problem.excess(solution.f)
    return solution._replace(nu=above - below, g=g, residual=problem.residual(g))


def _restore_unmoved(problem: Problem, solution: Solution) -> Solution:
    """Reset scores that hardly moved to h: the sign of f - h must not be noise."""
    h = problem.scores.h
    f = torch.where((solution.f - h).abs() <= UNMOVED, h, solution.f)
    g = problem.excess(f)
    still = solution._replace(f=f, g=g, residual=problem.residual(g))
    return better(still, solution, still.residual <= solution.residual + UNMOVED)


def _set_up(box: Box) -> _State:
    y = box.start
    d = box.slope(y[0], y[1])
    (g,) = box.over.total(box.a.matvec(box.p * y[0], box.over.once(box.b)))
    z = torch.relu(_signed(d)) + box.barrier / y
    nu, t = torch.zeros_like(box.b), torch.zeros_like(d)
    return _State(y, z, nu, t, g)


def _signed(x: Tensor) -> Tensor:
    return torch.stack((x, -x))


def _largest(decrease: Tensor) -> Tensor:
    if decrease.numel() == 0:  # a process without rows
        return decrease.new_full((), -torch.inf)
    return decrease.max()


def _step_length(decreases: Tensor, share: float) -> Tensor:
    """The longest step, at most 1, that reduces nothing by more than `share`."""
    largest = decreases.max()
    return torch.where(largest > share, share / largest, torch.ones_like(largest))


def _step(box: Box, state: _State, divergence: Divergence) -> tuple[_State, Tensor]:
    """Predict, correct, and move, with one message each between processes."""
    a, b, p, mass, over, _, slope, curvature, _, _ = box
    y, z, nu, t, _ = state
    inverse = 1 / y
    theta = 1 / (curvature(y[0], y[1]) + (z * inverse).sum(0))
    weight = p * theta
    r = -(slope(y[0], y[1]) + t)
    gap = y * z * p  # of complementarity
    gram = Gram(a, weight, len(b), over, exact=True)
    total, moved, descent, central, between = over.total(
        gram.summand(),
        a.matvec(p * y[0]),
        a.matvec(weight * r),
        a.matvec(weight * (inverse[0] - inverse[1])),
        gap.sum(),
    )
    total = gram.whole(total)
    diagonal = total.diagonal()
    # slack that is not needed has a large curvature, which says nothing about others
    diagonal = diagonal.mean() if mass == 1 else diagonal.clone()
    factor = gram.prepare(total, divergence.ridge + RIDGE * diagonal)
    g, mu = b + moved, between / (2 * mass)

    # predictor: the affine step, towards mu = 0; e is relative to y
    e = _signed(theta * (r - a.rmatvec(factor.solve(descent + g)))) * inverse
    second = z * (e + e.square())
    second_order, down, down_z, once, twice = over.total(
        a.matvec(weight * (second[0] - second[1])),
        over.slot(_largest(-e)),
        over.slot(_largest(1 + e)),
        (gap * e).sum(),
        (gap * e.square()).sum(),
    )
    down, down_z = _step_length(down, 1), _step_length(down_z, 1)
    # the sum over p y z (1 + down e) (1 - down_z (1 + e)), multiplied out
    left = between + down * once
    left = left - down_z * (between + once + down * (once + twice))
    sigma = (left / between).clamp(0, 1) ** 3
    # towards the central path
    target = (sigma * mu).clamp_min(divergence.least_barrier)
    v = second + target * inverse

    # corrector
    d_nu = factor.solve(descent + second_order + target * central + g)
    d_t = a.rmatvec(d_nu)
    d_y = _signed(theta * (r + v[0] - v[1] - d_t))
    d_z = v - z - z * inverse * d_y
    length, length_z, d_g, doubt = over.total(
        over.slot(_largest(-d_y * inverse)),
        over.slot(_largest(-d_z / z)),
        a.matvec(p * d_y[0]),
        0 * (d_y.sum() + d_z.sum() + d_nu.sum()),  # NaN if anything is not finite
    )
    length = _step_length(length, TO_THE_BOUND)
    length_z = _step_length(length_z, TO_THE_BOUND)
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
