r"""The matrix of the constraints, :math:`a_{ki}`, and its products.

Its rows are constraints: `(m, n)`, not `(n, m)`, so that a product with a vector of n
numbers reads memory in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from fairret.device import BLOCK, cut, is_large

PAIRS = 2**20  # of places: more at a time would not fit into the cache


class Matrix(ABC):
    """The columns of a for the rows of this process's batch.

    Those of a problem have all of the methods; those of the interior point only the
    three products.
    """

    @abstractmethod
    def matvec(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        r""":math:`\sum_i a_i x_i`, `(m,)`, on top of another vector if there is one."""

    @abstractmethod
    def rmatvec(self, nu: Tensor) -> Tensor:
        r""":math:`\nu \cdot a_i`, `(n,)`."""

    @abstractmethod
    def gram(self, w: Tensor) -> Tensor:
        r""":math:`\sum_i w_i a_i a_i^\top`, `(m, m)`."""

    def moment(self, x: Tensor, order: int) -> Tensor:
        r""":math:`\sum_i |a_i|^r x_i`, `(m,)`."""
        raise NotImplementedError

    def columns(self, which: slice) -> Matrix:
        """The columns for some of the rows."""
        raise NotImplementedError

    def divide_rows(self, by: Tensor) -> Matrix:
        """Divide every row by its number, `(m,)`."""
        raise NotImplementedError

    def minus(self, e: Matrix, by: Tensor) -> Matrix:
        """Subtract from every row a multiple, `(m,)`, of that of a similar matrix."""
        raise NotImplementedError

    def above(self, other: Matrix) -> Matrix:
        """Put the rows of another matrix of that kind below, `(2 m, n)`."""
        raise NotImplementedError


class Dense(Matrix):
    """All numbers of the matrix."""

    def __init__(self, a: Tensor) -> None:
        self._a, self._transposed = a, a.T

    def matvec(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        return torch.mv(self._a, x) if plus is None else torch.addmv(plus, self._a, x)

    def rmatvec(self, nu: Tensor) -> Tensor:
        return torch.mv(self._transposed, nu)

    def gram(self, w: Tensor) -> Tensor:
        """In blocks, without a second matrix of the size of a."""
        if not is_large(w):
            return torch.mm(self._a * w, self._transposed)
        gram = w.new_zeros(len(self._a), len(self._a))
        for i in cut(len(w)):
            gram.addmm_(self._a[:, i] * w[i], self._transposed[i])
        return gram

    def moment(self, x: Tensor, order: int) -> Tensor:
        return self._a.abs().pow_(order) @ x

    def columns(self, which: slice) -> Dense:
        return Dense(self._a[:, which])

    def divide_rows(self, by: Tensor) -> Dense:
        return Dense(self._a / by[:, None])

    def minus(self, e: Matrix, by: Tensor) -> Dense:
        assert isinstance(e, Dense)
        return Dense(torch.addcmul(self._a, by[:, None], e._a, value=-1))

    def above(self, other: Matrix) -> Dense:
        assert isinstance(other, Dense)
        return Dense(torch.cat((self._a, other._a)))


class Sparse(Matrix):
    r"""A matrix with q nonzero numbers in every column.

    Its Gram matrix costs :math:`O(n q^2)`, not :math:`O(n m^2)`.

    Args:
        place: Their rows, `(q, n)`.
        value: The numbers, `(q, n)`.
        m: The number of constraints.
    """

    def __init__(self, place: Tensor, value: Tensor, m: int) -> None:
        self._place, self._value, self._m = place, value, m
        self._pairs: Tensor | None = None  # of places, for all rows

    def matvec(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        return self._add(self._value * x, plus)

    def rmatvec(self, nu: Tensor) -> Tensor:
        return (torch.take(nu, self._place) * self._value).sum(0)

    def gram(self, w: Tensor) -> Tensor:
        m, q = self._m, len(self._place)
        gram = w.new_zeros(m * m)
        size = max(1, min(BLOCK, PAIRS // (q * q)))
        columns = (torch.split(x, size, 1) for x in (self._place, self._value))
        for place, value, v in zip(*columns, torch.split(w, size), strict=True):
            pairs = self._pairs
            if pairs is None:
                pairs = (place[:, None] * m + place[None]).flatten()
            gram.scatter_add_(0, pairs, (value[:, None] * (value * v)[None]).flatten())
            if len(v) == len(w):
                self._pairs = pairs  # the next call has the same places
        return gram.view(m, m)

    def moment(self, x: Tensor, order: int) -> Tensor:
        return self._add(self._value.abs() ** order * x)

    def columns(self, which: slice) -> Sparse:
        return Sparse(self._place[:, which], self._value[:, which], self._m)

    def divide_rows(self, by: Tensor) -> Sparse:
        return Sparse(self._place, self._value / torch.take(by, self._place), self._m)

    def minus(self, e: Matrix, by: Tensor) -> Sparse:
        assert isinstance(e, Sparse)  # with the same places
        value = self._value - torch.take(by, self._place) * e._value
        return Sparse(self._place, value, self._m)

    def above(self, other: Matrix) -> Sparse:
        assert isinstance(other, Sparse)
        place = torch.cat((self._place, self._m + other._place))
        value = torch.cat((self._value, other._value))
        return Sparse(place, value, self._m + other._m)

    def _add(self, numbers: Tensor, plus: Tensor | None = None) -> Tensor:
        sums = numbers.new_zeros(self._m) if plus is None else plus
        return sums.scatter_add(0, self._place.flatten(), numbers.flatten())


class Mirrored(Matrix):
    """The matrix (a, -a), of two unknowns for every row."""

    def __init__(self, half: Matrix) -> None:
        self._half = half

    def matvec(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        up, down = x.chunk(2)
        return self._half.matvec(up - down, plus)

    def rmatvec(self, nu: Tensor) -> Tensor:
        t = self._half.rmatvec(nu)
        return torch.cat((t, -t))

    def gram(self, w: Tensor) -> Tensor:
        up, down = w.chunk(2)
        return self._half.gram(up + down)


class WithSlack(Matrix):
    """The matrix (a, c I), of one more unknown for every constraint.

    Only one of the processes has these unknowns.

    Args:
        a: The matrix of the rows of this process.
        m: The number of constraints, or 0 in the other processes.
        c: The coefficient of the unknowns.
    """

    def __init__(self, a: Matrix, m: int, c: float) -> None:
        self._rows, self._m, self._c = a, m, c

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n = len(x) - self._m
        return x[:n], x[n:]

    def matvec(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        rows, slack = self._split(x)
        sums = self._rows.matvec(rows, plus)
        return torch.add(sums, slack, alpha=self._c) if self._m else sums

    def rmatvec(self, nu: Tensor) -> Tensor:
        return torch.cat((self._rows.rmatvec(nu), self._c * nu[: self._m]))

    def gram(self, w: Tensor) -> Tensor:
        rows, slack = self._split(w)
        gram = self._rows.gram(rows)
        return gram + torch.diag(self._c**2 * slack) if self._m else gram
