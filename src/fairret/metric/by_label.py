r"""The same sums, faster, for statistics that depend on the label alone.

With labels 0 and 1, the coefficients of Def. 2 take two values each. The sums of all
statistics then follow from those of 1, h and h² in each of the two classes, however
many statistics there are. Rows that share their groups may be added up beforehand.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.checks import Inputs
from fairret.metric.moments import (
    Moments,
    product_pairs,
    row_excess,
    step_size,
    sum_over_pairs,
    with_everybody,
)
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import Coefficients, summands

POWERS = 3  # of h: 1, h and h²


class Cells(NamedTuple):
    """Rows, or cells of rows that share their groups, apart by class and power of h."""

    first: Tensor  # (2, c, 3, n): sums of w h^p over each cell's rows of each class
    second: Tensor  # (2, c, 3, n): sums of w² h^p
    rows: Tensor  # (n,): how many rows a cell stands for


def applies(batch: Inputs, notions: Sequence[LinearFractionalStatistic]) -> bool:
    """Tell whether nothing but a label of 0 or 1 matters, where a look is free."""
    if not all(notion.asks_for <= {"label"} for notion in notions):
        return False
    if not batch.named.keys() <= {"feat", "label"}:
        return False  # among them what nobody asks for: the general way refuses it
    if batch.pred.device.type != "cpu":
        return False
    label = batch.named.get("label")
    return not isinstance(label, Tensor) or bool((label * (1 - label) == 0).all())


def moments_by_label(
    batch: Inputs,
    notions: Sequence[LinearFractionalStatistic],
    channels: Sequence[Tensor],
) -> Moments:
    """Sum a batch up, as `moments_of` does."""
    assert batch.sens is not None  # check_batch requires it
    label = batch.named.get("label")
    label = label if isinstance(label, Tensor) else torch.zeros_like(batch.pred)
    w = torch.ones_like(batch.pred) if batch.weight is None else batch.weight
    columns = torch.stack((label, w, *channels))
    step = step_size(batch.sens.shape[1] + 1, 6 * len(channels))
    some, s = torch.split(columns, step, -1), torch.split(batch.sens, step)
    total: Cells | None = None
    for x, s_ in zip(some, s, strict=True):
        part = _sum_up(_cells(x[0], x[1], x[2:]), s_)
        total = part if total is None else Cells(*map(torch.add, total, part))
    assert total is not None  # a batch has rows
    lines = _lines(batch.pred, notions, "label" in batch.named)
    points = torch.stack([_points(h, label) for h in channels])
    return _moments(lines, total, notions, points)


def moments_of_cells(
    cells: Cells,
    s: Tensor,
    notions: Sequence[LinearFractionalStatistic],
    points: Tensor,
    *,
    labelled: bool,
) -> Moments:
    """Sum cells up.

    Args:
        cells: The cells; without labels, all rows are of class 0.
        s: Their memberships, `(n, d_s)`.
        notions: The statistics.
        points: Scores of the rows in each channel and class, the lowest, the one
            nearest to 1/2 and the highest: `(c, 2, 3)`, NaN for a class without rows.
        labelled: Whether there are labels.
    """
    lines = _lines(cells.first, notions, labelled)
    return _moments(lines, _sum_up(cells, s), notions, points)


def _cells(label: Tensor, w: Tensor, channels: Tensor) -> Cells:
    """Make every row a cell."""
    powers = torch.stack((torch.ones_like(channels), channels, channels.square()), 1)
    classes = torch.stack((1 - label, label)) * w
    first = classes[:, None, None] * powers
    return Cells(first, classes[:, None, None] * first, torch.ones_like(w))


def _sum_up(cells: Cells, s: Tensor) -> Cells:
    """Sum over the groups, which take the place of cells, and over pairs of them."""
    s = with_everybody(s, cells.first.dtype)
    return Cells(cells.first @ s.T, sum_over_pairs(cells.second, s), s @ cells.rows)


def _moments(
    lines: Tensor,
    sums: Cells,
    notions: Sequence[LinearFractionalStatistic],
    points: Tensor,
) -> Moments:
    pairs = product_pairs([len(notion.parts) for notion in notions])
    return Moments(
        torch.einsum("yzp,ycpk->czk", lines, sums.first[:, :, :2]),
        torch.einsum("yzp,ycpkl->czkl", _products(lines, pairs), sums.second),
        sums.rows,
        _excess(lines, points),
    )


def _lines(
    like: Tensor, notions: Sequence[LinearFractionalStatistic], labelled: bool
) -> Tensor:
    """Write u and v as lines in h: intercept and slope in each class, `(2, 2 K, 2)`."""
    two = torch.tensor([0.0, 1.0]).to(like)
    classes = Inputs(two, None, None, {"label": two} if labelled else {})
    columns = []
    for notion in notions:
        coef = notion.coefficients(classes)
        at_0, at_1 = (_sides(torch.full_like(two, h), coef) for h in (0.0, 1.0))
        columns.append(torch.stack((at_0, at_1 - at_0), -1))
    return torch.cat(columns).transpose(0, 1)


def _sides(h: Tensor, coef: Coefficients) -> Tensor:
    """Evaluate u_1, v_1, u_2, ... at h in both classes, `(2 K, 2)`."""
    return torch.stack(tuple(summands(h, None, coef)), 1).flatten(0, 1)


def _products(lines: Tensor, pairs: list[tuple[int, int]]) -> Tensor:
    """Multiply out :math:`(a + b h) (a' + b' h)`: coefficients of 1, h, h²."""
    left, right = (lines[:, list(side)] for side in zip(*pairs, strict=True))
    (a, b), (a_, b_) = left.unbind(-1), right.unbind(-1)
    return torch.stack((a * a_, a * b_ + b * a_, b * b_), -1)


def _points(h: Tensor, label: Tensor) -> Tensor:
    """Find the lowest, the middlemost and the highest score of each class, `(2, 3)`."""
    found = []
    for y in (0, 1):
        own = h[label == y]
        own = own if len(own) else h.new_full((1,), torch.nan)
        middle = own[(own - 0.5).abs().argmin()]
        found.append(torch.stack((own.amin(), middle, own.amax())))
    return torch.stack(found)


def _excess(lines: Tensor, points: Tensor) -> Tensor:
    """Look at these scores only: lines have their extremes there, `(c, 4, K)`."""
    a, b = lines.unsqueeze(-1).unbind(-2)  # (2, 2 K, 1) each
    sides = (a + b * points.unsqueeze(-2)).transpose(1, 2).flatten(-2)
    return row_excess(sides).nan_to_num(0.0).amax(-1).clamp_min(0)
