r"""Newton's method on the dual: a few steps on an ordinary batch.

The minimiser of the Lagrangian is a closed form in :math:`t_i = \nu \cdot a_i`, so the
dual has only m unknowns. Its gradient is the gap :math:`g`, and its Hessian
:math:`-\sum_i p_i w'_i a_i a_i^\top`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.divergence import SmoothDivergence
from fairret.projection.problem import Scaled, Solution, solve_ridge

RIDGE = 1e-12  # of the mean diagonal: what dependent constraints need, and no more
CUTS = (1.0, 0.25, 0.0625, 0.0156)  # step lengths that are tried in turn
LEAST_DECREASE = 0.1  # of the share that a full step promises


class _Point(NamedTuple):
    nu: Tensor
    f: Tensor
    rate: Tensor
    g: Tensor
    size: Tensor


def _at(scaled: Scaled, divergence: SmoothDivergence, nu: Tensor) -> _Point:
    problem = scaled.problem
    f, _, rate = divergence.minimise(problem.scores, nu @ problem.a)
    g = problem.gap(f)
    return _Point(nu, f, rate, g, torch.linalg.vector_norm(g))


def _direction(scaled: Scaled, point: _Point) -> Tensor:
    gram = scaled.problem.gram(point.rate)
    floor = torch.finfo(gram.dtype).tiny  # where every score sits on its bound
    return solve_ridge(gram, point.g, RIDGE * gram.diagonal().mean() + floor)


def newton(
    scaled: Scaled,
    divergence: SmoothDivergence,
    *,
    tol: float,
    max_iter: int,
    start: Tensor | None = None,
) -> Solution:
    """Climb the dual until the residual is at most `tol`, or no step helps.

    Reads one number on the host for each step, which is free on the CPU.
    """
    nu = torch.zeros_like(scaled.problem.b) if start is None else start
    point = _at(scaled, divergence, nu)
    residual = scaled.residual(point.g)
    iterations = 0
    while iterations < max_iter and not residual <= tol:
        direction = _direction(scaled, point)
        for cut in CUTS:
            new = _at(scaled, divergence, point.nu + cut * direction)
            if new.size <= (1 - LEAST_DECREASE * cut) * point.size:
                break
        else:  # also where the step is not finite
            break
        point, iterations = new, iterations + 1
        residual = scaled.residual(point.g)
    return Solution(point.f, point.nu, point.g, residual, iterations)


def polish(
    scaled: Scaled, divergence: SmoothDivergence, solution: Solution, steps: int
) -> Solution:
    """Take a fixed number of full steps and keep the best point: no host read."""
    point = _at(scaled, divergence, solution.nu)
    for step in range(steps + 1):
        residual = scaled.residual(point.g)
        better = residual < solution.residual  # false for NaN
        solution = Solution(
            torch.where(better, point.f, solution.f),
            torch.where(better, point.nu, solution.nu),
            torch.where(better, point.g, solution.g),
            torch.where(better, residual, solution.residual),
            solution.iterations,
        )
        if step < steps:
            nu = point.nu + _direction(scaled, point)
            point = _at(scaled, divergence, nu)
    return solution
