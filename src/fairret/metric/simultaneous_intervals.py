r"""Simultaneous intervals of violations, differences and ratios between groups.

A gap is a contrast of two groups, one of which may be everybody, on a scale on which
it is nearly normal: :math:`\log \gamma` for violations and ratios, :math:`\gamma` for
differences. Variances are those of the delta method at the observed statistics. All
functions accept any number of leading dimensions, and treat the K statistics of a
stack one by one.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from fairret.metric.delta_method import (
    NotionMoments,
    block_covariance,
    effective_rows,
    raise_diagonal,
    standard_error,
)
from fairret.metric.max_t import (
    max_t,
    normal_quantile,
    one_sided_quantile,
    sidak_quantile,
)
from fairret.metric.relative import relative_covariance, relative_deviation
from fairret.metric.variance_floor import group_floor, relative_floor

Upper: TypeAlias = Literal["two-sided", "one-sided", "simultaneous"]
MANY_PAIRS = 2000  # of groups that are compared with each other


class Bounds(NamedTuple):
    """A gap and its confidence interval in the population."""

    estimate: Tensor
    low: Tensor
    high: Tensor


class Intervals(NamedTuple):
    """Gaps with simultaneous intervals, and the largest gap."""

    each: Bounds  # (..., K, m)
    largest: Bounds  # (..., K); NaN if no group is judged


class Scale(NamedTuple):
    """The statistics of all groups, everybody first, on a nearly normal scale."""

    x: Tensor  # (..., K, d)
    covariance: Tensor  # (..., K, d, d)
    at_zero: Tensor  # (..., K, d): groups with N = 0, whose logarithm is -inf
    rows: Tensor  # (..., K, d): effective rows
    floor: Tensor | None = None  # (..., K, d): of the variance of x_k - x_0


def violation_intervals(
    m: NotionMoments, judged: Tensor, confidence: float, upper: Upper = "two-sided"
) -> Intervals:
    r"""Bound every :math:`v_k = |\gamma_k / \bar\gamma - 1|`, and the largest.

    The log-ratio :math:`\lambda_k = \log (\gamma_k / \bar\gamma)` has the interval
    :math:`\lambda_k \pm c\,\mathrm{se}_k`, so
    :math:`\gamma_k / \bar\gamma - 1 \in \exp(\lambda_k \pm c\,\mathrm{se}_k) - 1`.
    Where :math:`\bar\gamma` may be 0, as without any event, a ratio to it has no upper
    bound.

    Args:
        m: The sums.
        judged: Which groups have enough rows, `(..., K, d_s)`. All groups get an
            interval; the judged ones count for the largest violation.
        confidence: Simultaneous coverage of the intervals of the judged groups, and
            coverage of [L, U] for the largest violation.
        upper: Quantile of U, the upper bound of the largest violation. The normal one,
            "two-sided" if [L, U] has the stated coverage, "one-sided" if U alone has
            it; or the max-t quantile, "simultaneous", for a rule fitted on these rows.
    """
    groups = torch.arange(1, judged.shape[-1] + 1)
    pairs = groups, torch.zeros_like(groups)
    positive = has_logarithm(m)
    logs = _intervals(log_scale(m), pairs, judged, confidence, upper, torch.expm1)
    if positive.all():
        return logs
    plain = _intervals(_relative_scale(m), pairs, judged, confidence, upper)
    may_be_zero = _overall_may_be_zero(m, confidence)
    plain = Intervals(
        _unbounded(plain.each, may_be_zero[..., None] & m.estimable[..., 1:]),
        _unbounded(plain.largest, may_be_zero & judged.any(-1)),
    )
    return Intervals(
        _where(positive[..., None], logs.each, plain.each),
        _where(positive, logs.largest, plain.largest),
    )


def difference_intervals(
    m: NotionMoments,
    traits: Sequence[Sequence[int]],
    judged: Tensor,
    confidence: float,
    upper: Upper = "two-sided",
) -> Intervals:
    r"""Bound :math:`|\gamma_k - \gamma_l|` within traits, and the largest.

    That of two shares is at most 1.
    """
    left, right = pairs_within(traits)
    both = judged[..., left] & judged[..., right]
    _, floor = group_floor(m)
    gamma = m.gamma.masked_fill(~m.estimable, 0)
    cov = raise_diagonal(block_covariance(m), floor)
    scale = Scale(gamma, cov, torch.zeros_like(m.estimable), effective_rows(m))
    found = _intervals(scale, (left + 1, right + 1), both, confidence, upper)
    most = torch.where(m.is_share, 1.0, torch.inf).to(gamma)
    return Intervals(
        _at_most(found.each, most[..., None]), _at_most(found.largest, most)
    )


def ratio_intervals(
    m: NotionMoments,
    traits: Sequence[Sequence[int]],
    judged: Tensor,
    confidence: float,
    upper: Upper = "two-sided",
) -> Intervals:
    r"""Bound :math:`|\log (\gamma_k / \gamma_l)|` within traits, and the largest."""
    left, right = pairs_within(traits)
    both = judged[..., left] & judged[..., right] & has_logarithm(m)[..., None]
    scale = log_scale(m)._replace(floor=None)
    return _intervals(scale, (left + 1, right + 1), both, confidence, upper)


def pairs_within(traits: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """List the pairs of groups of the same trait, `(m,)` each, without repeats."""
    found = dict.fromkeys(
        (first, second)
        for own in traits
        for place, first in enumerate(own)
        for second in own[place + 1 :]
    )
    pairs = torch.tensor(list(found), dtype=torch.long).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def has_logarithm(m: NotionMoments) -> Tensor:
    """Whether the statistics are positive, `(..., K)`."""
    positive: Tensor = m.has(0, 2) & (m.gamma[..., 0] > 0)
    return positive


def _overall_may_be_zero(m: NotionMoments, confidence: float) -> Tensor:
    r"""Whether the interval of :math:`\bar\gamma` contains 0, `(..., K)`."""
    half = normal_quantile(confidence) * standard_error(m)[..., 0]
    contains: Tensor = m.gamma[..., 0].abs() <= half
    return contains


def log_scale(m: NotionMoments) -> Scale:
    r""":math:`\log \gamma`; a group with N = 0 gets half a row."""
    gamma = m.gamma.masked_fill(~m.estimable, 0)
    shrunk, floor = group_floor(m)
    positive = m.estimable & (gamma > 0)
    n = effective_rows(m)
    gamma = torch.where(positive, gamma, 0.5 / n)
    unit = gamma.masked_fill(~positive, torch.inf)
    cov = block_covariance(m) / unit[..., None] / unit[..., None, :]
    cov = raise_diagonal(cov, (floor / shrunk.square()).nan_to_num(nan=0.0))
    at_zero = m.estimable & ~positive
    return Scale(gamma.log(), cov, at_zero, n, relative_floor(m, log=True))


def _relative_scale(m: NotionMoments) -> Scale:
    r""":math:`\gamma / \bar\gamma - 1`, which is exactly 0 for everybody."""
    r = F.pad(relative_deviation(m), (1, 0))
    cov = F.pad(relative_covariance(m), (1, 0, 1, 0))
    _, floor = group_floor(m)
    size = m.gamma[..., :1].square().nan_to_num()
    cov = raise_diagonal(cov, floor / size.masked_fill(size == 0, 1))
    nowhere = torch.zeros_like(r, dtype=torch.bool)
    return Scale(r, cov, nowhere, effective_rows(m), relative_floor(m, log=False))


class Contrasts(NamedTuple):
    """Differences :math:`x_k - x_l` of m pairs of groups."""

    scale: Scale
    left: Tensor  # (m,)
    right: Tensor  # (m,)

    @property
    def difference(self) -> Tensor:
        """The estimates, `(..., K, m)`, finite also for groups with N = 0."""
        return self.scale.x[..., self.left] - self.scale.x[..., self.right]

    @property
    def standard_error(self) -> Tensor:
        """With the pseudo-counts of :mod:`fairret.metric.variance_floor`."""
        cov = self.scale.covariance
        own = cov.diagonal(dim1=-2, dim2=-1)
        variance = own[..., self.left] + own[..., self.right]
        variance = variance - 2 * cov[..., self.left, self.right]
        if self.scale.floor is not None:
            variance = torch.maximum(variance, self.scale.floor[..., self.left])
        return variance.clamp_min(0).sqrt()

    def ends(self, c: Tensor | float) -> tuple[Tensor, Tensor]:
        r"""Both ends of the intervals :math:`x_k - x_l \pm c\,\mathrm{se}`.

        If no event occurs in n rows, the upper end of a rate is
        :math:`-\log(\alpha) / n`.
        """
        x, difference, se = self.scale.x, self.difference, self.standard_error
        c = torch.as_tensor(c, dtype=x.dtype)
        alpha = torch.special.erfc(c / 2**0.5)
        most = (-alpha.log() / self.scale.rows).log()
        lowest = self.scale.at_zero[..., self.left]
        highest = self.scale.at_zero[..., self.right]
        low, high = difference - c * se, difference + c * se
        low = low.where(~highest, x[..., self.left] - most[..., self.right])
        high = high.where(~lowest, most[..., self.left] - x[..., self.right])
        low, high = (
            low.masked_fill(lowest, -torch.inf),
            high.masked_fill(highest, torch.inf),
        )
        return low, high

    def quantile(self, included: Tensor, confidence: float) -> Tensor:
        """The max-t quantile of the included contrasts, `(..., K, 1)`; NaN if none."""
        x, count = self.scale.x, len(self.left)
        size = included.sum(-1, keepdim=True).to(x)
        # Of one contrast, Šidák's is exact; of many, correlation would gain little.
        if count > MANY_PAIRS or not bool((size > 1).any()):
            return sidak_quantile(size, confidence).masked_fill(size == 0, torch.nan)
        rows = torch.zeros((count, x.shape[-1])).to(x)
        at = torch.arange(count)
        rows[at, self.left], rows[at, self.right] = 1.0, -1.0
        rows = rows * included.to(x)[..., None]
        return max_t(self.scale.covariance, rows).quantile(confidence)[..., None]


def _intervals(
    scale: Scale,
    pairs: tuple[Tensor, Tensor],
    judged: Tensor,
    confidence: float,
    upper: Upper,
    transform: Callable[[Tensor], Tensor] = lambda x: x,
) -> Intervals:
    r"""Bound :math:`|b(x_k - x_l)|` for pairs of groups and a monotone b.

    The upper bound of the largest gap needs no correction for many groups: it fails
    only if that of the group with the largest true gap fails. The lower bound does, but
    only for groups that may have the largest gap.
    """
    contrasts = Contrasts(scale, *pairs)
    z = normal_quantile(confidence)

    def bounds(c: Tensor | float) -> tuple[Tensor, Tensor]:
        a, b = map(transform, contrasts.ends(c))
        return torch.maximum(a, -b).clamp_min(0), torch.maximum(a.abs(), b.abs())

    def largest(values: Tensor, among: Tensor) -> Tensor:
        found = values.masked_fill(~among, -torch.inf)
        found = F.pad(found, (0, 1), value=-torch.inf).amax(-1)
        return found.masked_fill(~judged.any(-1), torch.nan)

    lowest, highest = (scale.at_zero[..., side] for side in pairs)
    exact = contrasts.difference.masked_fill(lowest, -torch.inf)
    exact = exact.masked_fill(highest, torch.inf)
    exact = exact.masked_fill(lowest & highest, 0)  # 0 / 0 is parity
    estimate = transform(exact).abs()
    c = contrasts.quantile(judged, confidence)
    low, high = bounds(c.nan_to_num(nan=z))
    may_be_largest = judged & (high >= largest(low, judged)[..., None])
    sharper = low
    if not torch.equal(may_be_largest, judged):
        c_ = contrasts.quantile(may_be_largest, confidence)
        sharper, _ = bounds(c_.nan_to_num(nan=z))
    most = high
    if upper != "simultaneous":
        _, most = bounds(z if upper == "two-sided" else one_sided_quantile(confidence))
    return Intervals(
        Bounds(estimate, low, high),
        Bounds(
            largest(estimate, judged),
            largest(sharper, may_be_largest),
            largest(most, judged),
        ),
    )


def _where(mask: Tensor, one: Bounds, other: Bounds) -> Bounds:
    return Bounds(*(torch.where(mask, a, b) for a, b in zip(one, other, strict=True)))


def _at_most(bounds: Bounds, most: Tensor) -> Bounds:
    return bounds._replace(high=torch.minimum(bounds.high, most))


def _unbounded(bounds: Bounds, where: Tensor) -> Bounds:
    return bounds._replace(high=bounds.high.masked_fill(where, torch.inf))
