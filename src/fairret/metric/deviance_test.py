r"""The deviance test, for groups with too few expected events for a normal z.

All functions accept any number of leading dimensions.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.metric.delta_method import ROUNDING, NotionMoments

FEW_EXPECTED = 5  # events of the rarer kind, below which z is too skewed
FEW_WEIGHTED = 15  # the same for unequal weights, which add to the skewness
STEPS = 50  # of a bisection between two shares


class DevianceTest(NamedTuple):
    """The signed root of the deviance and its acceptance region, `(..., K, d_s)`."""

    applies: Tensor  # groups in which few events of one kind are expected
    root: Tensor  # replaces |z|
    low: Tensor  # statistics within chance, from here
    high: Tensor  # to here


def deviance_test(m: NotionMoments, counted: Tensor, critical: Tensor) -> DevianceTest:
    r"""Compare each group with the other rows by the deviance.

    With a share p of the group's n rows and a share q of the m other rows,
    :math:`2 n\,\mathrm{KL}(p \| \bar p) + 2 m\,\mathrm{KL}(q \| \bar p)` is
    :math:`\chi^2_1` under parity. With weights, n and m are limited by the effective
    number of rows of the rarer kind.

    Args:
        m: The sums.
        counted: Effective rows of everybody and of each group, `(..., K, d)`.
        critical: Critical value of the root, `(..., K)`.
    """
    num, whole = m.as_share
    p = num / whole.masked_fill(whole == 0, 1)
    p_bar, p = p[..., :1], p[..., 1:]
    d = whole[..., 1:] / whole[..., :1].masked_fill(whole[..., :1] == 0, 1)
    rarer = torch.minimum(p_bar, 1 - p_bar)
    rows = _rarer_events(m)[..., None] / rarer  # of everybody
    n = torch.minimum(d * rows, counted[..., 1:])
    rest = torch.minimum((1 - d) * rows, counted[..., :1] - counted[..., 1:])
    expected = torch.minimum(n, rest) * rarer
    few = torch.where(m.counts_alike[..., None], FEW_EXPECTED, FEW_WEIGHTED)
    plain = (m.has(3) & (m.is_share | m.is_ratio))[..., None]
    applies = plain & (expected < few) & (expected > 0) & (d < 1)
    if not applies.any():
        return DevianceTest(applies, *(torch.zeros_like(p) for _ in range(3)))

    def deviance(p: Tensor) -> Tensor:
        q = ((p_bar - d * p) / (1 - d)).clamp(0, 1)
        return 2 * (n * _kl(p, p_bar) + rest * _kl(q, p_bar))

    def limit(end: Tensor) -> Tensor:
        share = _solve(deviance, critical[..., None].square(), p_bar, end.clamp(0, 1))
        return torch.where(m.is_ratio[..., None], share / (1 - share), share)

    root = deviance(p).clamp_min(0).sqrt()
    low, high = limit((p_bar - (1 - d)) / d), limit(p_bar / d)
    return DevianceTest(applies, root, low, high)


def _rarer_events(m: NotionMoments) -> Tensor:
    """Effective number of rows of the rarer kind among everybody, `(..., K)`."""
    uu, uv, vv = (x[..., 0, 0] for x in m.own)
    num, den = (x[..., 0] for x in m.groups)
    other = torch.where(m.is_ratio, den, den - num)
    others = torch.where(m.is_ratio, vv, uu - 2 * uv + vv)

    def effective(total: Tensor, squares: Tensor) -> Tensor:
        none = squares <= ROUNDING * (uu + vv)
        return (total.square() / squares.masked_fill(none, 1)).masked_fill(none, 0)

    return torch.minimum(effective(num, uu), effective(other, others))


def _kl(p: Tensor, q: Tensor) -> Tensor:
    """Kullback-Leibler divergence of two Bernoulli distributions."""
    return torch.xlogy(p, p / q) + torch.xlogy(1 - p, (1 - p) / (1 - q))


def _solve(
    deviance: Callable[[Tensor], Tensor], target: Tensor, start: Tensor, end: Tensor
) -> Tensor:
    """Find the share between start and end with this deviance, or the end."""
    inside, outside = start.expand_as(end), end
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        below = deviance(middle) <= target
        inside = torch.where(below, middle, inside)
        outside = torch.where(below, outside, middle)
    return inside
