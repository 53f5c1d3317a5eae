r"""The paired test: does a notion differ between two models on the same rows?

Both relative deviations :math:`r_k = \gamma_k / \bar\gamma - 1` depend on the same
people, so they are compared row by row. All functions accept any number of leading
dimensions, and treat the K statistics of a stack one by one.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.metric.delta_method import (
    ROUNDING,
    NotionMoments,
    covariance,
    effective_rows,
)
from fairret.metric.max_t import max_t, normal_quantile
from fairret.metric.parity_test import VARIANCE_ROUNDING
from fairret.metric.relative import relative_deviation, relative_jacobian


class PairedTest(NamedTuple):
    """The change from one model to the other, `(..., K, d_s)` each."""

    before: Tensor  # r of the first model
    after: Tensor
    low: Tensor  # simultaneous interval of after - before
    high: Tensor
    z: Tensor  # after - before in standard errors
    p_value: Tensor  # adjusted for the number of groups
    judged: Tensor  # groups with enough rows in both models
    beyond: Tensor  # groups whose change is not explained by chance


def paired_test(
    before: NotionMoments,
    after: NotionMoments,
    cross: Tensor,
    confidence: float,
    min_size: float,
) -> PairedTest:
    r"""Test whether the relative deviations differ between two models.

    With :math:`\delta_k = r_k^{after} - r_k^{before}` and its variance by the delta
    method, paired by rows, a change is beyond chance if
    :math:`|\delta_k| / \mathrm{se}_k` exceeds the max-t quantile.

    Args:
        before: The sums of the first model.
        after: Those of the second.
        cross: Sums of products of both, `(..., K, 2, K, 2, d, d)`, the first model's
            statistics coming first.
        confidence: Probability that no group is beyond chance if nothing changed.
        min_size: Rows that must count in both models for a group to be judged.
    """
    both = before, after
    variance, exists = _variance(before, after, cross)
    r = [relative_deviation(m) for m in both]
    counted = torch.minimum(*(effective_rows(m)[..., 1:] for m in both))
    known = [m.estimable & (m.gamma[..., :1] != 0) for m in both]
    estimable = known[0] & known[1]
    estimable = estimable[..., 1:] & estimable[..., :1]
    enough = estimable & (counted >= min_size * (1 - ROUNDING))
    judged = (enough & exists).to(variance)
    matrix = variance.nan_to_num() * judged[..., None] * judged[..., None, :]
    distribution = max_t(matrix)
    critical = distribution.quantile(confidence)[..., None]
    sd = variance.diagonal(dim1=-2, dim2=-1).clamp_min(0).sqrt()
    delta = r[1] - r[0]
    delta = delta.masked_fill(delta.abs() <= ROUNDING, 0)
    z = (delta / sd.masked_fill(~exists, torch.inf)).masked_fill(~enough, torch.nan)
    half = critical.nan_to_num(nan=normal_quantile(confidence)) * sd
    # models that agree in every row have no variance, and no change
    p = distribution.tail(z.abs()).masked_fill(~exists & enough, 1.0)
    low, high = delta - half, delta + half
    return PairedTest(
        r[0].masked_fill(~estimable, torch.nan),
        r[1].masked_fill(~estimable, torch.nan),
        low.masked_fill(~estimable, torch.nan),
        high.masked_fill(~estimable, torch.nan),
        z,
        p.masked_fill(~enough, torch.nan),
        enough,
        enough & exists & (z.abs() > critical),
    )


def _variance(
    before: NotionMoments, after: NotionMoments, cross: Tensor
) -> tuple[Tensor, Tensor]:
    r"""Covariance of :math:`\delta`, `(..., K, d_s, d_s)`, and where it is not 0."""
    cov = covariance(_stack_models(before.apart, after.apart, cross))
    jacobian = torch.stack([relative_jacobian(m) for m in (before, after)], -3)
    cov = torch.einsum("...mij,...mjnk,...nlk->...minl", jacobian, cov, jacobian)
    one, two = cov[..., 0, :, 0, :], cov[..., 1, :, 1, :]
    both = cov[..., 0, :, 1, :]
    variance = one + two - both - both.mT
    own, size = (x.diagonal(dim1=-2, dim2=-1) for x in (variance, one + two))
    return variance, own > VARIANCE_ROUNDING * size


def _stack_models(
    before: NotionMoments, after: NotionMoments, cross: Tensor
) -> NotionMoments:
    """Stack two models' single statistics, `(..., 1, ...)` each."""
    own = cross.diagonal(dim1=-6, dim2=-4).movedim(-1, -5)  # with itself
    own = own[..., None, :, None, :, :, :]
    top = torch.cat((before.second, own), -4)
    bottom = torch.cat((own.movedim((-6, -5), (-4, -3)).mT, after.second), -4)
    return NotionMoments(
        torch.cat((before.first, after.first), -3),
        torch.cat((top, bottom), -6),
        torch.cat((before.excess, after.excess), -1),
    )
