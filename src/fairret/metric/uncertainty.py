r"""What sums know about chance: standard errors, intervals, a test, a noise floor.

A statistic is a ratio of sums, so that a row moves it by
:math:`\psi_{ik} = S_{ik} (u_i - \gamma_k v_i) / D_k` (delta method). Covariances are
sums of products of these, and follow from the second moments. Nothing is resampled.
All functions take any number of leading dimensions.
"""

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.statistic.sums import Sums, comparable, ratio

ROUNDING = 1e-9  # of a property that holds for every row
DRAWS = 10_000
RANK = 1e-9  # eigenvalues of a correlation below this are those of dependent groups


class NotionMoments(NamedTuple):
    """The sums of one notion: K statistics, d groups of which the first is everybody.

    u and v come one after the other: index 0 and 1 of the dimensions of size 2.
    """

    first: Tensor  # (..., K, 2, d)
    second: Tensor  # (..., K, 2, K, 2, d, d)
    excess: Tensor  # (..., 4, K)

    @property
    def groups(self) -> Sums:
        """Numerators and denominators, `(..., K, d)`."""
        return Sums(self.first[..., 0, :], self.first[..., 1, :])

    @property
    def gamma(self) -> Tensor:
        """The statistics, `(..., K, d)`; NaN where nobody is counted."""
        return ratio(self.groups)

    @property
    def estimable(self) -> Tensor:
        """Which groups, everybody among them, have a statistic, `(..., K, d)`."""
        den = self.groups.den
        return comparable(den, den[..., 0])

    def has(self, *properties: int) -> Tensor:
        """Tell whether properties of `row_excess` hold for all rows, `(..., K)`."""
        return (self.excess[..., properties, :] <= ROUNDING).all(-2)

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
    residual = _residual_products(m.second, m.gamma)
    den = m.groups.den
    return residual / (den[..., None, None] * den[..., None, None, :, :])


def standard_error(m: NotionMoments) -> Tensor:
    """Standard error of every statistic, `(..., K, d)`: the root of the diagonal."""
    uu, uv, vv = (x.diagonal(dim1=-2, dim2=-1) for x in m.own)
    gamma = m.gamma
    variance = (uu - 2 * gamma * uv + gamma.square() * vv).clamp_min(0)
    return variance.sqrt() / m.groups.den.abs()


def rows_that_count(m: NotionMoments) -> Tensor:
    r"""On how many rows every statistic rests, `(..., K, d)`: :math:`D^2 / \sum v^2`.

    That is the size of a group for a positive rate, the number of positives for a true
    positive rate; less where weights or scores differ much. A ratio of two counts,
    :math:`u v = 0`, rests on both.
    """
    uu, uv, vv = (x.diagonal(dim1=-2, dim2=-1) for x in m.own)
    num, den = m.groups
    on_both = (m.has(0, 2) & ~m.has(0, 1))[..., None]
    whole = torch.where(on_both, num + den, den)
    squares = torch.where(on_both, uu + 2 * uv + vv, vv)
    return whole.square() / squares


def interval(m: NotionMoments, confidence: float) -> tuple[Tensor, Tensor]:
    r"""Confidence interval of every statistic, `(..., K, d)` each.

    Where :math:`0 \le u \le v` the statistic is a share p, and its interval is
    Wilson's for :math:`p (1 - p) / \mathrm{se}^2` rows: for plain decisions, as many as
    are counted. A ratio of two such sums is the share :math:`N / (N + D)` of both. Any
    other statistic has :math:`\gamma \pm z\,\mathrm{se}`. The variance gets one row's
    worth of the largest that is possible, for five equal scores do not prove that all
    scores are.
    """
    z = _quantile(confidence)
    gamma, se, rows = m.gamma, standard_error(m), rows_that_count(m)
    plain = z * se * (rows / (rows - 1).clamp_min(0)).sqrt()
    low, high = gamma - plain, gamma + plain

    num, den = m.groups
    is_ratio = m.has(0, 2)[..., None]
    a, b = _wilson(num / (num + den), se / (1 + gamma).square(), rows, z)
    low = torch.where(is_ratio, a / (1 - a), low)
    high = torch.where(is_ratio, b / (1 - b), high)

    is_share = m.has(0, 1)[..., None]
    a, b = _wilson(gamma, se, rows, z)
    low, high = torch.where(is_share, a, low), torch.where(is_share, b, high)
    return torch.minimum(low, gamma), torch.maximum(high, gamma)  # up to rounding


