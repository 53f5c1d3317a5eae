r"""The projection as a convex problem, without reference to fairness.

.. math::
    \min_{0 \le f \le 1} \sum_i p_i D(f_i \| h_i)
    \quad\text{subject to}\quad b + \sum_i p_i a_i f_i = 0

or, within a band, :math:`|b + \sum_i p_i a_i f_i| \le b' + \sum_i p_i e_i f_i`.

The rows i may be distributed over processes. Each has its part of h, a and p; b, the
multipliers and all sums over rows are the same in all processes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.device import cut, is_large
from fairret.distributed import ALONE, Processes
from fairret.divergence import Scores
from fairret.projection.matrix import Matrix


class Band(NamedTuple):
    r"""How far from zero gaps may be: at most :math:`b' + \sum_i p_i e_i f_i \ge 0`."""

    e: Matrix | None  # (m, n), with the zeros of a; None if there are zeros only
    b: Tensor  # (m,)
    start: Tensor  # (m,): the largest gap at f = h

    def columns(self, which: slice) -> Band:
        """The band for some of the rows."""
        return self if self.e is None else self._replace(e=self.e.columns(which))


class Problem(NamedTuple):
    """The data of a projection."""

    scores: Scores
    a: Matrix  # (m, n)
    b: Tensor  # (m,)
    p: Tensor  # (n,), sums to 1
    size: Tensor  # (m,): what a gap is relative to
    start: Tensor  # (m,): the gap at f = h
    over: Processes = ALONE
    band: Band | None = None  # None if the gaps must be zero

    def gap(self, f: Tensor) -> Tensor:
        r""":math:`g = b + \sum_i p_i a_i f_i`, which is zero if f is feasible."""
        return self.over.total(self.a.matvec(self.p * f, self.over.once(self.b)))[0]

    def excess(self, f: Tensor) -> Tensor:
        """The part of the gaps outside of the band, which is zero if f is feasible."""
        g = self.gap(f)
        if self.band is None:
            return g
        e, largest, _ = self.band
        if e is not None:
            largest = self.over.total(e.matvec(self.p * f, self.over.once(largest)))[0]
        return outside(g, largest)

    def t(self, nu: Tensor) -> Tensor:
        r"""The derivative of the constraints' part of the Lagrangian in f, `(n,)`.

        .. math:: t_i = \nu \cdot a_i - |\nu| \cdot e_i
        """
        t = self.a.rmatvec(nu)
        if self.band is None or self.band.e is None:
            return t
        return t - self.band.e.rmatvec(nu.abs())

    def two_sided(self) -> Problem:
        """Write both sides of the band as constraints, to be at most zero."""
        assert self.band is not None
        (e, b, start), one = self.band, torch.ones_like(self.b)
        negative = self.a.divide_rows(-one)
        upper, lower = (x if e is None else x.minus(e, one) for x in (self.a, negative))
        return self._replace(
            a=upper.above(lower),
            b=torch.cat((self.b - b, -self.b - b)),
            size=torch.cat((self.size, self.size)),
            start=torch.cat((self.start - start, -self.start - start)),
            band=None,
        )

    def mean(self, x: Tensor) -> Tensor:
        r""":math:`\sum_i p_i x_i`, over the rows of all processes."""
        return self.over.total(self.p @ x)[0]

    def residual(self, g: Tensor) -> Tensor:
        r""":math:`\max_k |g_k| / s_k`, the largest gap relative to its size."""
        residual: Tensor = torch.linalg.vector_norm(g / self.size, torch.inf)
        return residual

    def rms(self) -> Tensor:
        r""":math:`(\sum_i p_i a_i^2)^{1/2}`, `(m,)`, zero for an empty constraint."""
        return torch.sqrt(self.over.total(self.a.moment(self.p, 2))[0])

    def blocks(self) -> list[Problem]:
        """The rows of this process; on the CPU in blocks that fit into its cache."""
        if not is_large(self.p):
            return [self]
        return [
            self._replace(
                scores=Scores(*(x[..., i] for x in self.scores)),
                a=self.a.columns(i),
                p=self.p[i],
                band=None if self.band is None else self.band.columns(i),
            )
            for i in cut(len(self.p))
        ]


def outside(g: Tensor, largest: Tensor) -> Tensor:
    """The part of the gaps outside of a band."""
    return g - torch.clamp(g, -largest, largest)


class Solution(NamedTuple):
    """An answer to a problem."""

    f: Tensor  # (n,)
    nu: Tensor  # (m,)
    g: Tensor  # (m,), outside of the band
    residual: Tensor  # ()
    iterations: int
    optimal: bool = True  # False if the steps ran out before the optimum


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
