r"""The matrix of the constraints, :math:`a_{ki}`, and the products taken of it.

Rows are constraints: `(m, n)`, not `(n, m)`. That way a product with a vector of n
numbers runs along the memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

CHUNK = 32_768  # columns whose weighted copy stays in the cache
PAIRS = 2**20  # of places: more of them at a time leave the cache


class Matrix(ABC):
    """The columns of a that belong to the rows of this process's batch."""

    @abstractmethod
    def collect(self, x: Tensor) -> Tensor:
        r""":math:`\sum_i a_i x_i`, `(m,)`."""

    @abstractmethod
    def spread(self, nu: Tensor) -> Tensor:
        r""":math:`\nu \cdot a_i`, `(n,)`."""

    @abstractmethod
    def gram(self, w: Tensor) -> Tensor:
        r""":math:`\sum_i w_i a_i a_i^\top`, `(m, m)`."""

    @abstractmethod
    def moment(self, x: Tensor, order: int) -> Tensor:
        r""":math:`\sum_i |a_i|^r x_i`, `(m,)`."""

    @abstractmethod
    def divide(self, by: Tensor) -> Matrix:
        """Divide every constraint by a number, `(m,)`."""


class Dense(Matrix):
    """All numbers of the matrix."""

    def __init__(self, a: Tensor) -> None:
        self._a = a

    def collect(self, x: Tensor) -> Tensor:
        return self._a @ x

    def spread(self, nu: Tensor) -> Tensor:
        return nu @ self._a

    def gram(self, w: Tensor) -> Tensor:
        """Without a second matrix of the size of a."""
        a = self._a
        if a.shape[1] <= CHUNK:
            return (a * w) @ a.T
        gram = a.new_zeros(len(a), len(a))
        parts = zip(torch.split(a, CHUNK, 1), torch.split(w, CHUNK), strict=True)
        for part, v in parts:
            gram.addmm_(part * v, part.T)
        return gram

    def moment(self, x: Tensor, order: int) -> Tensor:
        return self._a.abs().pow_(order) @ x

    def divide(self, by: Tensor) -> Dense:
        return Dense(self._a / by[:, None])


class Sparse(Matrix):
    r"""A matrix with q numbers in every column that are not zero.

    Its Gram matrix costs :math:`O(n q^2)`, not :math:`O(n m^2)`.

    Args:
        place: Which constraints they belong to, `(q, n)`.
        value: The numbers, `(q, n)`.
        m: The number of constraints.
    """

    def __init__(self, place: Tensor, value: Tensor, m: int) -> None:
        self._place, self._value, self._m = place, value, m
        self._pairs: Tensor | None = None  # of places, for all rows

    def collect(self, x: Tensor) -> Tensor:
        return self._add(self._value * x)

    def spread(self, nu: Tensor) -> Tensor:
        return (torch.take(nu, self._place) * self._value).sum(0)

    def gram(self, w: Tensor) -> Tensor:
        m, q = self._m, len(self._place)
        gram = w.new_zeros(m * m)
        size = max(1, min(CHUNK, PAIRS // (q * q)))
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

    def divide(self, by: Tensor) -> Sparse:
        return Sparse(self._place, self._value / torch.take(by, self._place), self._m)

    def _add(self, numbers: Tensor) -> Tensor:
        sums = numbers.new_zeros(self._m)
        return sums.scatter_add_(0, self._place.flatten(), numbers.flatten())


class Mirrored(Matrix):
    """The matrix (a, -a), of two unknowns for every row."""

    def __init__(self, half: Matrix) -> None:
        self._half = half

    def collect(self, x: Tensor) -> Tensor:
        up, down = x.chunk(2)
        return self._half.collect(up - down)

    def spread(self, nu: Tensor) -> Tensor:
        t = self._half.spread(nu)
        return torch.cat((t, -t))

    def gram(self, w: Tensor) -> Tensor:
        up, down = w.chunk(2)
        return self._half.gram(up + down)

    def moment(self, x: Tensor, order: int) -> Tensor:
        up, down = x.chunk(2)
        return self._half.moment(up + down, order)

    def divide(self, by: Tensor) -> Mirrored:
        return Mirrored(self._half.divide(by))
