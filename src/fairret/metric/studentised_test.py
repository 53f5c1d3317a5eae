r"""Studentised tests of parity: each group is compared with its own standard error.

Never compare the largest violation with the largest one expected by chance. The rarest
group sets that limit, so a handful of people would hide the gaps of all others.
All functions accept any number of leading dimensions.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.metric.delta_method import (
    ROUNDING,
    NotionMoments,
    effective_rows,
    enough_rows,
)
from fairret.metric.deviance_test import deviance_test
from fairret.metric.max_t import max_t, normal_quantile
from fairret.metric.parity_test import Deviation, deviation

MIN_SIZE = 30.0  # rows that must count for a group to be judged
PRIOR_ROWS = 30  # without them fair models with skewed scores fail in up to 35 %
DETECTABLE = 0.2  # the gap for which the required rows are computed
POWER = 0.8416  # normal quantile: with these rows it is found in 80 % of tables


class StudentisedTest(NamedTuple):
    """The test of every group of every statistic, `(..., K, d_s)` each."""

    z: Tensor  # deviation from parity in standard errors
    critical: Tensor  # (..., K): the max-t quantile
    p_value: Tensor  # adjusted: P(max |z| >= |z_k|) for a fair model
    judged: Tensor  # groups with enough counted rows
    low: Tensor  # the statistics that are within chance, from here
    high: Tensor  # to here
    needed: Tensor  # counted rows at which a gap of 20 % would be found

    @property
    def beyond(self) -> Tensor:
        """Which groups deviate from parity by more than chance explains."""
        return self.judged & (self.z.abs() > self.critical[..., None])


def studentised_test(
    m: NotionMoments, confidence: float, min_size: float
) -> StudentisedTest:
    r"""Test every group, with one error probability for all groups of a statistic.

    With :math:`z_k = g_k / \mathrm{sd}_k`, a group is beyond chance if :math:`|z_k|`
    exceeds the quantile of :math:`\max_k |z_k|` under the correlation of the judged
    groups at parity. Each statistic of a stack is tested as if alone, so a stack is
    beyond chance exactly if one of its parts is.

    Args:
        m: The sums.
        confidence: Probability that a fair model has no group beyond chance.
        min_size: Rows that must count for a group to be judged.
    """
    d = deviation(m.apart)
    cov = d.covariance[..., 0, :, 0, :]
    g, scale, estimable = (x[..., 0, :] for x in (d.g, d.scale, d.estimable))
    counted, own_counted = effective_rows(m), effective_rows(m)[..., 1:]
    sd = _variance(m, d, counted).sqrt()
    # zero variance means that no two rows differ: parity, unless the group is everybody
    alike = (sd == 0) & ~(own_counted >= counted[..., :1] * (1 - ROUNDING))
    judged = estimable & enough_rows(m, min_size) & ((sd > 0) | alike)
    mask = judged.to(sd)
    distribution = max_t(cov * mask[..., None] * mask[..., None, :])
    critical = distribution.quantile(confidence)
    deviance = deviance_test(m, counted, critical)
    z = g / sd.masked_fill(sd == 0, torch.inf)
    smaller = z.sign() * torch.minimum(z.abs(), deviance.root)
    z = torch.where(deviance.applies, smaller, z)
    half = critical[..., None] * sd / m.groups.den[..., 1:].abs()
    half = half.masked_fill(sd == 0, 0)
    gamma_bar = m.gamma[..., :1]
    same = gamma_bar.where(sd > 0, m.gamma[..., 1:])  # up to rounding
    low = torch.minimum(gamma_bar, same) - half
    high = torch.maximum(gamma_bar, same) + half
    low = torch.where(deviance.applies, torch.minimum(low, deviance.low), low)
    high = torch.where(deviance.applies, torch.maximum(high, deviance.high), high)
    limit = critical.nan_to_num(nan=normal_quantile(confidence))[..., None]
    needed = own_counted * ((limit + POWER) * (sd * scale / DETECTABLE)).square()
    p = distribution.tail(z.abs()).masked_fill(sd == 0, 1)
    z, p, low, high = (x.masked_fill(~judged, torch.nan) for x in (z, p, low, high))
    needed = needed.masked_fill(~estimable | (sd == 0), torch.nan)
    return StudentisedTest(z, critical, p, judged, low, high, needed)


def _variance(m: NotionMoments, d: Deviation, counted: Tensor) -> Tensor:
    """Variance of g, `(..., K, d_s)`, shrunk upwards to the pooled one for few rows.

    The variance of a skewed group is too small exactly where its mean is, so small
    groups would be beyond chance too often. A variance below the pooled one is averaged
    with it, as if :data:`PRIOR_ROWS` more rows had the pooled one.
    """
    own = d.covariance[..., 0, :, 0, :].diagonal(dim1=-2, dim2=-1).clamp_min(0)
    pooled = d.pooled[..., 0, :]
    den = m.groups.den
    share = den[..., 1:] / den[..., :1].masked_fill(den[..., :1] == 0, 1)
    # a group that is nearly everybody is as uncertain as the few other rows
    n = counted[..., 1:] * (1 - share).clamp_min(0)
    mixed = (n * own + PRIOR_ROWS * pooled) / (n + PRIOR_ROWS)
    return torch.where((own > 0) & (own < pooled), mixed, own)


def can_compare(judged: Sequence[bool], traits: Iterable[Sequence[int]]) -> bool:
    """Whether two groups of a trait are judged, or all groups that a trait has.

    If the others are too few, a group of nearly everybody is compared with itself.
    """
    found = [(sum(judged[k] for k in own), len(own)) for own in traits]
    return any(count > 1 or count == groups for count, groups in found)
