"""Newton's method first, the interior-point method if its residual is too large.

If host reads are not free there is one: the residual after five Newton steps. While a
graph is captured or compiled there is none, and the numbers of steps are fixed.
"""

from fairret import device
from fairret.divergence import Divergence
from fairret.projection.interior_point import interior_point
from fairret.projection.newton import newton, newton_without_reads
from fairret.projection.problem import Problem, Solution, better

TOLERANCE = 1e-6  # of the residual
AIM = 0.1  # of the tolerance, at which the solver stops
MAX_ITER = 50
FIRST_STEPS = 5  # of Newton's method, if host reads are not free
NEWTON_STEPS = 10  # problems that need more are left to the interior point
POLISH_STEPS = 3
FULL_PATH = 15  # steps that the interior point may need


def solve(
    problem: Problem,
    divergence: Divergence,
    *,
    tol: float = TOLERANCE,
    max_iter: int = MAX_ITER,
) -> Solution:
    """Find the projection."""
    tol = AIM * tol
    if device.reads_are_free(problem.b):
        return _solve_with_reads(problem, divergence, tol, max_iter)
    if device.may_read(problem.b) and not divergence.has_kink:
        steps = min(max_iter, FIRST_STEPS)
        first = newton_without_reads(problem, divergence, steps=steps)
        if first.residual <= tol or steps == max_iter:  # the only read
            return first
    # a fixed number of steps, so that the host never waits for the device
    solution = interior_point(
        problem, divergence, tol=tol, max_iter=max_iter, read=False
    )
    if not divergence.has_kink:
        solution = newton_without_reads(
            problem, divergence, steps=POLISH_STEPS, first=solution
        )
    if problem.band is None:
        return solution
    at_h = newton_without_reads(problem, divergence, steps=0)
    return better(at_h, solution, at_h.residual <= tol)


def _solve_with_reads(
    problem: Problem, divergence: Divergence, tol: float, max_iter: int
) -> Solution:
    if divergence.has_kink:
        if problem.band is not None:
            at_h = newton(problem, divergence, tol=tol, max_iter=0)
            if at_h.residual <= tol:
                return at_h
        return interior_point(
            problem, divergence, tol=tol, max_iter=max_iter, read=True
        )
    limit = min(max_iter, NEWTON_STEPS)
    first = newton(problem, divergence, tol=tol, max_iter=limit)
    left = max_iter - first.iterations
    if first.residual.item() <= tol or left == 0:
        return first
    cut_short = left < FULL_PATH
    solution = interior_point(problem, divergence, tol=tol, max_iter=left, read=True)
    left -= solution.iterations
    last = newton(
        problem,
        divergence,
        tol=tol,
        max_iter=min(left, POLISH_STEPS),
        nu=solution.nu,
    )
    # a dual point is optimal for the constraints it meets: enough if feasible
    if last.residual <= solution.residual.clamp_min(tol):
        left -= last.iterations
        solution = last
    elif cut_short and first.residual < solution.residual:
        solution = first
    return solution._replace(iterations=max_iter - left)
