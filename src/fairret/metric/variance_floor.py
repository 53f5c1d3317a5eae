r"""Lower bounds of variances from pseudo-counts (Agresti and Coull).

Without them, a group in which all rows are alike would have variance 0. A share gets
the variance of a share with one more row of either kind. Scores vary less, and get a
single row's worth of that. All functions accept any number of leading dimensions.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.metric.delta_method import NotionMoments, effective_rows

PSEUDO_ROWS = 2.0


class _Shares(NamedTuple):
    p: Tensor  # (..., K, d); for FN / FP the share of both
    n: Tensor  # effective rows
    overall: Tensor  # (..., K, 1); 1/2 if all rows are alike
    shrunk: Tensor  # p with two more rows of the overall share
    known: Tensor  # whether a group has a share


def _shares(m: NotionMoments) -> _Shares:
    num, whole = m.as_share
    p = (num / whole).nan_to_num(nan=0.0)
    n = effective_rows(m).nan_to_num(nan=0.0)
    overall = p[..., :1].masked_fill((p[..., :1] == 0) | (p[..., :1] == 1), 0.5)
    shrunk = (n * p + PSEUDO_ROWS * overall) / (n + PSEUDO_ROWS)
    known = (m.is_share | m.is_ratio)[..., None] & m.estimable
    return _Shares(p, n, overall, shrunk, known)


def group_floor(m: NotionMoments) -> tuple[Tensor, Tensor]:
    """Shrunk statistics, and lower bounds of their variances, `(..., K, d)` each.

    The statistic is 1 and the bound 0 if the statistic is not a share or a ratio.
    """
    p, n, _, shrunk, known = _shares(m)
    ratio = m.is_ratio[..., None]
    statistic = torch.where(ratio, shrunk / (1 - shrunk), shrunk)
    slope = torch.where(ratio, (1 - shrunk).pow(-2), 1.0)
    floor = _binomial_variance(m, n * p, n) * slope.square()
    floor = floor.masked_fill(~known, 0).nan_to_num(nan=0.0)
    floor[..., 0] = 0  # everybody has many rows
    return statistic.masked_fill(~known, 1), floor


def relative_floor(m: NotionMoments, *, log: bool) -> Tensor:
    r"""Lower bound of the variance of :math:`\gamma_k / \bar\gamma`, `(..., K, d)`.

    As :math:`\bar\gamma = d \gamma_k + (1 - d) \gamma_r`, it follows from the variances
    of the group and of the other rows. So a group of nearly everybody is as uncertain
    as the few rows outside of it.

    Args:
        m: The sums.
        log: Whether to bound the variance of the logarithm.
    """
    p, n, p_bar, shrunk, known = _shares(m)
    _, whole = m.as_share
    d = (whole / whole[..., :1]).nan_to_num(nan=0.0)
    known = known & m.has(3)[..., None] & (p[..., :1] > 0) & (p[..., :1] < 1)
    rest = (n[..., :1] - n).clamp_min(0)
    positive = (n[..., :1] * p[..., :1] - n * p).clamp_min(0)
    r = shrunk / p_bar
    slope, slope_rest = (1 - d * r) / p_bar, r * (1 - d) / p_bar
    if log:
        slope, slope_rest = slope / r, slope_rest / r
    at_parity = (1 - d) / (p_bar * (1 - p_bar))  # of odds
    slope, slope_rest = (
        torch.where(m.is_ratio[..., None], at_parity, x) for x in (slope, slope_rest)
    )
    own, other = _binomial_variance(m, n * p, n), _binomial_variance(m, positive, rest)
    floor = slope.square() * own + slope_rest.square() * other
    return floor.masked_fill(~known, 0).nan_to_num(nan=0.0, posinf=0.0)


def _binomial_variance(m: NotionMoments, count: Tensor, n: Tensor) -> Tensor:
    """Variance of a share of n rows, with one more row of either kind."""
    p = (count + PSEUDO_ROWS / 2) / (n + PSEUDO_ROWS)
    binomial = (p * (1 - p)).clamp_min(0)
    decisions = m.has(3)[..., None]
    return binomial / torch.where(decisions, n + PSEUDO_ROWS, n * (n + 1))
