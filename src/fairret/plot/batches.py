"""A fairret over batches of several sizes (App. C.3), with and without a memory."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from fairret.experiment.trade_off import NOTIONS
from fairret.loss import FairnessLoss, KLProjectionLoss, SmoothMaxLoss
from fairret.plot.style import (
    canvas,
    look_of,
    set_caption,
    set_legend,
    spaced,
)
from fairret.plot.unfair import UnfairScores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 2**4
MEMORY = 4096  # rows
MIDDLE = (0.1, 0.9)
SHOWN: dict[str, type[FairnessLoss]] = {
    "SmoothMax": SmoothMaxLoss,
    "KL": KLProjectionLoss,
}


class Chunked(NamedTuple):
    """The loss of batches of one size."""

    size: int
    mean: float
    low: float
    high: float
    batches: int


def chunked_losses(
    unfair: UnfairScores, kind: type[FairnessLoss], memory: int = 0
) -> list[Chunked]:
    """Compute a loss over all traits in batches of 2ᵏ rows, one after the other.

    A rest of less than half a batch joins the last one, as in training.
    """
    n = len(unfair.h)
    found = []
    size = SMALLEST
    while size < n:
        count = max(1, round(n / size))
        starts = [size * k for k in range(count)]
        ends = [*starts[1:], n]
        loss = kind(unfair.statistic, memory=memory)
        values = [_value(loss, unfair, a, b) for a, b in zip(starts, ends, strict=True)]
        low, high = np.quantile(values, MIDDLE)
        mean = float(np.mean(values))
        found.append(Chunked(size, mean, float(low), float(high), count))
        size *= 2
    return found


@torch.no_grad()
def whole_loss(unfair: UnfairScores, kind: type[FairnessLoss]) -> float:
    """Compute a loss over all rows at once."""
    return _value(kind(unfair.statistic), unfair, 0, len(unfair.h))


def _value(loss: FairnessLoss, unfair: UnfairScores, first: int, end: int) -> float:
    h, s, y = (x[first:end] for x in (unfair.h, unfair.s, unfair.y))
    return float(loss(h, sens=s, label=y, pred_as_logit=False))


def draw_batches(unfair: UnfairScores) -> Figure:
    """Draw the mean loss against the size of the batches (App. C.3)."""
    levels = []
    with canvas(1, 2, (9.6, 3.9)) as (figure, grid):
        for ax, (name, kind) in zip(grid[0], SHOWN.items(), strict=True):
            handles = _draw_panel(ax, unfair, name, kind)
            levels.append(f"{whole_loss(unfair, kind):.3g}")
        set_legend(figure, handles)
        notion = NOTIONS.get(unfair.statistic, unfair.statistic)
        lines = [
            f"Fairrets for {notion} over all traits, of a model trained on "
            f"{unfair.title} without one: {spaced(len(unfair.h))} test rows in batches "
            f"of each size, against all at once ({' and '.join(levels)}). A group that "
            "is absent from a batch counts as fair in it. The memory is that of the "
            f"loss, `memory={MEMORY}`, here from the first batch on, while the "
            "multipliers of KL are still on their way from zero.",
        ]
        set_caption(figure, lines)
    return figure


def _draw_panel(
    ax: Axes, unfair: UnfairScores, name: str, kind: type[FairnessLoss]
) -> list[object]:
    look = look_of(name)
    found = chunked_losses(unfair, kind)
    kept = chunked_losses(unfair, kind, MEMORY)
    sizes = [one.size for one in found]
    ax.fill_between(
        sizes,
        [one.low for one in found],
        [one.high for one in found],
        color=look.colour,
        alpha=0.18,
        lw=0,
    )
    ax.plot(
        sizes,
        [one.mean for one in found],
        color=look.colour,
        marker=look.marker,
        markersize=4.5,
    )
    (remembered,) = ax.plot(
        sizes,
        [one.mean for one in kept],
        color="black",
        marker="x",
        markersize=5,
        lw=1,
        label=f"the same with a memory of {MEMORY} rows",
    )
    level = ax.axhline(
        whole_loss(unfair, kind),
        color="0.2",
        linestyle=(0, (4, 3)),
        lw=1.2,
        label="all rows at once",
    )
    ax.set_xscale("log", base=2)
    ax.set_ylim(bottom=0)
    ax.set_xticks(sizes, [str(size) for size in sizes], rotation=45, ha="right")
    ax.set_xlabel("rows of a batch")
    ax.set_ylabel(f"{name} loss")
    lines: Any = importlib.import_module("matplotlib.lines")
    patches: Any = importlib.import_module("matplotlib.patches")
    mean = lines.Line2D([], [], color="0.45", label="mean over the batches")
    band = patches.Patch(color="0.45", alpha=0.18, label="middle 80 % of the batches")
    return [mean, band, remembered, level]
