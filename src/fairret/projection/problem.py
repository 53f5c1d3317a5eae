r"""The projection as a problem of its own, which knows nothing of fairness.

.. math::
    \min_{0 \le f \le 1} \sum_i p_i D(f_i \| h_i)
    \quad\text{subject to}\quad b + \sum_i p_i a_i f_i = 0

The rows i may be spread over processes. Each has its own part of h, a and p; b, the
multipliers and all sums over rows are the same everywhere.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.distributed import ALONE, Processes
from fairret.divergence import Scores
from fairret.projection.matrix import Matrix


class Problem(NamedTuple):
    """The data of a projection."""

    scores: Scores
    a: Matrix  # (m, n)
    b: Tensor  # (m,)
    p: Tensor  # (n,), sums to 1
    size: Tensor  # (m,): what a gap is relative to; mean_i |a_ik| unless given
    over: Processes = ALONE
    first: tuple[Tensor, ...] = ()  # sums of Newton's first point, if they are known

    def gap(self, f: Tensor) -> Tensor:
        r""":math:`g = b + \sum_i p_i a_i f_i`, which is zero where f is feasible."""
        return self.b + self.over.total(self.a.collect(self.p * f))[0]

    def mean(self, x: Tensor) -> Tensor:
        r""":math:`\sum_i p_i x_i`, over the rows of all processes."""
        return self.over.total(self.p @ x)[0]

    def residual(self, g: Tensor) -> Tensor:
        r""":math:`\max_k |g_k| / s_k`: the largest gap, relative to its size."""
        residual: Tensor = torch.linalg.vector_norm(g / self.size, torch.inf)
        return residual

    def rms(self) -> Tensor:
        r""":math:`(\sum_i p_i a_i^2)^{1/2}`, `(m,)`, zero for an empty constraint."""
        return torch.sqrt(self.over.total(self.a.moment(self.p, 2))[0])


class Solution(NamedTuple):
    """An answer to a problem."""

    f: Tensor  # (n,)
    nu: Tensor  # (m,)
    g: Tensor  # (m,)
    residual: Tensor  # ()
    iterations: int
    optimal: bool = True  # False where the steps ran out on the way to the optimum
    divergence: Tensor | None = None  # (), its mean over all rows, if it is known


def better(one: Solution, other: Solution, choice: Tensor) -> Solution:
    """Take `one` where the choice is true, without a host read."""
    return Solution(
        torch.where(choice, one.f, other.f),
        torch.where(choice, one.nu, other.nu),
        torch.where(choice, one.g, other.g),
        torch.where(choice, one.residual, other.residual),
        one.iterations,
        one.optimal,
    )
