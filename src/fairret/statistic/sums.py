r"""A batch turned into sums (Def. 2), sums into statistics, statistics into violations.

This is the only place where that happens: losses, metrics and projections share it.
"""

from typing import NamedTuple

import torch
from torch import Tensor

LARGEST = 1e12  # violation that still has a gradient
# share of the overall denominator that a group needs, by the dtype of its gradient
LEAST_SHARE = {torch.float64: 1e-120, torch.float32: 1e-24}


class Coefficients(NamedTuple):
    r""":math:`\alpha_0, \beta_0, \alpha_1, \beta_1`, each a number or `(K, n)`."""

    alpha0: Tensor | float
    beta0: Tensor | float
    alpha1: Tensor | float
    beta1: Tensor | float


class Sums(NamedTuple):
    r"""Numerator and denominator of :math:`\gamma`: all that crosses batches."""

    num: Tensor
    den: Tensor


def summands(h: Tensor, w: Tensor | None, coef: Coefficients) -> Sums:
    r"""Evaluate what Def. 2 sums, for every row: `(K, n)`.

    .. math::
        w_i (\alpha_{0,i} + h_i \beta_{0,i}),
        \qquad w_i (\alpha_{1,i} + h_i \beta_{1,i})
    """

    def line(alpha: Tensor | float, beta: Tensor | float) -> Tensor:
        if isinstance(beta, float) and beta in (0, 1):  # spare the product
            value = h if beta else h.new_zeros(()).expand_as(h)
        else:
            value = h * beta
        if not isinstance(alpha, float) or alpha != 0:
            value = alpha + value
        value = value if w is None else w * value
        return value.unsqueeze(0) if value.dim() == 1 else value

    return Sums(line(coef.alpha0, coef.beta0), line(coef.alpha1, coef.beta1))


def over_groups(rows: Sums, s: Tensor) -> Sums:
    r"""Sum over the groups (Def. 2): :math:`N_k, D_k`, `(K, d_s)`.

    Summands have their digits, so that they may be added up in the dtype of s, as
    shares of the largest.
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
    r""":math:`\gamma = N / D`, and NaN with gradient 0 where nobody is counted."""
    empty = sums.den == 0
    gamma = sums.num / sums.den.masked_fill(empty, 1)
    return gamma.masked_fill(empty, torch.nan)


def _as_good_as_zero(dtype: torch.dtype) -> float:
    """A sum whose inverse would leave too little of the range to its gradient."""
    return float(torch.finfo(dtype).tiny ** 0.75)


def comparable(
    den: Tensor, overall_den: Tensor, least: float = LEAST_SHARE[torch.float64]
) -> Tensor:
    """Tell which groups' statistics can be compared with the overall one: `(K, d_s)`.

    Not where a denominator is zero, or a share of the whole so small that the gradient
    of a ratio would overflow: nobody is counted there.
    """
    whole = overall_den.abs().unsqueeze(-1)
    nobody = den.abs() <= (least * whole).clamp_min(_as_good_as_zero(den.dtype))
    counted: Tensor = ~(nobody | (whole == 0))  # NaN stays in, and shows
    return counted


def violation(
    groups: Sums,
    overall: Sums,
    target: Tensor | None = None,
    least: float = LEAST_SHARE[torch.float64],
) -> Tensor:
    r"""Relative distance from parity (Eq. 9), `(K, d_s)`.

    .. math::
        v_k = \left| \frac{\gamma(k; h)}{\bar\gamma(h)} - 1 \right|,
        \qquad v_k = |\gamma(k; h)| \text{ where } \bar\gamma(h) = 0

    A group that cannot be compared has violation 0 and gradient 0, and one beyond 1e12
    has gradient 0, so that the loss fits into float32. A `target`, `(K,)`,
    takes the place of :math:`\bar\gamma`.
    """
    mask = comparable(groups.den, overall.den, least)
    if target is not None:
        overall = Sums(target, torch.ones_like(target))
    num, den = overall.num.unsqueeze(-1), overall.den.unsqueeze(-1)
    at_zero = num.abs() <= _as_good_as_zero(num.dtype)
    # (N_k / N) / (D_k / D) rather than (N_k / D_k) / (N / D): no factor leaves the
    # range of float32 where all scores are close to 0 or 1
    share = groups.den.masked_fill(~mask, 1) / den.masked_fill(at_zero | (den == 0), 1)
    size = groups.num / num.masked_fill(at_zero, 1)
    v: Tensor = (size / share - (~at_zero).to(size)).abs()
    return v.clamp_max(LARGEST).masked_fill(~mask, 0)
