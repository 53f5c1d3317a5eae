r"""Linear systems with a Gram matrix :math:`\sum_i w_i a_i a_i^\top`.

Empty or dependent constraints make it singular, so a ridge is added to its diagonal.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from fairret.distributed import ALONE, Processes
from fairret.projection.matrix import Matrix

LARGE = 200  # unknowns above which conjugate gradients are faster than LU
RIDGE = 1e-12  # share of the diagonal: what dependent constraints need, and no more
CG_STEPS = 100  # of conjugate gradients, at most


class Factor(Protocol):
    """A matrix that is prepared for linear systems."""

    def solve(self, rhs: Tensor, tol: float = 0.0) -> Tensor:
        """Solve for one right-hand side, exactly or to a relative error of `tol`."""


class Gram(NamedTuple):
    """The matrix, as a sum over processes."""

    a: Matrix  # (m, n)
    w: Tensor  # (n,)
    m: int
    over: Processes
    exact: bool = False  # whether to factorise it, however large

    @property
    def _is_large(self) -> bool:
        return not self.exact and self.m > LARGE and self.w.device.type == "cpu"

    def summand(self) -> Tensor:
        """What the processes sum: the matrix, its lower half, or its diagonal.

        Several processes send half of the symmetric matrix. A large matrix is known by
        its products, and needs only the diagonal.
        """
        if self._is_large:
            return self.a.moment(self.w, 2)
        gram = self.a.gram(self.w)
        return gram if self.over.size == 1 else gram[_half(self.m, gram.device)]

    def prepare(
        self, total: Tensor, ridge: Tensor | None = None, *, clipped: bool = False
    ) -> Factor:
        """Prepare it for linear systems.

        Args:
            total: The sum of the summands, which may be changed.
            ridge: What is added to the diagonal, by default a share of itself.
            clipped: Whether weights may be exactly zero. If all weights of a constraint
                are, its unknown must not follow rounding errors.
        """
        if self._is_large:
            extra = RIDGE * total + torch.finfo(total.dtype).tiny

            def multiply(x: Tensor) -> Tensor:
                return self.a.matvec(self.w * self.a.rmatvec(x))

            inverse = torch.where(total > 0, 1 / (total + extra), 0.0)
            return Iterated(multiply, self.over, inverse, extra)
        gram = self.whole(total)
        if ridge is not None:
            gram.diagonal().add_(ridge)
            return factorise(gram)
        tiny, relative = _ridges(self.m, gram.dtype, gram.device, type(gram))
        gram = torch.addcmul(tiny, gram, relative)
        if clipped:
            diagonal = gram.diagonal()
            diagonal.masked_fill_(diagonal <= 2 * torch.finfo(gram.dtype).tiny, 1)
        return factorise(gram)

    def whole(self, total: Tensor) -> Tensor:
        """Fill in the upper half, if it was not sent."""
        return total if total.dim() == 2 else _whole(total, self.m)


def solve_known(gram: Tensor, ridge: Tensor, rhs: Tensor, tol: float) -> Tensor:
    """Solve with a matrix that every process knows, and a ridge, `(m,)`."""
    if len(gram) <= LARGE or gram.device.type != "cpu":
        return factorise(gram + torch.diag(ridge)).solve(rhs)
    inverse = 1 / (gram.diagonal() + ridge)
    return Iterated(gram.mv, ALONE, inverse, ridge).solve(rhs, tol)


def factorise(matrix: Tensor) -> "Factorised":
    """Compute the LU factors of a matrix."""
    # lu_factor would make the host wait
    lu, pivots, _ = torch.linalg.lu_factor_ex(matrix)
    return Factorised(lu, pivots)


class Factorised(NamedTuple):
    """The LU factors of a matrix."""

    lu: Tensor
    pivots: Tensor

    def solve(self, rhs: Tensor, tol: float = 0.0) -> Tensor:
        """Solve for one right-hand side, to rounding."""
        column = rhs.unsqueeze(-1)
        solution: Tensor = torch.linalg.lu_solve(self.lu, self.pivots, column)
        return solution[:, 0]


class Iterated(NamedTuple):
    """A large matrix, known by its products: a few tens of conjugate gradients."""

    multiply: Callable[[Tensor], Tensor]  # this process's part of a product
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
            rz = agreed[0]  # all processes must stop at the same step
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
def _ridges(
    m: int, dtype: torch.dtype, device: torch.device, kind: type[Tensor]
) -> tuple[Tensor, Tensor]:
    """What is added to a matrix, and what it is multiplied by, number by number."""
    one = torch.eye(m, dtype=dtype, device=device)
    return torch.finfo(dtype).tiny * one, 1 + RIDGE * one


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
