r"""The delta method: covariances and standard errors of statistics, from sums alone.

A statistic is a ratio of sums. The influence of row i on :math:`\gamma_k` is
:math:`\psi_{ik} = S_{ik} (u_i - \gamma_k v_i) / D_k`. Covariances are sums of products
of influences and follow from the second moments; nothing is resampled. All functions
accept any number of leading dimensions.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.statistic.sums import Sums, comparable, ratio

ROUNDING = 1e-9  # relative error up to which a property holds


class NotionMoments(NamedTuple):
    """The sums of one notion: K statistics, d groups, the first of which is everybody.

    In the dimensions of size 2, index 0 is u and index 1 is v.
    """

    first: Tensor  # (..., K, 2, d)
    second: Tensor  # (..., K, 2, K, 2, d, d)
    excess: Tensor  # (..., 5, K)

    @property
    def groups(self) -> Sums:
        """Numerators and denominators, `(..., K, d)`."""
        return Sums(self.first[..., 0, :], self.first[..., 1, :])

    @property
    def gamma(self) -> Tensor:
        """The statistics, `(..., K, d)`; NaN if no row is counted."""
        return ratio(self.groups)

    @property
    def estimable(self) -> Tensor:
        """Whether a group, or everybody, has a statistic, `(..., K, d)`."""
        den = self.groups.den
        return comparable(den, den[..., 0])

    def has(self, *properties: int) -> Tensor:
        """Whether properties of `row_excess` hold for all rows, `(..., K)`."""
        return (self.excess[..., properties, :] <= ROUNDING).all(-2)

    @property
    def is_share(self) -> Tensor:
        """Whether 0 <= u <= v for all rows, so that N / D is a share, `(..., K)`."""
        return self.has(0, 1)

    @property
    def is_ratio(self) -> Tensor:
        """Whether u and v count different rows, as FN / FP does, `(..., K)`."""
        uv = self.second[..., 0, :, 1, 0, 0].diagonal(dim1=-2, dim2=-1)
        return self.has(0, 2) & (uv == 0) & ~self.is_share

    @property
    def as_share(self) -> Sums:
        """Numerator and denominator as a share; FN / FP becomes FN / (FN + FP)."""
        num, den = self.groups
        return Sums(num, torch.where(self.is_ratio[..., None], num + den, den))

    @property
    def counts_alike(self) -> Tensor:
        r"""Whether all counted rows have the same weight, `(..., K)`.

        Then u and v are 0 or one constant m, and the statistic of a group determines
        its variance. Because no row exceeds m, this is the case if
        :math:`\sum v^2 = m \sum v`.
        """
        uu, _, vv = (x[..., 0, 0] for x in self.own)
        num, den = (x[..., 0] for x in self.groups)
        largest = self.excess[..., 4, :]
        share = self.is_share & (vv >= (1 - ROUNDING) * largest * den)
        both = self.is_ratio & (uu + vv >= (1 - ROUNDING) * largest * (num + den))
        return self.has(3) & (share | both)

    @property
    def apart(self) -> "NotionMoments":
        """Each statistic as its own notion: K becomes a leading dimension."""
        second = self.second.diagonal(dim1=-6, dim2=-4)  # ..., 2, 2, d, d, K
        second = second.movedim(-1, -5)[..., None, :, None, :, :, :]
        excess = self.excess.transpose(-1, -2)[..., None]
        return NotionMoments(self.first[..., None, :, :], second, excess)

    @property
    def complement(self) -> "NotionMoments":
        """The sums of 1 minus the statistic: v - u replaces u."""
        flip = torch.tensor([[-1.0, 1.0], [0.0, 1.0]]).to(self.first)
        second = torch.einsum("ab,...kbmcij->...kamcij", flip, self.second)
        second = torch.einsum("dc,...kamcij->...kamdij", flip, second)
        return NotionMoments(
            flip @ self.first, second, self.excess[..., [1, 0, 2, 3, 4], :]
        )

    @property
    def own(self) -> tuple[Tensor, Tensor, Tensor]:
        r"""Sums of u², uv and v² over pairs of groups, `(..., K, d, d)` each."""
        uu, uv, vv = (
            self.second[..., :, a, :, b, :, :].diagonal(dim1=-4, dim2=-3)
            for a, b in ((0, 0), (0, 1), (1, 1))
        )
        return uu.movedim(-1, -3), uv.movedim(-1, -3), vv.movedim(-1, -3)


def covariance(m: NotionMoments) -> Tensor:
    r"""Covariance of all statistics of all groups, `(..., K, d, K, d)`.

    .. math::
        \mathrm{Cov}(\gamma_k, \gamma_l) = \sum_i \psi_{ik} \psi_{il}
    """
    residual = residual_products(m.second, m.gamma)
    den = m.groups.den
    return residual / (den[..., None, None] * den[..., None, None, :, :])


def standard_error(m: NotionMoments) -> Tensor:
    """Standard errors, the root of the covariance's diagonal, `(..., K, d)`."""
    uu, uv, vv = (x.diagonal(dim1=-2, dim2=-1) for x in m.own)
    gamma = m.gamma
    variance = (uu - 2 * gamma * uv + gamma.square() * vv).clamp_min(0)
    return variance.sqrt() / m.groups.den.abs()


