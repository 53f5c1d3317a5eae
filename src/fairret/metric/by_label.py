r"""The same sums, faster, for statistics that depend on the label alone.

With labels 0 and 1, the coefficients of Def. 2 take two values each. The sums of all
statistics then follow from those of 1, h and h² in each of the two classes, however
many statistics there are.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from fairret.checks import Inputs
from fairret.metric.moments import (
    WORKSPACE,
    Moments,
    product_pairs,
    row_excess,
    with_everybody,
)
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import Coefficients, summands

POWERS = 3  # of h: 1, h and h²


def applies(batch: Inputs, notions: Sequence[LinearFractionalStatistic]) -> bool:
    """Tell whether nothing but a label of 0 or 1 matters."""
    label = batch.named.get("label")
    needs_label_only = all(notion.asks_for <= {"label"} for notion in notions)
    if not needs_label_only or (label is None and batch.named):
        return False
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
    one = torch.ones_like(batch.pred)
    w = one if batch.weight is None else batch.weight
    powers = torch.stack([x for h in channels for x in (one, h, h * h)])
    classes = torch.stack((1 - label, label)) * w
    d = batch.sens.shape[1] + 1
    first = powers.new_zeros((2, len(powers), d))
    second = powers.new_zeros((2, len(powers), d, d))
    count = powers.new_zeros(d)
    step = max(1, WORKSPACE // (d * (2 * len(powers) + 1)))
    for h_, y_, s_ in zip(
        torch.split(powers, step, -1),
        torch.split(classes, step, -1),
        torch.split(batch.sens, step),
        strict=True,
    ):
        s = with_everybody(s_, h_.dtype)
        rows = (y_.unsqueeze(1) * h_).flatten(0, 1)
        first += (rows @ s.T).view_as(first)
        squares = (rows.view(2, -1, rows.shape[-1]) * y_.unsqueeze(1)).flatten(0, 1)
        weighted = (squares.unsqueeze(1) * s).flatten(0, 1)
        second += (weighted @ s.T).view_as(second)
        count += s.sum(-1)
    lines = _lines(batch, notions)
    return Moments(
        _combine(lines, first.view(2, len(channels), POWERS, d)),
        _multiply(lines, second.view(2, len(channels), POWERS, d, d), notions),
        count,
        _excess(lines, channels, label),
    )


def _lines(batch: Inputs, notions: Sequence[LinearFractionalStatistic]) -> Tensor:
    """Write u and v as lines in h: intercept and slope in each class, `(2, 2 K, 2)`."""
    two = torch.tensor([0.0, 1.0]).to(batch.pred)
    named = {"label": two} if "label" in batch.named else {}
    classes = Inputs(two, None, None, dict(named))
    columns = []
    for notion in notions:
        coef = notion.coefficients(classes)
        at_0, at_1 = (_sides(torch.full_like(two, h), coef) for h in (0.0, 1.0))
        columns.append(torch.stack((at_0, at_1 - at_0), -1))
    return torch.cat(columns).transpose(0, 1)


def _sides(h: Tensor, coef: Coefficients) -> Tensor:
    """Evaluate u_1, v_1, u_2, ... at h in both classes, `(2 K, 2)`."""
    return torch.stack(tuple(summands(h, None, coef)), 1).flatten(0, 1)


def _combine(lines: Tensor, sums: Tensor) -> Tensor:
    r""":math:`\sum w S (a + b h)` from the sums of 1 and h: `(c, 2 K, d)`."""
    return torch.einsum("yzp,ycpk->czk", lines, sums[:, :, :2])


def _multiply(
    lines: Tensor, sums: Tensor, notions: Sequence[LinearFractionalStatistic]
) -> Tensor:
    """Multiply lines out: :math:`(a + b h) (a' + b' h)`, `(c, P, d, d)`."""
    pairs = product_pairs([len(notion.parts) for notion in notions])
    left, right = (lines[:, list(side)] for side in zip(*pairs, strict=True))
    (a, b), (a_, b_) = left.unbind(-1), right.unbind(-1)
    parabola = torch.stack((a * a_, a * b_ + b * a_, b * b_), -1)
    return torch.einsum("yzp,ycpkl->czkl", parabola, sums)


def _excess(lines: Tensor, channels: Sequence[Tensor], label: Tensor) -> Tensor:
    """Look at the lowest, the middlemost and the highest score of each class."""
    found = []
    for h in channels:
        sides = []
        for y in (0, 1):
            own = h[label == y]
            if len(own):
                middle = own[(own * (1 - own)).argmax()]
                points = torch.stack((*torch.aminmax(own), middle))
                a, b = lines[y].unbind(-1)
                sides.append(a[:, None] + b[:, None] * points)
        found.append(row_excess(torch.cat(sides, -1).unsqueeze(0)).amax(-1)[0])
    return torch.stack(found).clamp_min(0)
