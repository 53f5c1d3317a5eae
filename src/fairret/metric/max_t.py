r"""The max-t distribution: the largest of several correlated normal variables.

A normal vector is a length times an independent direction u. Given the direction, the
largest entry exceeds c where the length exceeds c divided by the largest entry of u:

.. math::
    P(\max_k |z_k| \ge c) = E_u\left[ P\left(\chi^2_r \ge c^2 / \max_k |u_k|^2 \right)
    \right].

Only directions are sampled, the same ones every time. The result is exact for a single
contrast, smooth in c, and accurate far into the tail. All functions accept any number
of leading dimensions.
"""

from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import torch
from torch import Tensor

DIRECTIONS = 4096  # measured: tails have a relative error of 0.5 %
BLOCK = 16  # sorted maxima are averaged in blocks: the tail is smooth in them
RANK = 1e-9  # eigenvalues of a correlation below this belong to dependent groups
SMALL_TAIL = 1e-3  # tails below this are taken from Šidák's bound
STEPS = 8  # towards a quantile; the bounds are close, and the tail is smooth
CLOSE = 1e-9  # relative error of the tail at which they end


class Spectrum(NamedTuple):
    """Eigenvalues and eigenvectors of a correlation matrix, and standard deviations."""

    values: Tensor  # (..., d): 0 below `RANK`
    vectors: Tensor  # (..., d, d)
    sd: Tensor  # (..., d): infinite for entries that are left out

    @property
    def root(self) -> Tensor:
        """The symmetric root; eigenvectors of equal eigenvalues depend on rounding."""
        return (self.vectors * self.values.sqrt()[..., None, :]) @ self.vectors.mT


def correlation_spectrum(matrix: Tensor, included: Tensor | None = None) -> Spectrum:
    """Decompose the correlation of a covariance matrix, `(..., d, d)`.

    Args:
        matrix: The covariance; entries with variance 0 are left out.
        included: Which entries to use, `(..., d)`.
    """
    sd = matrix.diagonal(dim1=-2, dim2=-1).clamp_min(0).sqrt()
    sd = sd.masked_fill(sd == 0, torch.inf)
    if included is not None:
        sd = sd.masked_fill(~included, torch.inf)
    # one after the other: the product of two small deviations may underflow
    correlation = (matrix / sd[..., None] / sd[..., None, :]).nan_to_num(nan=0.0)
    values, vectors = torch.linalg.eigh(correlation)
    return Spectrum(values.masked_fill(values <= RANK, 0), vectors, sd)


class MaxT(NamedTuple):
    r"""The distribution of :math:`\max_k |z_k|` for standard normal z."""

    largest: Tensor  # (..., blocks): max_k |u_k|, sorted
    rank: Tensor  # (...): dimensions of u
    size: Tensor  # (...): number of distinct z

    def tail(self, c: Tensor) -> Tensor:
        r"""Compute :math:`P(\max_k |z_k| \ge c)`; NaN if there is no z.

        The result is at most Šidák's bound, and equals it far in the tail, where few
        directions are sampled and correlation hardly matters.

        Args:
            c: `(..., m)`.
        """
        single = torch.special.erfc(c / 2**0.5)
        bound = -torch.expm1(self.size[..., None] * torch.log1p(-single))
        bound = bound.nan_to_num(nan=1.0)  # at c = 0
        half = (self.rank.clamp_min(1).to(c) / 2)[..., None, None]
        x = (c[..., None] / self.largest[..., None, :]).square() / 2
        x = x.nan_to_num(nan=torch.inf, posinf=torch.inf)  # NaN takes 200 times longer
        p = torch.special.gammaincc(half.expand_as(x), x).mean(-1)
        p = torch.minimum(p.clamp_min(SMALL_TAIL), bound)
        return p.masked_fill((self.rank == 0)[..., None] | c.isnan(), torch.nan)

    def quantile(self, confidence: float) -> Tensor:
        r"""Solve :math:`P(\max_k |z_k| \ge c) = 1 -` `confidence` for c, `(...)`."""
        high = sidak_quantile(self.size.to(self.largest), confidence)
        low = torch.full_like(high, normal_quantile(confidence))
        log_alpha = self.largest.new_tensor(1 - confidence).log()

        def excess(c: Tensor) -> Tensor:
            return self.tail(c[..., None])[..., 0].log() - log_alpha

        # false position; an end that stays for a second time counts half (Illinois)
        at_low, at_high = excess(low), excess(high)
        before = torch.zeros_like(high)  # on which side the last step was
        for _ in range(STEPS):
            span = (at_low - at_high).masked_fill(at_low == at_high, 1)
            c = (low + (high - low) * at_low / span).clamp(low, high)
            value = excess(c)
            side = value.sign()
            again = torch.where(side == before, 0.5, 1.0)
            above, before = value > 0, side
            at_low, at_high = (
                torch.where(above, value, at_low * again),
                torch.where(above, at_high * again, value),
            )
            low, high = torch.where(above, c, low), torch.where(above, high, c)
            if not (value.abs() > CLOSE).any():
                break
        quantile: Tensor = c.masked_fill(self.rank == 0, torch.nan)
        return quantile