def effective_rows(m: NotionMoments) -> Tensor:
    r"""Effective number of counted rows, `(..., K, d)`: :math:`D^2 / \sum v^2`.

    It is the group's size for a positive rate and its number of positives for a true
    positive rate; less if weights or scores vary. A ratio of two counts,
    :math:`u v = 0`, counts the rows of both.
    """
    uu, uv, vv = (x.diagonal(dim1=-2, dim2=-1) for x in m.own)
    num, den = m.groups
    on_both = (m.has(0, 2) & ~m.is_share)[..., None]
    whole = torch.where(on_both, num + den, den)
    squares = torch.where(on_both, uu + 2 * uv + vv, vv)
    return whole.square() / squares


def enough_rows(m: NotionMoments, min_size: float) -> Tensor:
    """Whether a group and everybody have enough effective rows, `(..., K, d_s)`.

    A few rows with huge weights make the overall value, with which groups are compared,
    as uncertain as these rows are. With equal weights everybody has the most rows.
    """
    enough = effective_rows(m) >= min_size * (1 - ROUNDING)
    return enough[..., 1:] & enough[..., :1]


def residual_products(second: Tensor, gamma: Tensor) -> Tensor:
    r"""Sum :math:`S_k S_l (u - \gamma_k v) (u' - \gamma_l v')`: `(..., K, d, K, d)`."""

    def block(a: int, b: int) -> Tensor:
        return second[..., :, a, :, b, :, :].transpose(-3, -2)  # K, d, K, d

    left = gamma[..., None, None]
    right = gamma[..., None, None, :, :]
    return (
        block(0, 0)
        - right * block(0, 1)
        - left * block(1, 0)
        + left * right * block(1, 1)
    )


def add_moments(one: NotionMoments, other: NotionMoments) -> NotionMoments:
    """Merge the sums of two sets of rows."""
    excess = torch.maximum(one.excess, other.excess)
    return NotionMoments(one.first + other.first, one.second + other.second, excess)


def block_covariance(m: NotionMoments) -> Tensor:
    """Covariance of each statistic's groups, `(..., K, d, d)`; 0 if not estimable."""
    cov = covariance(m).diagonal(dim1=-4, dim2=-2).movedim(-1, -3)
    known = m.estimable
    return cov.masked_fill(~(known[..., None] & known[..., None, :]), 0)


def raise_diagonal(cov: Tensor, floor: Tensor) -> Tensor:
    """Replace variances below the floor, `(..., d)`, by the floor."""
    own = cov.diagonal(dim1=-2, dim2=-1)
    more = (torch.maximum(own, floor) - own).nan_to_num(nan=0.0, posinf=0.0)
    return cov + torch.diag_embed(more)
