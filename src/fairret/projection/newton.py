r"""Newton's method on the dual: a few steps on an ordinary batch.

The minimiser of the Lagrangian is a closed form in :math:`t_i = \nu \cdot a_i`, so the
dual has only m unknowns. Its gradient is the gap :math:`g`, and its Hessian
:math:`-\sum_i p_i w'_i a_i a_i^\top`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.divergence import SmoothDivergence
from fairret.projection.linear import Factor, Gram
from fairret.projection.problem import Problem, Solution, better

RIDGE = 1e-12  # share of the diagonal: what dependent constraints need, and no more
CUTS = (1.0, 0.25, 0.0625, 0.0156)  # step lengths that are tried in turn
ROUGH = 0.1  # error of a direction that conjugate gradients find, at the most
EXACT = 1e-8  # the same, where its error would remain
LEAST_DECREASE = 0.1  # of the share that the step promises


class _Point(NamedTuple):
    nu: Tensor
    f: Tensor
    gram: Gram  # minus the Hessian
    g: Tensor
    residual: Tensor
    total: Tensor | None = None  # of the Gram matrix, if it came along with g
    value: Tensor | None = None  # of the divergence, likewise

    def solution(self, iterations: int) -> Solution:
        return Solution(
            self.f, self.nu, self.g, self.residual, iterations, divergence=self.value
        )


def look(
    problem: Problem, divergence: SmoothDivergence, nu: Tensor | None = None
) -> tuple[Tensor, Gram]:
    """The scores at nu, or at zero, where nothing has moved yet; and minus the Hessian.

    Of the latter every process has a summand.
    """
    scores = problem.scores
    if nu is None:
        f = scores.h.clone()
        rate = 1 / divergence.curvature(scores.h, scores.k, scores)
    else:
        f, rate = divergence.minimise(scores, problem.a.spread(nu))
    return f, Gram(problem.a, problem.p * rate, len(problem.b), problem.over)


def sums_of(
    problem: Problem, divergence: SmoothDivergence, f: Tensor, gram: Gram
) -> list[Tensor]:
    """What this process adds to the sums of a point: its part of the gap.

    With several of them, also what may be asked for next: a message takes longer.
    """
    sums = [problem.a.collect(problem.p * f)]
    if problem.over.size > 1:
        value = divergence.measure(f, problem.scores).value
        sums += [gram.summand(), problem.p @ value]
    return sums


def _at(problem: Problem, divergence: SmoothDivergence, nu: Tensor | None) -> _Point:
    f, gram = look(problem, divergence, nu)
    known = problem.first if nu is None else ()
    moved, *more = known or problem.over.total(*sums_of(problem, divergence, f, gram))
    g = problem.b + moved
    nu = torch.zeros_like(g) if nu is None else nu
    return _Point(nu, f, gram, g, problem.residual(g), *more)


def _factor(point: _Point) -> Factor:
    """Make minus the Hessian ready to be solved with."""
    total = point.gram.summand() if point.total is None else point.total
    tiny = torch.finfo(total.dtype).tiny
    return point.gram.prepare(total, lambda diagonal: RIDGE * diagonal + tiny)


def newton(
    problem: Problem,
    divergence: SmoothDivergence,
    *,
    tol: float,
    max_iter: int,
    start: Tensor | None = None,
) -> Solution:
    """Climb the dual until the residual is at most `tol`, or no step helps.

    Reads one number on the host for each step, which is free on the CPU. Processes
    that share the problem decide alike: on residuals of the same sums.
    """
    point = _at(problem, divergence, start)
    residual, before = point.residual.item(), 0.0
    iterations, factor = 0, None
    while iterations < max_iter and not residual <= tol:
        # Newton squares the residual; with the last step's Hessian it shrinks about as
        # much as it just did. If that is enough, spare the new one.
        if factor is None or 2 * residual * residual > tol * before:
            factor = _factor(point)
        # a rough direction will do far from the optimum
        rough = max(min(ROUGH, residual), ROUGH * tol / residual)
        direction = factor.solve(point.g, rough)
        for cut in CUTS:
            new = _at(problem, divergence, torch.add(point.nu, direction, alpha=cut))
            left = new.residual.item()
            # a Newton step lowers every norm of g, if it is short enough
            if left <= (1 - LEAST_DECREASE * cut) * residual:
                break
        else:  # also where the step is not finite
            break
        before = residual if cut == 1 else 0.0
        point, residual, iterations = new, left, iterations + 1
    return point.solution(iterations)


def polish(
    problem: Problem, divergence: SmoothDivergence, solution: Solution, steps: int
) -> Solution:
    """Take a fixed number of full steps and keep the best point: no host read."""
    point = _at(problem, divergence, solution.nu)
    for step in range(steps + 1):
        new = point.solution(solution.iterations)
        solution = better(new, solution, new.residual < solution.residual)  # not if NaN
        if step < steps:
            nu = point.nu + _factor(point).solve(point.g, EXACT)
            point = _at(problem, divergence, nu)
    return solution
