r"""A batch turned into the sums that a metric keeps: all of them add up.

Write u and v for the two summands of Def. 2, weights included, and let group 0 be
everybody, :math:`S_{i0} = 1`. First moments give the statistics, second moments their
covariances (delta method); both add up over batches and processes.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.checks import Inputs, full_precision
from fairret.metric.uncertainty import NotionMoments
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import summands

WORKSPACE = 1 << 20  # numbers that a step may hold at a time: what fits into a cache
LEAST_ROWS = 4096  # of a step, for its sums are d² numbers
FEW_GROUPS = 32  # up to here, rows are multiplied out without a look at the zeros
DENSE_IS_FASTER = 20  # times, per pair of groups


class Moments(NamedTuple):
    """Sums over rows, for c channels, K statistics and d = d_s + 1 groups."""

    first: Tensor  # (c, 2 K, d): of u_1, v_1, u_2, v_2, ... in every group
    second: Tensor  # (c, P, d, d): of the products that `product_pairs` lists
    members: Tensor  # (d,): of the memberships
    excess: Tensor  # (c, 4, K): see `row_excess`; a maximum, not a sum


def product_pairs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """List the products of summands to keep: all within a notion, none across.

    Args:
        sizes: How many statistics are stacked in each notion.
    """
    pairs: list[tuple[int, int]] = []
    start = 0
    for size in sizes:
        pairs += combinations_with_replacement(range(start, start + 2 * size), 2)
        start += 2 * size
    return pairs


def no_moments(channels: int, sizes: Sequence[int], d: int) -> Moments:
    """The sums over no rows at all; d = 1 stands for groups that are not known yet."""
    shapes = (
        (channels, 2 * sum(sizes), d),
        (channels, len(product_pairs(sizes)), d, d),
        (d,),
        (channels, 4, sum(sizes)),
    )
    return Moments(*(torch.zeros(shape, dtype=torch.float64) for shape in shapes))


def moments_of(
    batch: Inputs,
    notions: Sequence[LinearFractionalStatistic],
    channels: Sequence[Tensor],
) -> Moments:
    """Sum a batch up.

    Args:
        batch: The checked batch.
        notions: The statistics, each a single one or a stack.
        channels: Scores or decisions in the place of `batch.pred`, `(n,)` each.
    """
    assert batch.sens is not None  # check_batch requires it
    pairs = product_pairs([len(notion.parts) for notion in notions])
    with full_precision(batch.pred.device):
        sides = _sides(batch, notions, channels)
        rows = step_size(batch.sens.shape[1] + 1, len(channels) * len(pairs))
        total: Moments | None = None
        parts = zip(
            torch.split(sides, rows, -1), torch.split(batch.sens, rows), strict=True
        )
        for some, s in parts:
            part = _sum_up(some, s, pairs)
            total = part if total is None else add(total, part)
    assert total is not None  # a batch has rows
    return total


def step_size(d: int, count: int) -> int:
    """How many rows to take at a time: few for the cache, but not too few for sums."""
    return max(WORKSPACE // (d * (count + 1)), LEAST_ROWS)


def add(one: Moments, other: Moments) -> Moments:
    """Join the sums of two sets of rows."""
    return Moments(
        one.first + other.first,
        one.second + other.second,
        one.members + other.members,
        torch.maximum(one.excess, other.excess),
    )


def of_notion(total: Moments, sizes: Sequence[int], j: int) -> NotionMoments:
    """Take the sums of the notion at place j out."""
    pairs = {pair: p for p, pair in enumerate(product_pairs(sizes))}
    start, size = sum(sizes[:j]), sizes[j]
    own = range(2 * start, 2 * (start + size))
    order = [pairs[min(a, b), max(a, b)] for a in own for b in own]
    d = total.members.shape[-1]
    lead = total.first.shape[:-2]
    return NotionMoments(
        total.first[..., own, :].reshape(*lead, size, 2, d),
        total.second[..., order, :, :].reshape(*lead, size, 2, size, 2, d, d),
        total.excess[..., start : start + size],
    )


def _sides(
    batch: Inputs,
    notions: Sequence[LinearFractionalStatistic],
    channels: Sequence[Tensor],
) -> Tensor:
    """Evaluate u and v of every row, `(c, 2 K, n)`; coefficients do not depend on h."""
    asked = frozenset[str]().union(*(notion.asks_for for notion in notions))
    coefs = [notion.coefficients(_for(notion, batch, asked)) for notion in notions]
    out = batch.pred.new_empty(
        (len(channels), 2 * sum(len(notion.parts) for notion in notions), batch.n)
    )
    for channel, h in enumerate(channels):
        start = 0
        for notion, coef in zip(notions, coefs, strict=True):
            u, v = summands(h, batch.weight, coef)
            end = start + 2 * len(notion.parts)
            out[channel, start:end:2] = u
            out[channel, start + 1 : end : 2] = v
            start = end
    return out


def _for(
    notion: LinearFractionalStatistic, batch: Inputs, asked: frozenset[str]
) -> Inputs:
    """Leave out what only other notions ask for; what none does will be refused."""
    others = asked - notion.asks_for
    named = {name: x for name, x in batch.named.items() if name not in others}
    return batch._replace(named=named)


def _sum_up(sides: Tensor, s: Tensor, pairs: list[tuple[int, int]]) -> Moments:
    r"""Sum a few rows up.

    .. math::
        M_{ab,kl} = \sum_i z_{ia} z_{ib} S_{ik} S_{il}
    """
    s = with_everybody(s, sides.dtype)
    left, right = zip(*pairs, strict=True)
    return Moments(
        sides @ s.T,
        sum_over_pairs(sides[:, left] * sides[:, right], s),
        s.sum(-1),
        row_excess(sides).amax(-1).clamp_min_(0),
    )


def with_everybody(s: Tensor, dtype: torch.dtype) -> Tensor:
    """Put the group of everybody before the others, a row a group: `(d, n)`."""
    everybody = torch.ones((1, s.shape[0]), dtype=dtype, device=s.device)
    return torch.cat((everybody, s.T.to(dtype)))


def sum_over_pairs(z: Tensor, s: Tensor) -> Tensor:
    r"""Sum :math:`z_i S_{ik} S_{il}` over the rows, for all pairs of groups.

    Args:
        z: `(..., n)`.
        s: `(d, n)`.

    Returns:
        `(..., d, d)`.
    """
    d, n = s.shape
    some = _pairs_of_members(s) if z.device.type == "cpu" and d > FEW_GROUPS else None
    flat = z.reshape(-1, n)
    total = flat.new_zeros((len(flat), d * d))
    if some is not None:
        row, place, product = some
        total.index_add_(1, place, flat[:, row] * product)
        return total.view(*z.shape[:-1], d, d)
    step = max(1, WORKSPACE // (d * len(flat)))
    for z_, s_ in zip(
        torch.split(flat, step, -1), torch.split(s, step, -1), strict=True
    ):
        weighted = (z_.unsqueeze(1) * s_).flatten(0, 1)
        total += (weighted @ s_.T).view_as(total)
    return total.view(*z.shape[:-1], d, d)


def _pairs_of_members(s: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """List every row's pairs of groups, if these are few: in a hundred, it has some."""
    d, n = s.shape
    row, k = s.T.nonzero(as_tuple=True)
    size = torch.bincount(row, minlength=n)
    if int(size.square().sum()) * DENSE_IS_FASTER > n * d * d:
        return None
    start = size.cumsum(0) - size
    left = torch.arange(len(row)).repeat_interleave(size[row])
    within = torch.arange(len(left)) - (size[row].cumsum(0) - size[row])[left]
    right = start[row[left]] + within
    member = s[k, row]
    return row[left], k[left] * d + k[right], member[left] * member[right]


def row_excess(sides: Tensor) -> Tensor:
    r"""Tell how far the rows are from u >= 0, u <= v, v >= 0 and plain counting.

    A row counts plainly where u = 0, v = 0 or u = v, as all do where decisions and
    labels are 0 or 1: the statistic of a group then determines its variance. For
    precision and its kin, labels of 0 and 1 are enough.

    Returns:
        `(c, 4, K, n)`, not positive where the property holds.
    """
    u, v = sides[:, ::2], sides[:, 1::2]
    plain = torch.minimum(torch.minimum(u.abs(), v.abs()), (u - v).abs())
    return torch.stack((-u, u - v, -v, plain), 1)
