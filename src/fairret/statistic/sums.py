r"""A batch turned into sums (Def. 2), sums into statistics, statistics into violations.

This is the only place where that happens: losses, metrics and projections share it.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Coefficients(NamedTuple):
    r""":math:`\alpha_0, \beta_0, \alpha_1, \beta_1` of K statistics, each `(K, n)`."""

    alpha0: Tensor
    beta0: Tensor
    alpha1: Tensor
    beta1: Tensor


class Sums(NamedTuple):
    r"""Numerator and denominator of :math:`\gamma`: all that crosses batches."""

    num: Tensor
    den: Tensor


def weighted_sums(
    h: Tensor, s: Tensor | None, w: Tensor | None, coef: Coefficients
) -> Sums:
    r"""Sum both halves of :math:`\gamma` over the batch (Def. 2).

    .. math::
        N_k = \sum_i w_i S_{ik} (\alpha_{0,i} + h_i \beta_{0,i}), \qquad
        D_k = \sum_i w_i S_{ik} (\alpha_{1,i} + h_i \beta_{1,i})

    With S this gives the groups, `(K, d_s)`; without it the whole batch, `(K,)`.
    """
    num = coef.alpha0 + h * coef.beta0
    den = coef.alpha1 + h * coef.beta1
    if w is not None:
        num, den = num * w, den * w
    if s is None:
        return Sums(num.sum(-1), den.sum(-1))
    return Sums(num @ s, den @ s)


def ratio(sums: Sums) -> Tensor:
    r""":math:`\gamma = N / D`, and NaN with gradient 0 where nobody is counted."""
    empty = sums.den == 0
    gamma = sums.num / sums.den.masked_fill(empty, 1)
    return gamma.masked_fill(empty, torch.nan)


def comparable(groups: Sums, overall: Sums) -> Tensor:
    """Tell which groups' statistics can be compared with the overall one: `(K, d_s)`.

    Not where a denominator is zero, or so small that the gradient of a ratio would
    overflow: nobody is counted there.
    """
    tiny = torch.finfo(groups.den.dtype).tiny
    whole = overall.den.abs().unsqueeze(-1)
    counted: Tensor = (whole > tiny**0.75) & (groups.den.abs() > tiny**0.4 * whole)
    return counted


def violation(groups: Sums, overall: Sums, target: Tensor | None = None) -> Tensor:
    r"""Relative distance from parity (Eq. 5), `(K, d_s)`.

    .. math::
        v_k = \left| \frac{\gamma(k; h)}{\bar\gamma(h)} - 1 \right|,
        \qquad v_k = |\gamma(k; h)| \text{ where } \bar\gamma(h) = 0

    A group that cannot be compared has violation 0 and gradient 0. A `target`, `(K,)`,
    takes the place of :math:`\bar\gamma`.
    """
    mask = comparable(groups, overall)
    if target is not None:
        overall = Sums(target, torch.ones_like(target))
    num, den = overall.num.unsqueeze(-1), overall.den.unsqueeze(-1)
    at_zero = num.abs() <= torch.finfo(num.dtype).tiny ** 0.75
    # (N_k / N) / (D_k / D) rather than (N_k / D_k) / (N / D): no factor leaves the
    # range of float32 where all scores are close to 0 or 1
    share = groups.den.masked_fill(~mask, 1) / den.masked_fill(at_zero | (den == 0), 1)
    size = groups.num / num.masked_fill(at_zero, 1)
    v: Tensor = (size / share - (~at_zero).to(size)).abs()
    return v.masked_fill(~mask, 0)
