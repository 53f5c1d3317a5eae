r"""Linear systems with a Gram matrix :math:`\sum_i w_i a_i a_i^\top`.

Empty or dependent constraints leave it singular, so its diagonal grows by a ridge.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from fairret.distributed import ALONE, Processes
from fairret.projection.matrix import Matrix

LARGE = 200  # unknowns beyond which products cost less than a factorisation
CG_STEPS = 100  # of conjugate gradients, at the most


class Factor(Protocol):
    """A matrix that is ready to be solved with."""

    def solve(self, rhs: Tensor, tol: float = 0.0) -> Tensor:
        """Solve for one right-hand side; to `tol`, relative to it, if not exactly."""


class Gram(NamedTuple):
    """The matrix, of which every process knows a summand."""

    a: Matrix  # (m, n)
    w: Tensor  # (n,)
    m: int
    over: Processes
    exact: bool = False  # whether it is to be factorised, however large

    @property
    def _is_large(self) -> bool:
        return not self.exact and self.m > LARGE and self.w.device.type == "cpu"

    def summand(self) -> Tensor:
        """What the processes have to add up.

        That is the matrix, or the half of it that tells the other one. Of a large
        matrix it is the diagonal alone.
        """
        if self._is_large:
            return self.a.moment(self.w, 2)
        gram = self.a.gram(self.w)
        return gram if self.over.size == 1 else gram[_half(self.m, gram.device)]

    def prepare(self, total: Tensor, ridge: Callable[[Tensor], Tensor]) -> Factor:
        """Make it ready to be solved with.

        Args:
            total: The sum of the summands, which is changed.
            ridge: Gives what the diagonal grows by.
        """
        if self._is_large:
            extra = ridge(total).expand_as(total)

            def multiply(x: Tensor) -> Tensor:
                return self.a.collect(self.w * self.a.spread(x))

            # where every score is at a bound, nothing moves: neither may the unknown
            inverse = torch.where(total > 0, 1 / (total + extra), 0.0)
            return Iterated(multiply, self.over, inverse, extra)
        gram = self.whole(total)
        diagonal = gram.diagonal()
        diagonal.add_(ridge(diagonal))
        return factorise(gram)

    def whole(self, total: Tensor) -> Tensor:
        """Fill in the other half, if it was not sent."""
        return total if total.dim() == 2 else _whole(total, self.m)


def solve_known(gram: Tensor, ridge: Tensor, rhs: Tensor, tol: float) -> Tensor:
    """Solve with a matrix that every process has, and a ridge, `(m,)`."""
    if len(gram) <= LARGE or gram.device.type != "cpu":
        return factorise(gram + torch.diag(ridge)).solve(rhs)
    inverse = 1 / (gram.diagonal() + ridge)
    return Iterated(gram.mv, ALONE, inverse, ridge).solve(rhs, tol)


def factorise(matrix: Tensor) -> "Factorised":
    """Compute the triangles of a matrix."""
    # lu_factor would read on the host
    lu, pivots, _ = torch.linalg.lu_factor_ex(matrix)
    return Factorised(lu, pivots)


class Factorised(NamedTuple):
    """The triangles of a matrix."""

    lu: Tensor
    pivots: Tensor

    def solve(self, rhs: Tensor, tol: float = 0.0) -> Tensor:
        """Solve for one right-hand side, to rounding."""
        column = rhs.unsqueeze(-1)
        solution: Tensor = torch.linalg.lu_solve(self.lu, self.pivots, column)
        return solution[:, 0]


class Iterated(NamedTuple):
    """A large matrix, known by its products.

    Conjugate gradients, scaled by the diagonal, need a few tens of them.
    """

    multiply: Callable[[Tensor], Tensor]  # gives this process's part of the product
    over: Processes
    inverse: Tensor  # (m,), of the diagonal
    ridge: Tensor  # (m,)

    def solve(self, rhs: Tensor, tol: float = 0.0) -> Tensor:
        """Solve for one right-hand side."""
        tiny = torch.finfo(rhs.dtype).tiny
        x, r = torch.zeros_like(rhs), rhs
        p = self.inverse * r
        rz = r @ p
        enough = None
        for _ in range(CG_STEPS):
            q, agreed = self.over.total(self.multiply(p), self.over.slot(rz))
            rz = agreed[0]  # all must stop at the same step, whatever their rounding
            left = rz.item()
            q = torch.addcmul(q, self.ridge, p)
            length = rz / (p @ q).clamp_min(tiny)
            x = torch.addcmul(x, length, p)
            enough = tol * tol * left if enough is None else enough
            if not left > enough:  # also where it is NaN
                break
            r = torch.addcmul(r, length, q, value=-1)
            z = self.inverse * r
            new = r @ z
            p = torch.addcmul(z, new / rz, p)
            rz = new
        return x


@lru_cache(maxsize=8)
def _half(m: int, device: torch.device) -> tuple[Tensor, Tensor]:
    rows, columns = torch.tril_indices(m, m, device=device)
    return rows, columns


def _whole(half: Tensor, m: int) -> Tensor:
    rows, columns = _half(m, half.device)
    gram = half.new_empty(m, m)
    gram[rows, columns] = half
    gram[columns, rows] = half
    return gram
