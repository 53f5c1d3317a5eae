"""Newton's method on the dual problem, which takes a few steps on most batches."""

import torch
from torch import Tensor

from fairret.divergence import Divergence
from fairret.projection.banded import BandedDual
from fairret.projection.dual import Dual
from fairret.projection.problem import Problem, Solution, better

CUTS = (1.0, 0.25, 0.0625, 0.0156)  # step lengths, tried in turn
ROUGH = 0.1  # largest relative error of a direction by conjugate gradients
EXACT = 1e-8  # the same for a fixed number of steps, where errors would remain
LEAST_DECREASE = 0.1  # of the residual, relative to the step length


def _make_dual(problem: Problem, divergence: Divergence) -> Dual:
    return (Dual if problem.band is None else BandedDual)(problem, divergence)


def newton(
    problem: Problem,
    divergence: Divergence,
    *,
    tol: float,
    max_iter: int,
    nu: Tensor | None = None,
) -> Solution:
    """Maximise the dual from nu, or from 0, until the residual is at most `tol`.

    It also stops if no step lowers the residual. The host reads one number per step,
    which is free on the CPU. Processes that share the problem read the same number.
    """
    dual = _make_dual(problem, divergence)
    point = dual.start() if nu is None else dual.evaluate(nu)
    residual, before = point.residual.item(), 0.0
    iterations, find_step = 0, None
    while iterations < max_iter and not residual <= tol:
        # With the last step's Hessian the residual shrinks about as much as it just
        # did. If that is enough, do not compute a new one.
        if find_step is None or 2 * residual * residual > tol * before:
            find_step = dual.find_steps(point)
        # far from the optimum a rough direction is enough
        rough = max(min(ROUGH, residual), ROUGH * tol / residual)
        direction = find_step(point, rough)
        for cut in CUTS:
            new = dual.evaluate(torch.add(point.nu, direction, alpha=cut))
            left = new.residual.item()
            # a short enough Newton step lowers every norm of g
            if left <= (1 - LEAST_DECREASE * cut) * residual:
                break
        else:  # also if the step is not finite
            break
        before = residual if cut == 1 else 0.0
        point, residual, iterations = new, left, iterations + 1
    return point.solution(iterations)


def newton_without_reads(
    problem: Problem,
    divergence: Divergence,
    *,
    steps: int,
    first: Solution | None = None,
) -> Solution:
    """Take a fixed number of full steps, without a host read.

    Start at 0; or at the multipliers of a first solution, and keep the best point.
    """
    dual = _make_dual(problem, divergence)
    point = dual.start() if first is None else dual.evaluate(first.nu)
    solution = first
    for step in range(steps + 1):
        if step:
            point = dual.evaluate(point.nu + dual.find_steps(point)(point, EXACT))
        if solution is not None:
            new = point.solution(solution.iterations)
            # not if NaN
            solution = better(new, solution, new.residual < solution.residual)
    return point.solution(steps) if solution is None else solution
