r"""Sums over a batch, and statistics from sums (Def. 2, Eq. 3).

Losses, metrics and projections share these functions.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret import device

# least share of the overall denominator, by the dtype of the gradient
LEAST_SHARE = {torch.float64: 1e-120, torch.float32: 1e-24}


class Coefficients(NamedTuple):
    r""":math:`\alpha_0, \beta_0, \alpha_1, \beta_1`, each a number or `(K, n)`."""

    alpha0: Tensor | float
    beta0: Tensor | float
    alpha1: Tensor | float
    beta1: Tensor | float


class Sums(NamedTuple):
    r"""Numerator and denominator of :math:`\gamma`, which add up over batches."""

    num: Tensor
    den: Tensor


def summands(h: Tensor, w: Tensor | None, coef: Coefficients) -> Sums:
    r"""Evaluate the terms of both sums of Def. 2, `(K, n)` each.

    .. math::
        w_i (\alpha_{0,i} + h_i \beta_{0,i}),
        \qquad w_i (\alpha_{1,i} + h_i \beta_{1,i})
    """
    num = _line(coef.alpha0, coef.beta0, h)
    den = _line(coef.alpha1, coef.beta1, h)
    if w is not None:
        num, den = w * num, w * den
    return Sums(*(x.unsqueeze(0) if x.dim() == 1 else x for x in (num, den)))


def _line(alpha: Tensor | float, beta: Tensor | float, h: Tensor) -> Tensor:
    r""":math:`\alpha + h \beta`, without sums and products that change nothing."""
    if isinstance(beta, float) and beta == 0:
        return alpha if isinstance(alpha, Tensor) else torch.full_like(h, alpha)
    value = h if isinstance(beta, float) and beta == 1 else h * beta
    return value if isinstance(alpha, float) and alpha == 0 else alpha + value


def over_groups(rows: Sums, s: Tensor) -> Sums:
    r"""Sum over the groups (Def. 2): :math:`N_k, D_k`, `(K, d_s)`.

    If s has fewer digits than the summands, they are summed in its dtype, as shares of
    the largest.
    """

    def add(side: Tensor) -> Tensor:
        if side.dtype == s.dtype:
            return side @ s
        unit = side.detach().abs().amax(-1, keepdim=True)
        unit = unit.masked_fill(unit == 0, 1)
        return ((side / unit).to(s.dtype) @ s).to(side.dtype) * unit

    return Sums(add(rows.num), add(rows.den))


def over_all(rows: Sums) -> Sums:
    r"""Sum over the whole batch, which is a group with S = 1: `(K,)`."""
    return Sums(rows.num.sum(-1), rows.den.sum(-1))


def ratio(sums: Sums) -> Tensor:
    r""":math:`\gamma = N / D` (Eq. 3), and NaN with gradient 0 where D = 0."""
    empty = sums.den == 0
    gamma = sums.num / sums.den.masked_fill(empty, 1)
    return gamma.masked_fill(empty, torch.nan)


def nearly_zero(dtype: torch.dtype) -> float:
    """The largest sum whose inverse leaves too little range to its gradient."""
    return float(torch.finfo(dtype).tiny ** 0.75)


def comparable(
    den: Tensor, overall_den: Tensor, least: float = LEAST_SHARE[torch.float64]
) -> Tensor:
    """Which groups can be compared with the whole batch, `(K, d_s)`.

    Groups cannot be compared if their denominator is zero, or a share of the overall
    one so small that the gradient of the ratio would overflow.
    """
    whole = overall_den.abs().unsqueeze(-1)
    smallest = (least * whole).clamp_min(nearly_zero(den.dtype))
    counted: Tensor = ~((den.abs() <= smallest) | (whole == 0))  # NaN stays, and shows
    return counted


def find_incomparable(
    den: Tensor, overall_den: Tensor, least: float = LEAST_SHARE[torch.float64]
) -> Tensor | None:
    """Mask the groups that cannot be compared; None if host reads show that all can."""
    if device.reads_are_free(den):
        sizes = [abs(x) for x in overall_den.flatten().tolist()]
        smallest = max(least * max(sizes), nearly_zero(den.dtype))
        if min(sizes) > 0 and den.detach().abs().amin().item() > smallest:
            return None
    return ~comparable(den, overall_den, least)
