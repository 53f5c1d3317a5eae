r"""The projection as a problem of its own, which knows nothing of fairness.

.. math::
    \min_{0 \le f \le 1} \sum_i p_i D(f_i \| h_i)
    \quad\text{subject to}\quad b + \sum_i p_i a_i f_i = 0
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.divergence import Scores

CHUNK = 32_768  # columns whose weighted copy stays in the cache


def weighted_gram(a: Tensor, w: Tensor) -> Tensor:
    r""":math:`\sum_i w_i a_i a_i^\top`, without a second matrix of the size of a."""
    if a.shape[1] <= CHUNK:
        return (a * w) @ a.T
    gram = a.new_zeros(len(a), len(a))
    for part, v in zip(torch.split(a, CHUNK, 1), torch.split(w, CHUNK), strict=True):
        gram.addmm_(part * v, part.T)
    return gram


class Problem(NamedTuple):
    """The data of a projection. Rows of `a` are constraints: `(m, n)`, not `(n, m)`.

    That way a product with a vector of n numbers runs along the memory.
    """

    scores: Scores
    a: Tensor  # (m, n)
    b: Tensor  # (m,)
    p: Tensor  # (n,), sums to 1
    size: Tensor  # (m,): what a gap is relative to; mean_i |a_ik| unless given

    def gap(self, f: Tensor) -> Tensor:
        r""":math:`g = b + \sum_i p_i a_i f_i`, which is zero where f is feasible."""
        return torch.addmv(self.b, self.a, self.p * f)

    def residual(self, g: Tensor) -> Tensor:
        r""":math:`\max_k |g_k| / s_k`: the largest gap, relative to its size."""
        residual: Tensor = torch.linalg.vector_norm(g / self.size, torch.inf)
        return residual

    def gram(self, rate: Tensor) -> Tensor:
        r""":math:`\sum_i p_i w'_i a_i a_i^\top`, minus the Hessian of the dual."""
        return weighted_gram(self.a, self.p * rate)


class Solution(NamedTuple):
    """An answer to a problem."""

    f: Tensor  # (n,)
    nu: Tensor  # (m,)
    g: Tensor  # (m,)
    residual: Tensor  # ()
    iterations: int
    optimal: bool = True  # False where the steps ran out on the way to the optimum


def pose(
    scores: Scores, a: Tensor, b: Tensor, p: Tensor, size: Tensor | None = None
) -> Problem:
    """Put a problem together; pass the constraints' sizes if they are known."""
    if size is None:
        size = a.abs() @ p
    return Problem(scores, a, b, p, size.masked_fill(size == 0, 1))


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


class Factor(NamedTuple):
    """A factorised matrix."""

    lu: Tensor
    pivots: Tensor

    def solve(self, rhs: Tensor) -> Tensor:
        """Solve for one right-hand side."""
        column = rhs.unsqueeze(-1)
        solution: Tensor = torch.linalg.lu_solve(self.lu, self.pivots, column)
        return solution[:, 0]


def factor_ridge(gram: Tensor, ridge: Tensor | float) -> Factor:
    """Factorise a matrix that dependent or empty constraints leave singular.

    Its diagonal grows by the share `ridge`, or by `ridge` itself if it is a tensor.
    """
    diagonal = gram.diagonal()
    if isinstance(ridge, Tensor):
        diagonal.add_(ridge)
    else:
        diagonal.mul_(1 + ridge).add_(torch.finfo(gram.dtype).tiny)
    lu, pivots, _ = torch.linalg.lu_factor_ex(gram)  # lu_factor would read on the host
    return Factor(lu, pivots)
