r"""The null hypothesis of parity: its covariance, Wald's test and the noise floor.

All functions accept any number of leading dimensions.
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.metric.delta_method import ROUNDING, NotionMoments, residual_products
from fairret.metric.max_t import Spectrum, correlation_spectrum

# a variance is a difference of sums, so it has half of their digits
VARIANCE_ROUNDING = 1e-12
DRAWS = 10_000  # of the noise floor


class Deviation(NamedTuple):
    r"""The deviation from parity, and its distribution under parity.

    It is a deviation of sums, :math:`g_k = N_k - \bar\gamma D_k`. The violation is a
    multiple of it: :math:`\pm v_k = g_k / (\bar\gamma D_k)`.
    """

    g: Tensor  # (..., K, d_s)
    covariance: Tensor  # (..., K, d_s, K, d_s)
    pooled: Tensor  # (..., K, d_s): variances if all counted rows had the same one
    scale: Tensor  # (..., K, d_s): of violations, 1 / |gamma_bar D_k|
    estimable: Tensor  # (..., K, d_s)

    @property
    def spectrum(self) -> Spectrum:
        """Decompose the correlation of the estimable groups of all statistics."""
        cov, size = self.covariance, self.g.shape[-1] * self.g.shape[-2]
        matrix = cov.reshape(*cov.shape[:-4], size, size)
        return correlation_spectrum(matrix, self.estimable.flatten(-2))


def deviation(m: NotionMoments) -> Deviation:
    r"""Compare each group with everybody, with the covariance under parity.

    With :math:`\rho_i = u_i - \bar\gamma v_i` and :math:`d_k = D_k / D`,

    .. math::
        \mathrm{Cov}(g_k, g_l) = \sum_i \rho_i^2 (S_{ik} - d_k) (S_{il} - d_l).

    If all counted rows have the same weight, a fair model has one variance for all
    groups: :math:`\rho_i^2` is then replaced by its mean over the counted rows.
    Otherwise a group of ten without a positive would have variance 0. Unequal weights
    may depend on the decision, so they rule out pooling. Deviations and variances
    within rounding error are set to 0.
    """
    num, den = m.groups
    gamma_bar = m.gamma[..., :1].nan_to_num()  # NaN if nothing is estimable
    rho = residual_products(m.second, gamma_bar.expand_as(den))
    share = den / den[..., :1].masked_fill(den[..., :1] == 0, 1)
    across = rho * (1 - torch.eye(den.shape[-2]).to(rho)[:, None, :, None])
    unrelated = (across == 0).flatten(-4).all(-1)  # else blocks would not fit together
    alike = (m.counts_alike.all(-1) & unrelated)[..., None, None, None, None]
    pooled = _centre(_pooled_products(m, rho), share)
    cov = torch.where(alike, pooled, _centre(rho, share))
    uu, _, vv = (x.diagonal(dim1=-2, dim2=-1) for x in m.own)
    size = uu + gamma_bar.square() * vv
    size = size[..., 1:] + share[..., 1:].square() * size[..., :1]
    exists = (_variances(cov) > VARIANCE_ROUNDING * size).to(cov)
    cov = cov * exists[..., None, None] * exists[..., None, None, :, :]
    g, expected = num - gamma_bar * den, gamma_bar * den
    g = g.masked_fill(g.abs() <= ROUNDING * (num.abs() + expected.abs()), 0)
    unit = gamma_bar.masked_fill(gamma_bar == 0, 1) * den  # v_k = |gamma_k| at 0
    estimable = (m.estimable & m.estimable[..., :1])[..., 1:]
    scale = 1 / unit.abs()[..., 1:].masked_fill(~estimable, 1)
    return Deviation(g[..., 1:], cov, _variances(pooled), scale, estimable)


class ParityTest(NamedTuple):
    """Wald test that all groups have the overall statistic."""

    statistic: Tensor
    df: Tensor
    p_value: Tensor


def wald_test(d: Deviation) -> ParityTest:
    r"""Test parity: :math:`g^\top \mathrm{Cov}(g)^{+} g \sim \chi^2` with its rank.

    The covariance accounts for overlapping traits and for groups that partition the
    rows. For the decisions on one categorical trait this is Pearson's test.
    """
    values, vectors, sd = d.spectrum
    kept = values > 0
    along = ((d.g.flatten(-2) / sd)[..., None, :] @ vectors)[..., 0, :]
    along = along.masked_fill(~kept, 0)
    chi2 = (along.square() / values.masked_fill(~kept, 1)).sum(-1)
    df = kept.sum(-1)
    p = torch.special.gammaincc(df.clamp_min(1).to(chi2) / 2, chi2 / 2)
    chi2, p = (x.masked_fill(df == 0, torch.nan) for x in (chi2, p))
    return ParityTest(chi2, df, p)


def noise_floor(d: Deviation, confidence: float) -> Tensor:
    """Quantile of a fair model's largest violation, `(...)`.

    The quantile of a maximum of correlated normal variables has no closed form. It is
    estimated from fixed draws.
    """
    spectrum = d.spectrum
    unit = (spectrum.sd * d.scale.flatten(-2)).masked_fill(spectrum.sd.isinf(), 0)
    root = spectrum.root * unit[..., None]
    largest = (_draws(root.shape[-1]).to(root) @ root.mT).abs().amax(-1)
    floor = largest.quantile(confidence, -1)
    return floor.masked_fill(~d.estimable.flatten(-2).any(-1), torch.nan)


@lru_cache(maxsize=8)
def _draws(size: int) -> Tensor:
    """Standard normal vectors, `(DRAWS, size)`."""
    seed = torch.Generator().manual_seed(0)
    return torch.randn(DRAWS, size, generator=seed, dtype=torch.float64)


def _pooled_products(m: NotionMoments, rho: Tensor) -> Tensor:
    """Give every counted row the same variance, `(..., K, d, K, d)`."""
    uu, uv, vv = m.own
    counted = uu - uv + vv  # of u = 0, v = 0 or u = v: the square of the other
    total = counted[..., 0, 0]
    own = rho[..., 0, :, 0].diagonal(dim1=-2, dim2=-1)
    mean = own / total.masked_fill(total == 0, 1)
    blocks = mean[..., None, None] * counted
    return torch.diag_embed(blocks.movedim(-3, -1), dim1=-4, dim2=-2)


def _variances(cov: Tensor) -> Tensor:
    """The diagonal of `(..., K, d, K, d)` as `(..., K, d)`."""
    blocks = cov.diagonal(dim1=-4, dim2=-2)  # ..., d, d, K
    return blocks.diagonal(dim1=-3, dim2=-2)


def _centre(products: Tensor, share: Tensor) -> Tensor:
    r"""Replace :math:`S_k S_l` in sums by :math:`(S_k - d_k) (S_l - d_l)`."""
    left = share[..., 1:][..., None, None]
    right = share[..., 1:][..., None, None, :, :]
    return (
        products[..., :, 1:, :, 1:]
        - left * products[..., :, :1, :, 1:]
        - right * products[..., :, 1:, :, :1]
        + left * right * products[..., :, :1, :, :1]
    )