def max_t(matrix: Tensor, contrasts: Tensor | None = None) -> MaxT:
    r"""Compute the distribution of the largest standardised entry or contrast.

    Args:
        matrix: Covariance, `(..., d, d)`; an entry with variance 0 is left out.
        contrasts: `(..., m, d)`; by default the entries themselves.
    """
    spectrum = correlation_spectrum(matrix)
    root, kept = spectrum.root, spectrum.values > 0
    draws = _normal_draws(matrix.shape[-1]).to(matrix)
    length = ((draws @ spectrum.vectors) * kept[..., None, :]).norm(dim=-1)
    if contrasts is not None:
        scale = spectrum.sd.masked_fill(spectrum.sd.isinf(), 0)
        root = (contrasts * scale[..., None, :]) @ root
    size = root.norm(dim=-1)
    exists = size > RANK**0.5
    unit = root / size.masked_fill(~exists, torch.inf)[..., None]
    entries = [
        (part @ unit.mT).abs().amax(-1) if unit.shape[-2] else part[..., 0] * 0
        for part in torch.split(draws, BLOCK**2)
    ]
    share = torch.cat(entries, -1) / length.masked_fill(length == 0, 1)
    share = share.clamp_max(1).sort(-1).values
    blocks = share.unflatten(-1, (-1, BLOCK)).mean(-1).clamp_min(1e-12)
    if contrasts is None:  # two groups that partition the rows have opposite z
        same = (unit @ unit.mT).abs() > 1 - RANK
        exists = exists & ~same.tril(-1).any(-1)
    return MaxT(blocks, kept.sum(-1), exists.sum(-1))


def sidak_quantile(size: Tensor, confidence: float) -> Tensor:
    r"""Šidák's quantile of the largest of m independent :math:`|z|`.

    .. math:: c = \Phi^{-1}\left(\tfrac{1}{2} + \tfrac{1}{2} (1 - \alpha)^{1/m}\right)

    It is an upper bound for correlated ones.
    """
    alpha = size.new_tensor(confidence - 1)
    each = -torch.expm1(torch.log1p(alpha) / size.clamp_min(1))
    quantile: Tensor = -torch.special.ndtri(each / 2)
    return quantile


def normal_quantile(confidence: float) -> float:
    r"""The two-sided quantile c with :math:`P(|z| \le c) =` `confidence`."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def one_sided_quantile(confidence: float) -> float:
    r"""The one-sided quantile c with :math:`P(z \le c) =` `confidence`."""
    return NormalDist().inv_cdf(confidence)


@lru_cache(maxsize=8)
def _normal_draws(size: int) -> Tensor:
    """Quasi-random standard normal vectors, `(DIRECTIONS, size)`."""
    engine: Any = torch.quasirandom.SobolEngine  # publishes no types
    share: Tensor = engine(size, scramble=True, seed=0).draw(DIRECTIONS).double()
    normal: Tensor = torch.special.ndtri(share.clamp(1e-12, 1 - 1e-12))
    return normal
