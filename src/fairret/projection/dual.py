r"""The dual problem, which has one unknown per constraint.

The minimiser of the Lagrangian is a closed form in :math:`t_i = \nu \cdot a_i`. The
gradient of the dual is the gap :math:`g`, its Hessian
:math:`-\sum_i p_i w'_i a_i a_i^\top`.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from fairret.device import join
from fairret.divergence import Divergence
from fairret.projection.linear import Gram
from fairret.projection.problem import Problem, Solution, outside


class Point(NamedTuple):
    """Multipliers, and the minimiser of the Lagrangian at them."""

    nu: Tensor
    f: Sequence[Tensor]  # in blocks of rows
    rate: Sequence[Callable[[], Tensor]]  # w', in the same blocks
    g: Tensor
    residual: Tensor
    largest: Tensor | None = None  # (m,), the largest gap inside of the band

    def solution(self, iterations: int) -> Solution:
        """The point as an answer."""
        g = self.g if self.largest is None else outside(self.g, self.largest)
        return Solution(join(self.f), self.nu, g, self.residual, iterations)


Step: TypeAlias = Callable[[Point, float], Tensor]  # of nu, to a relative error


class Dual:
    """The dual problem: its blocks of rows, its points and its Hessian."""

    def __init__(self, problem: Problem, divergence: Divergence) -> None:
        self._problem, self._divergence = problem, divergence
        self._blocks = problem.blocks()

    def start(self) -> Point:
        """The point at nu = 0, where f is h."""
        g, scores = self._problem.start, [block.scores for block in self._blocks]
        rate = [functools.partial(self._divergence.rate_at_h, x) for x in scores]
        residual = self._problem.residual(g)
        return Point(torch.zeros_like(g), [x.h for x in scores], rate, g, residual)

    def evaluate(self, nu: Tensor) -> Point:
        """Minimise the Lagrangian at nu, and compute the gap that is left."""
        over, found = self._problem.over, []
        g = over.once(self._problem.b)
        for block in self._blocks:
            found.append(self._divergence.minimise(block.scores, block.a.rmatvec(nu)))
            g = block.a.matvec(block.p * found[-1].f, g)
        (g,) = over.total(g)
        f, rate = zip(*found, strict=True)
        return Point(nu, f, rate, g, self._problem.residual(g))

    def find_steps(self, point: Point) -> Step:
        """Prepare Newton steps with the Hessian at this point, from points near it."""
        problem, blocks = self._problem, zip(self._blocks, point.rate, strict=True)
        w = join([block.p * rate() for block, rate in blocks])
        gram = Gram(problem.a, w, problem.b.shape[0], problem.over)
        (total,) = problem.over.total(gram.summand())
        factor = gram.prepare(total, clipped=self._divergence.growth == math.inf)
        return lambda point, tol: factor.solve(point.g, tol)