def _wilson(p: Tensor, se: Tensor, rows: Tensor, z: float) -> tuple[Tensor, Tensor]:
    """Wilson's interval of a share that was measured on so many rows."""
    binomial = p * (1 - p)
    variance = (rows * se.square() + binomial / rows) / (rows + 1)
    n = torch.where(binomial > 0, binomial / variance, rows)
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * (binomial / n + z**2 / (4 * n**2)).sqrt() / (1 + z**2 / n)
    return (centre - half).clamp_min(0), (centre + half).clamp_max(1)


class Departure(NamedTuple):
    r"""Distance from parity, and what chance alone would make of it.

    The distance is that of sums, :math:`g_k = N_k - \bar\gamma D_k`, of which the
    violation is a multiple: :math:`\pm v_k = g_k / (\bar\gamma D_k)`.
    """

    g: Tensor  # (..., K, d_s)
    covariance: Tensor  # (..., K, d_s, K, d_s)
    scale: Tensor  # (..., K, d_s): of violations, 1 / |gamma_bar D_k|
    estimable: Tensor  # (..., K, d_s)


def departure(m: NotionMoments) -> Departure:
    r"""Compare the groups with everybody, with the covariance at parity.

    With :math:`\rho_i = u_i - \bar\gamma v_i` and :math:`d_k = D_k / D`,

    .. math::
        \mathrm{Cov}(g_k, g_l) = \sum_i \rho_i^2 (S_{ik} - d_k) (S_{il} - d_l).

    Where all rows count plainly, a fair model has one variance for all groups:
    :math:`\rho_i^2` is then replaced by its mean over the rows that count. Without
    that, a group of ten without a single positive would be infinitely surprising.
    """
    num, den = m.groups
    gamma_bar = m.gamma[..., :1].nan_to_num()  # nobody is counted: nothing estimable
    rho = _residual_products(m.second, gamma_bar.expand_as(den))
    uu, uv, vv = m.own
    counted = uu - uv + vv  # of u = 0, v = 0 or u = v: the square of the other
    at_zero = counted[..., 0, 0] == 0
    mean = _own_blocks(rho)[..., 0, 0] / counted[..., 0, 0].masked_fill(at_zero, 1)
    pooled = _block_diagonal(mean[..., None, None] * counted)
    across = rho * (1 - torch.eye(den.shape[-2]).to(rho)[:, None, :, None])
    unrelated = (across == 0).flatten(-4).all(-1)  # else blocks would not fit together
    plain = (m.has(3).all(-1) & unrelated)[..., None, None, None, None]
    share = den / den[..., :1].masked_fill(den[..., :1] == 0, 1)
    cov = _centre(torch.where(plain, pooled, rho), share)
    g = num - gamma_bar * den
    unit = gamma_bar.masked_fill(gamma_bar == 0, 1) * den  # v_k = |gamma_k| at 0
    estimable = m.estimable & m.estimable[..., :1]
    return Departure(
        g[..., 1:],
        cov,
        1 / unit.abs()[..., 1:].masked_fill(~estimable[..., 1:], 1),
        estimable[..., 1:],
    )


class ParityTest(NamedTuple):
    """Wald test that all groups have the overall statistic."""

    statistic: Tensor
    df: Tensor
    p_value: Tensor


