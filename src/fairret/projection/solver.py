"""Newton first, interior point where its residual says so."""

import torch

from fairret.divergence import Divergence, SmoothDivergence
from fairret.projection.interior_point import interior_point
from fairret.projection.newton import newton, polish
from fairret.projection.problem import Problem, Solution

TOLERANCE = 1e-6  # what is promised of the residual
AIM = 0.1  # of the tolerance: what the solver tries for
MAX_ITER = 50
NEWTON_STEPS = 10  # a batch that needs more is one for the interior point
POLISH_STEPS = 3
FULL_PATH = 15  # steps below which the interior point cannot be expected to arrive


def solve(
    problem: Problem,
    divergence: Divergence,
    *,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
) -> Solution:
    """Find the projection."""
    tol = AIM * tol
    if problem.b.device.type == "cpu" and not torch.compiler.is_compiling():
        return _solve_with_reads(problem, divergence, tol, max_iter)
    return _solve_blindly(problem, divergence, tol, max_iter)


def _solve_with_reads(
    problem: Problem, divergence: Divergence, tol: float, max_iter: int
) -> Solution:
    if not isinstance(divergence, SmoothDivergence):
        return interior_point(
            problem, divergence, tol=tol, max_iter=max_iter, read=True
        )
    limit = min(max_iter, NEWTON_STEPS)
    first = newton(problem, divergence, tol=tol, max_iter=limit)
    left = max_iter - first.iterations
    if first.residual <= tol or left == 0:
        return first
    cut_short = left < FULL_PATH
    solution = interior_point(problem, divergence, tol=tol, max_iter=left, read=True)
    left -= solution.iterations
    last = newton(
        problem,
        divergence,
        tol=tol,
        max_iter=min(left, POLISH_STEPS),
        start=solution.nu,
    )
    # a point on the dual's path is optimal for its constraints: enough if feasible
    if last.residual <= solution.residual.clamp_min(tol):
        left -= last.iterations
        solution = last
    elif cut_short and first.residual < solution.residual:
        solution = first
    return solution._replace(iterations=max_iter - left)


def _solve_blindly(
    problem: Problem, divergence: Divergence, tol: float, max_iter: int
) -> Solution:
    """Take a fixed number of steps, so that the host never waits for the device."""
    solution = interior_point(
        problem, divergence, tol=tol, max_iter=max_iter, read=False
    )
    if isinstance(divergence, SmoothDivergence):
        solution = polish(problem, divergence, solution, POLISH_STEPS)
    return solution
