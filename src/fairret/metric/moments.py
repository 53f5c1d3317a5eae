r"""The moments that a metric keeps: sums over rows, batches and processes.

Write u and v for the two summands of Def. 2, weights included, and let group 0 be
everybody, :math:`S_{i0} = 1`. First moments give the statistics, second moments their
covariances (delta method). Both are additive.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations_with_replacement
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from fairret.batch import Batch
from fairret.device import full_precision
from fairret.metric.delta_method import NotionMoments
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import Sums, summands

Notions: TypeAlias = Sequence[LinearFractionalStatistic]  # single ones or stacks
WORKSPACE = 1 << 20  # numbers per step, so that they fit into the cache
LEAST_ROWS = 4096  # per step, because its sums are d² numbers
FEW_GROUPS = 32  # up to here, dense products ignore the zeros of `sens`
DENSE_IS_FASTER = 20  # times, per pair of groups


class Moments(NamedTuple):
    """Sums over rows, for c channels, K statistics and d = d_s + 1 groups."""

    first: Tensor  # (c, 2 K, d): of u_1, v_1, u_2, v_2, ... in every group
    second: Tensor  # (c, P, d, d): of the products that `product_pairs` lists
    members: Tensor  # (d,): of the memberships
    decided: Tensor  # (c, 3): of w h, w and w y, y = 0 where there is no label
    excess: Tensor  # (c, 5, K): see `row_excess`; a maximum, not a sum


def product_pairs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """List the products of summands to keep: all within a notion, none across.

    Args:
        sizes: Number of stacked statistics per notion.
    """
    pairs: list[tuple[int, int]] = []
    start = 0
    for size in sizes:
        pairs += combinations_with_replacement(range(start, start + 2 * size), 2)
        start += 2 * size
    return pairs


def no_moments(channels: int, sizes: Sequence[int], d: int) -> Moments:
    """The sums over no rows; d = 1 if the groups are not known yet."""
    shapes = (
        (channels, 2 * sum(sizes), d),
        (channels, len(product_pairs(sizes)), d, d),
        (d,),
        (channels, 3),
        (channels, 5, sum(sizes)),
    )
    return Moments(*(torch.zeros(shape, dtype=torch.float64) for shape in shapes))


def batch_moments(
    batch: Batch, notions: Notions, channels: Sequence[Tensor]
) -> Moments:
    """Sum a batch.

    Args:
        batch: The checked batch.
        notions: The statistics, each a single one or a stack.
        channels: Scores or decisions that replace `batch.pred`, `(n,)` each.
    """
    pairs = product_pairs([len(notion.parts) for notion in notions])
    with full_precision(batch.pred.device):
        sides = _sides(batch, notions, channels)
        step = step_size(batch.sens.shape[1] + 1, len(channels) * len(pairs))
        total = reduce(
            add, (_sum_rows(z, s, pairs) for z, s in split(step, sides, batch.sens))
        )
    return total._replace(decided=_decided(batch, channels))


def split(step: int, z: Tensor, s: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Split `(..., n)` and `(n, d_s)` into steps of rows."""
    return zip(torch.split(z, step, -1), torch.split(s, step), strict=True)


def _decided(batch: Batch, channels: Sequence[Tensor]) -> Tensor:
    """Sum w h, w and w y, which reveal a constant decision, `(c, 3)`."""
    w = torch.ones_like(batch.pred) if batch.weight is None else batch.weight
    label = batch.named.get("label")
    positives = w @ label.to(w) if isinstance(label, Tensor) else w.new_zeros(())
    return torch.stack([torch.stack((w @ h, w.sum(), positives)) for h in channels])


def step_size(d: int, count: int) -> int:
    """Rows per step: few enough for the cache, but not too few for the sums."""
    return max(WORKSPACE // (d * (count + 1)), LEAST_ROWS)


def add(one: Moments, other: Moments) -> Moments:
    """Merge the sums of two sets of rows."""
    first, second, members, decided = map(torch.add, one[:4], other[:4])
    excess = torch.maximum(one.excess, other.excess)
    return Moments(first, second, members, decided, excess)


def select_notion(total: Moments, sizes: Sequence[int], j: int) -> NotionMoments:
    """Select the sums of notion j."""
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


def _sides(batch: Batch, notions: Notions, channels: Sequence[Tensor]) -> Tensor:
    """Evaluate u and v of every row, `(c, 2 K, n)`; coefficients do not depend on h."""
    asked = frozenset[str]().union(*(notion.asks_for for notion in notions))
    coefs = []
    for notion in notions:  # inputs that no notion asks for raise an error
        others = asked - notion.asks_for
        named = {name: x for name, x in batch.named.items() if name not in others}
        coefs.append(notion.coefficients(batch._replace(named=named)))
    rows = [
        torch.cat([interleave(summands(h, batch.weight, coef)) for coef in coefs])
        for h in channels
    ]
    return rows[0].unsqueeze(0) if len(rows) == 1 else torch.stack(rows)


def interleave(rows: Sums) -> Tensor:
    """Order the summands as u_1, v_1, u_2, v_2, ...: `(2 K, n)`."""
    return torch.stack(tuple(rows), 1).flatten(0, 1)


def _sum_rows(sides: Tensor, s: Tensor, pairs: list[tuple[int, int]]) -> Moments:
    r"""Sum some rows.

    .. math::
        M_{ab,kl} = \sum_i z_{ia} z_{ib} S_{ik} S_{il}
    """
    s = with_everybody(s, sides.dtype)
    left, right = zip(*pairs, strict=True)
    return Moments(
        sides @ s.T,
        sum_over_pairs(sides[:, left] * sides[:, right], s),
        s.sum(-1),
        sides.new_zeros((len(sides), 3)),  # of the whole batch, see `batch_moments`
        row_excess(sides).amax(-1).clamp_min_(0),
    )


def with_everybody(s: Tensor, dtype: torch.dtype) -> Tensor:
    """Prepend the group of everybody, one row per group: `(d, n)`."""
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
    sparse = _pairs_of_members(s) if z.device.type == "cpu" and d > FEW_GROUPS else None
    flat = z.reshape(-1, n)
    total = flat.new_zeros((len(flat), d * d))
    if sparse is not None:
        row, place, product = sparse
        total.index_add_(1, place, flat[:, row] * product)
        return total.view(*z.shape[:-1], d, d)
    step = max(1, WORKSPACE // (d * len(flat)))
    for z_, s_ in split(step, flat, s.T):
        weighted = (z_.unsqueeze(1) * s_.T).flatten(0, 1)
        total += (weighted @ s_).view_as(total)
    return total.view(*z.shape[:-1], d, d)


def _pairs_of_members(s: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """List each row's pairs of groups; None if dense products are faster."""
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
    r"""By how much rows violate u >= 0, u <= v, v >= 0 and plain counting.

    A row counts plainly if u = 0, v = 0 or u = v, as for decisions and labels of 0 and
    1. The last number is the row's weight, the larger of |u| and |v|: if it is the same
    for all counted rows, the statistic of a group determines its variance.

    Returns:
        `(c, 5, K, n)`; the first four are not positive where the property holds.
    """
    u, v = sides[:, ::2], sides[:, 1::2]
    plain = torch.minimum(torch.minimum(u.abs(), v.abs()), (u - v).abs())
    counts_as = torch.maximum(u.abs(), v.abs())
    return torch.stack((-u, u - v, -v, plain, counts_as), 1)