def wald_test(departure: Departure) -> ParityTest:
    r"""Test parity: :math:`g^\top \mathrm{Cov}(g)^{+} g` is :math:`\chi^2` of its rank.

    Overlapping traits and groups that add up to everybody are in the covariance. For
    the decisions on one categorical trait this is Pearson's test.
    """
    values, vectors, sd = _spectrum(departure)
    kept = values > RANK
    along = ((departure.g.flatten(-2) / sd)[..., None, :] @ vectors)[..., 0, :]
    along = along.masked_fill(~kept, 0)
    chi2 = (along.square() / values.masked_fill(~kept, 1)).sum(-1)
    df = kept.sum(-1)
    p = torch.special.gammaincc(df.clamp_min(1).to(chi2) / 2, chi2 / 2)
    return ParityTest(
        chi2.masked_fill(df == 0, torch.nan), df, p.masked_fill(df == 0, torch.nan)
    )


def group_noise_floor(departure: Departure, confidence: float) -> Tensor:
    """The violation that a fair model stays below, for each group: `(..., K, d_s)`."""
    floor = _quantile(confidence) * _deviation(departure) * departure.scale
    return floor.masked_fill(~departure.estimable, torch.nan)


def noise_floor(departure: Departure, confidence: float) -> Tensor:
    """The largest violation of all groups that a fair model stays below: `(...)`.

    The quantile of a maximum of correlated normal numbers has no closed form; it is
    read off draws from the covariance, the same draws every time.
    """
    values, vectors, sd = _spectrum(departure)
    # the symmetric root: eigenvectors of equal eigenvalues may turn with the rounding
    values = values.masked_fill(values <= RANK, 0)
    root = (vectors * values.sqrt()[..., None, :]) @ vectors.mT
    unit = (sd * departure.scale.flatten(-2)).masked_fill(sd.isinf(), 0)
    root = root * unit[..., None]
    largest = (_draws(root.shape[-1]).to(root) @ root.mT).abs().amax(-1)
    floor = largest.quantile(confidence, -1)
    nothing = ~departure.estimable.flatten(-2).any(-1)
    return floor.masked_fill(nothing, torch.nan)


@lru_cache(maxsize=8)
def _draws(size: int) -> Tensor:
    """Draw standard normal vectors, `(DRAWS, size)`."""
    seed = torch.Generator().manual_seed(0)
    return torch.randn(DRAWS, size, generator=seed, dtype=torch.float64)


def _spectrum(departure: Departure) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues and -vectors of the correlation, and standard deviations.

    A deviation of infinity takes groups out that have none or cannot be compared.
    """
    sd = _deviation(departure).flatten(-2)
    sd = sd.masked_fill((sd == 0) | ~departure.estimable.flatten(-2), torch.inf)
    cov = departure.covariance
    matrix = cov.reshape(*cov.shape[:-4], sd.shape[-1], sd.shape[-1])
    # one after the other: the product of two small deviations may be no float
    matrix = (matrix / sd[..., None] / sd[..., None, :]).nan_to_num(nan=0.0)
    values, vectors = torch.linalg.eigh(matrix)
    return values, vectors, sd


def _deviation(departure: Departure) -> Tensor:
    """Standard deviation of g at parity, `(..., K, d_s)`."""
    own = _own_blocks(departure.covariance)
    return own.diagonal(dim1=-2, dim2=-1).clamp_min(0).sqrt()


def _own_blocks(rows: Tensor) -> Tensor:
    """Take `(..., K, d, d)` off the diagonal of `(..., K, d, K, d)`."""
    return rows.diagonal(dim1=-4, dim2=-2).movedim(-1, -3)


def _residual_products(second: Tensor, gamma: Tensor) -> Tensor:
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


def _block_diagonal(blocks: Tensor) -> Tensor:
    """Set `(..., K, d, d)` on the diagonal of `(..., K, d, K, d)`."""
    return torch.diag_embed(blocks.movedim(-3, -1), dim1=-4, dim2=-2)


def _centre(rows: Tensor, share: Tensor) -> Tensor:
    r"""From sums with :math:`S_k S_l` to those with their distances from the shares."""
    left = share[..., 1:][..., None, None]
    right = share[..., 1:][..., None, None, :, :]
    return (
        rows[..., :, 1:, :, 1:]
        - left * rows[..., :, :1, :, 1:]
        - right * rows[..., :, 1:, :, :1]
        + left * right * rows[..., :, :1, :, :1]
    )


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)
