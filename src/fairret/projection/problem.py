r"""The projection as a problem of its own, which knows nothing of fairness.

.. math::
    \min_{0 \le f \le 1} \sum_i p_i D(f_i \| h_i)
    \quad\text{subject to}\quad b + \sum_i p_i a_i f_i = 0
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.divergence import Scores


class Problem(NamedTuple):
    """The data of a projection. Rows of `a` are constraints: `(m, n)`, not `(n, m)`.

    That way a product with a vector of n numbers runs along the memory.
    """

    scores: Scores
    a: Tensor  # (m, n)
    b: Tensor  # (m,)
    p: Tensor  # (n,), sums to 1

    def gap(self, f: Tensor) -> Tensor:
        r""":math:`g = b + \sum_i p_i a_i f_i`, which is zero where f is feasible."""
        return self.b + self.a @ (self.p * f)

    def gram(self, rate: Tensor) -> Tensor:
        r""":math:`\sum_i p_i w'_i a_i a_i^\top`, minus the Hessian of the dual."""
        return (self.a * (self.p * rate)) @ self.a.T


class Scaled(NamedTuple):
    """A problem whose constraints all have root mean square 1, and what undoes it."""

    problem: Problem
    rms: Tensor  # (m,): the multipliers of the original problem are nu / rms
    spread: Tensor  # (m,): rms over mean absolute value

    def residual(self, g: Tensor) -> Tensor:
        r""":math:`\max_k |g_k| / \sum_i p_i |a_{ik}|`: relative to the group's size."""
        residual: Tensor = torch.linalg.vector_norm(g * self.spread, torch.inf)
        return residual


class Solution(NamedTuple):
    """An answer to the scaled problem."""

    f: Tensor  # (n,)
    nu: Tensor  # (m,)
    g: Tensor  # (m,)
    residual: Tensor  # ()
    iterations: int


def scale(problem: Problem) -> Scaled:
    """Give every constraint the same size, so that a rare group counts in full."""
    scores, a, b, p = problem
    mean_abs = a.abs() @ p
    rms = torch.maximum(torch.sqrt(a.square() @ p), mean_abs)  # squares may underflow
    empty = mean_abs == 0
    rms = rms.masked_fill(empty, 1)
    spread = rms / mean_abs.masked_fill(empty, 1)
    return Scaled(Problem(scores, a / rms[:, None], b / rms, p), rms, spread)


def solve_ridge(gram: Tensor, rhs: Tensor, ridge: Tensor) -> Tensor:
    """Solve with a matrix that dependent or empty constraints may leave singular."""
    gram.diagonal().add_(ridge)
    # `solve` would read on the host whether it succeeded
    solution: Tensor = torch.linalg.solve_ex(gram, rhs)[0]
    return solution
