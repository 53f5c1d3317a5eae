r"""Statistics of decisions as sums over columns: what is true, and what is known.

The sums of a group k in Def. 2 are linear in the decisions f: a constant, and the mean
of a column times f. On the rows that fit a rule, the true column is
:math:`S_{ik} \beta(y_i)`. A rule knows less when it decides. It has

.. math::
    E[S_k \beta(Y) \mid x] = P(S_k, Y{=}1 \mid x)\, \beta(1)
                           + P(S_k, Y{=}0 \mid x)\, \beta(0),

from :math:`q(x, y) = E[S \mid x, y]` if it is blind and from S itself if it is
informed. Everybody is one more group, the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.batch import Batch
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import Coefficients


class Memberships(NamedTuple):
    """Joint probabilities of groups and labels, `(n, 1 + d_s)`, everybody first."""

    positive: Tensor  # P(S_k, Y = 1 | x)
    negative: Tensor  # P(S_k, Y = 0 | x)


def read_memberships(eta: Tensor, q0: Tensor, q1: Tensor) -> Memberships:
    r"""Join :math:`\eta(x) = P(Y{=}1 \mid x)` and :math:`q(x, y) = E[S \mid x, y]`."""
    one = torch.ones_like(eta)[:, None]
    return Memberships(
        eta[:, None] * torch.cat((one, q1), 1),
        (1 - eta)[:, None] * torch.cat((one, q0), 1),
    )


class Side(NamedTuple):
    """Numerator or denominator of one statistic: its place among the columns."""

    part: int  # of the statistics that are constrained together
    denominator: bool
    start: int  # of its 1 + d_s columns


@dataclass(frozen=True)
class Layout:
    """Where the columns of every numerator and denominator are; the last is all ones.

    A side whose slope is zero everywhere has no columns.
    """

    sides: tuple[Side, ...]
    groups: int  # with everybody

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.sides) * self.groups + 1

    def start(self, part: int, *, denominator: bool) -> int | None:
        """First column of a side, or None if it has none."""
        for side in self.sides:
            if (side.part, side.denominator) == (part, denominator):
                return side.start
        return None


def evaluate(
    statistic: LinearFractionalStatistic,
    label: Tensor,
    named: Mapping[str, object],
) -> Coefficients:
    """Evaluate the four functions of every part for given labels: `(K, n)` each."""
    everybody = torch.ones_like(label)[:, None]
    batch = Batch(label, everybody, None, {**named, "label": label})
    shape = (len(statistic.parts), len(label))
    return Coefficients(
        *(
            torch.as_tensor(x).to(label).expand(shape)
            for x in statistic.coefficients(batch)
        )
    )


def lay_out(zero: Coefficients, one: Coefficients, groups: int) -> Layout:
    """Give a place to every side whose slope is not zero, for labels 0 and 1."""
    sides = []
    start = 0
    for part in range(len(torch.as_tensor(zero.beta0))):
        for denominator, slopes in enumerate(
            ((zero.beta0, one.beta0), (zero.beta1, one.beta1))
        ):
            if any(bool(torch.as_tensor(x)[part].any()) for x in slopes):
                sides.append(Side(part, bool(denominator), start))
                start += groups
    return Layout(tuple(sides), groups)


def true_columns(layout: Layout, s: Tensor, coef: Coefficients) -> Tensor:
    r"""Columns :math:`S_{ik} \beta(y_i)`, `(p, n)`; s is `(n, 1 + d_s)`."""
    return _stack(layout, s, [(s, coef)])


def known_columns(
    layout: Layout, p: Memberships, zero: Coefficients, one: Coefficients
) -> Tensor:
    r"""Columns :math:`E[S_k \beta(Y) \mid x]`, `(p, n)`."""
    return _stack(layout, p.positive, [(p.positive, one), (p.negative, zero)])


def _stack(
    layout: Layout, like: Tensor, terms: list[tuple[Tensor, Coefficients]]
) -> Tensor:
    columns = like.new_zeros(layout.width, len(like))
    columns[-1] = 1
    for side in layout.sides:
        own = columns[side.start : side.start + layout.groups]
        for s, coef in terms:
            slope = torch.as_tensor(coef.beta1 if side.denominator else coef.beta0)
            own += s.T * slope[side.part]
    return columns
