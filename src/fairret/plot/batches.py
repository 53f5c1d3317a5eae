"""A fairret over batches of several sizes (App. C.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairret.experiment.trade_off import NOTIONS
from fairret.loss import SmoothMaxLoss
from fairret.plot.style import (
    canvas,
    look_of,
    set_caption,
    set_legend,
    spaced,
)
from fairret.plot.unfair import UnfairScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST = 2**4
MIDDLE = (0.1, 0.9)


class Chunked(NamedTuple):
    """The loss of batches of one size."""

    size: int
    mean: float
    low: float
    high: float
    batches: int


def chunked_losses(unfair: UnfairScores) -> tuple[list[Chunked], float]:
    """Compute SmoothMax over all traits in batches of 2ᵏ rows, and over all rows.

    A rest of less than half a batch joins the last one, as in training.
    """
    loss = SmoothMaxLoss(unfair.statistic)
    n = len(unfair.h)

    def value(rows: slice) -> float:
        h, s, y = unfair.h[rows], unfair.s[rows], unfair.y[rows]
        return float(loss(h, sens=s, label=y, pred_as_logit=False))

    found = []
    size = SMALLEST
    while size < n:
        count = max(1, round(n / size))
        starts = [size * k for k in range(count)]
        ends = [*starts[1:], n]
        values = [value(slice(a, b)) for a, b in zip(starts, ends, strict=True)]
        low, high = np.quantile(values, MIDDLE)
        mean = float(np.mean(values))
        found.append(Chunked(size, mean, float(low), float(high), count))
        size *= 2
    return found, value(slice(None))


def draw_batches(unfair: UnfairScores) -> Figure:
    """Draw the mean loss against the size of the batches (App. C.3)."""
    found, whole = chunked_losses(unfair)
    sizes = [one.size for one in found]
    look = look_of("SmoothMax")
    with canvas(1, 1, (6.4, 3.9)) as (figure, grid):
        ax = grid[0, 0]
        band = ax.fill_between(
            sizes,
            [one.low for one in found],
            [one.high for one in found],
            color=look.colour,
            alpha=0.18,
            lw=0,
            label="middle 80 % of the batches",
        )
        (line,) = ax.plot(
            sizes,
            [one.mean for one in found],
            color=look.colour,
            marker=look.marker,
            markersize=4.5,
            label="mean over the batches",
        )
        level = ax.axhline(
            whole, color="0.2", linestyle=(0, (4, 3)), lw=1.2, label="all rows at once"
        )
        ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [str(size) for size in sizes], rotation=45, ha="right")
        ax.set_xlabel("rows of a batch")
        ax.set_ylabel("SmoothMax loss")
        set_legend(figure, [line, band, level])
        notion = NOTIONS.get(unfair.statistic, unfair.statistic)
        lines = [
            f"SmoothMax for {notion} over all traits, of a model trained on "
            f"{unfair.title} without a fairret: {spaced(len(unfair.h))} test rows in "
            f"batches of each size, against all at once ({whole:.3f}). A group that is "
            "absent from a batch counts as fair in it.",
        ]
        set_caption(figure, lines)
    return figure
