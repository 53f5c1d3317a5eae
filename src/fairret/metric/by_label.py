r"""The same moments, faster, for statistics that depend on a binary label alone.

With labels 0 and 1, the coefficients of Def. 2 take two values each. The moments of
all statistics then follow from the sums of 1, h and h² in each class. Rows that share
their groups may be summed beforehand, as cells.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.batch import Batch
from fairret.metric.moments import (
    Moments,
    Notions,
    batch_moments,
    interleave,
    product_pairs,
    row_excess,
    split,
    step_size,
    sum_over_pairs,
    with_everybody,
)
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import summands


class Cells(NamedTuple):
    """Rows, or cells of rows that share their groups, by class and power of h."""

    first: Tensor  # (2, c, 3, n): sums of w h^p over each cell's rows of each class
    second: Tensor  # (2, c, 3, n): sums of w² h^p
    rows: Tensor  # (n,): rows per cell
    heaviest: Tensor  # (2,): the largest weight in each class


def sum_batch(batch: Batch, notions: Notions, channels: Sequence[Tensor]) -> Moments:
    """Sum a batch, in the faster way if it applies."""
    fast = applies(batch, notions)
    return (moments_by_label if fast else batch_moments)(batch, notions, channels)


def applies(batch: Batch, notions: Notions) -> bool:
    """Whether the statistics depend on a binary label alone; reads values on CPU."""
    if not all(notion.asks_for <= {"label"} for notion in notions):
        return False
    if not batch.named.keys() <= {"feat", "label"}:
        return False  # the general way raises an error for unknown inputs
    if batch.pred.device.type != "cpu":
        return False
    label = batch.named.get("label")
    return not isinstance(label, Tensor) or bool((label * (1 - label) == 0).all())


def moments_by_label(
    batch: Batch, notions: Notions, channels: Sequence[Tensor]
) -> Moments:
    """Sum a batch, as `batch_moments` does."""
    label = batch.named.get("label")
    label = label if isinstance(label, Tensor) else torch.zeros_like(batch.pred)
    w = torch.ones_like(batch.pred) if batch.weight is None else batch.weight
    columns = torch.stack((label, w, *channels))
    step = step_size(batch.sens.shape[1] + 1, 6 * len(channels))
    total = reduce(
        _add,
        (_sum_groups(_cells(x), s) for x, s in split(step, columns, batch.sens)),
    )
    lines = _lines(batch.pred, notions, "label" in batch.named)
    points = torch.stack([_points(h, label) for h in channels])
    return _moments(lines, total, notions, points)


def cell_moments(
    cells: Cells, s: Tensor, notions: Notions, points: Tensor, *, labelled: bool
) -> Moments:
    """Sum cells.

    Args:
        cells: The cells; without labels, all rows have class 0.
        s: Their memberships, `(n, d_s)`.
        notions: The statistics.
        points: Lowest score, score nearest to 1/2 and highest score per channel and
            class: `(c, 2, 3)`, NaN for a class without rows.
        labelled: Whether there are labels.
    """
    lines = _lines(cells.first, notions, labelled)
    return _moments(lines, _sum_groups(cells, s), notions, points)


def cross_moments(
    products: Tensor, s: Tensor, notion: LinearFractionalStatistic, *, labelled: bool
) -> Tensor:
    r"""Sum products of two models over cells, `(c, K, 2, K, 2, d, d)`.

    With u, v lines in the score of each model, :math:`(a + b h) (a' + b' h')` needs the
    sums of :math:`w^2`, :math:`w^2 h'`, :math:`w^2 h` and :math:`w^2 h h'`.

    Args:
        products: These sums, of each class and channel, `(2, c, 4, n)`.
        s: The cells' memberships, `(n, d_s)`.
        notion: The statistic or stack.
        labelled: Whether there are labels.
    """
    lines = _lines(products, [notion], labelled)  # (2, 2 K, 2)
    pairs = sum_over_pairs(products, with_everybody(s, products.dtype))
    factors = torch.einsum("yzp,yxq->yzxpq", lines, lines).flatten(-2)
    total = torch.einsum("yzxp,ycpkl->czxkl", factors, pairs)
    K = len(notion.parts)
    return total.reshape(len(total), K, 2, K, 2, *total.shape[-2:])


def _cells(columns: Tensor) -> Cells:
    """Make every row a cell; the columns are label, weight and channels."""
    label, w, channels = columns[0], columns[1], columns[2:]
    powers = torch.stack((torch.ones_like(channels), channels, channels.square()), 1)
    classes = torch.stack((1 - label, label)) * w
    first = classes[:, None, None] * powers
    heaviest = classes.amax(-1)
    return Cells(first, classes[:, None, None] * first, torch.ones_like(w), heaviest)


def _add(one: Cells, other: Cells) -> Cells:
    """Merge the sums of two sets of rows."""
    first, second, rows = map(torch.add, one[:3], other[:3])
    return Cells(first, second, rows, torch.maximum(one.heaviest, other.heaviest))


def _sum_groups(cells: Cells, s: Tensor) -> Cells:
    """Sum over groups, which become the cells, and over pairs of groups."""
    s = with_everybody(s, cells.first.dtype)
    pairs = sum_over_pairs(cells.second, s)
    return Cells(cells.first @ s.T, pairs, s @ cells.rows, cells.heaviest)


def _moments(lines: Tensor, sums: Cells, notions: Notions, points: Tensor) -> Moments:
    pairs = product_pairs([len(notion.parts) for notion in notions])
    return Moments(
        torch.einsum("yzp,ycpk->czk", lines, sums.first[:, :, :2]),
        torch.einsum("yzp,ycpkl->czkl", _products(lines, pairs), sums.second),
        sums.rows,
        _decided(sums),
        _excess(lines, points, sums.heaviest),
    )


def _lines(like: Tensor, notions: Notions, labelled: bool) -> Tensor:
    """Intercept and slope of u and v in h, for each class: `(2, 2 K, 2)`."""
    two = torch.tensor([0.0, 1.0]).to(like)
    classes = Batch(two, two[:, None], None, {"label": two} if labelled else {})
    columns = []
    for notion in notions:
        coef = notion.coefficients(classes)
        ends = two.new_zeros(2), two.new_ones(2)  # h = 0 and h = 1
        at_0, at_1 = (interleave(summands(h, None, coef)) for h in ends)
        columns.append(torch.stack((at_0, at_1 - at_0), -1))
    return torch.cat(columns).transpose(0, 1)


def _products(lines: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """Multiply out :math:`(a + b h) (a' + b' h)`: coefficients of 1, h, h²."""
    left, right = (lines[:, list(side)] for side in zip(*pairs, strict=True))
    (a, b), (a_, b_) = left.unbind(-1), right.unbind(-1)
    return torch.stack((a * a_, a * b_ + b * a_, b * b_), -1)


def _points(h: Tensor, label: Tensor) -> Tensor:
    """Find the lowest, the middle and the highest score of each class, `(2, 3)`."""
    found = []
    for y in (0, 1):
        own = h[label == y]
        own = own if len(own) else h.new_full((1,), torch.nan)
        middle = own[(own - 0.5).abs().argmin()]
        found.append(torch.stack((own.amin(), middle, own.amax())))
    return torch.stack(found)


def _decided(sums: Cells) -> Tensor:
    """Sums of w h, w and w y over everybody, `(c, 3)`."""
    everybody = sums.first[..., 0]  # (2, c, 3)
    weight = everybody[:, :, 0]
    return torch.stack((everybody[:, :, 1].sum(0), weight.sum(0), weight[1]), -1)


def _excess(lines: Tensor, points: Tensor, heaviest: Tensor) -> Tensor:
    """Evaluate `row_excess` at the extreme scores, `(c, 5, K)`."""
    a, b = lines.unsqueeze(-1).unbind(-2)  # (2, 2 K, 1) each
    sides = (a + b * points.unsqueeze(-2)).transpose(1, 2).flatten(-2)
    every = row_excess(sides).nan_to_num(0.0)
    found = every.reshape(*every.shape[:-1], 2, -1).amax(-1)
    # too large if weights differ within a class: then not all count alike
    found[:, -1] *= heaviest
    excess: Tensor = found.amax(-1).clamp_min(0)
    return excess
