"""A fairret over batches of several sizes (App. C.3), with and without a memory."""

from __future__ import annotations

import importlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from fairret.lab.experiment.trade_off import NOTIONS
from fairret.lab.plot import style
from fairret.lab.plot.scores import LOSSES
from fairret.lab.plot.unfair import UnfairScores
from fairret.loss import FairnessLoss

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 2**4
MEMORY = 4096  # rows
MIDDLE = (0.1, 0.9)
SHOWN = ("SmoothMax", "KL")


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
    n, size, found = len(unfair.h), SMALLEST, []
    while size < n:
        count = max(1, round(n / size))
        edges = [*(size * k for k in range(count)), n]
        loss = kind(unfair.statistic, memory=memory)
        values = [_value(loss, unfair, a, b) for a, b in pairwise(edges)]
        low, high = np.quantile(values, MIDDLE)
        mean = float(np.mean(values))
        found.append(Chunked(size, mean, float(low), float(high), count))
        size *= 2
    return found


@torch.no_grad()
def whole_loss(unfair: UnfairScores, kind: type[FairnessLoss]) -> float:
    """Compute a loss over all rows at once."""
    return _value(kind(unfair.statistic), unfair, 0, len(unfair.h))


def tabulate_losses(unfair: UnfairScores) -> pd.DataFrame:
    """Make a table of the losses of the figure, a row per loss and size of batch.

    `whole` is the loss of all rows at once, and `mean_with_memory` the mean over the
    batches with a memory.
    """
    pandas: Any = importlib.import_module("pandas")
    rows = []
    for name in SHOWN:
        kind = LOSSES[name]
        whole = whole_loss(unfair, kind)
        plain, kept = chunked_losses(unfair, kind), chunked_losses(unfair, kind, MEMORY)
        for one, other in zip(plain, kept, strict=True):
            row = {"loss": name, **one._asdict()}
            rows.append({**row, "mean_with_memory": other.mean, "whole": whole})
    return pandas.DataFrame(rows)


def _value(loss: FairnessLoss, unfair: UnfairScores, first: int, end: int) -> float:
    h, s, y = (x[first:end] for x in (unfair.h, unfair.s, unfair.y))
    return float(loss(h, sens=s, label=y, pred_as_logit=False))


def draw_batches(unfair: UnfairScores) -> Figure:
    """Draw the mean loss against the size of the batches (App. C.3)."""
    table = tabulate_losses(unfair)
    levels = []
    with style.canvas(1, 2, (9.6, 3.9)) as (figure, grid):
        for ax, name in zip(grid[0], SHOWN, strict=True):
            own = table[table["loss"] == name]
            handles = _draw_panel(ax, own, name)
            levels.append(f"{own['whole'].iloc[0]:.3g}")
        style.set_legend(figure, handles)
        notion = NOTIONS.get(unfair.statistic, unfair.statistic)
        lines = [
            f"Fairrets for {notion} over all traits, of a model trained on "
            f"{unfair.title} without one: {style.spaced(len(unfair.h))} test rows in "
            f"batches of each size, against all at once ({' and '.join(levels)}). A "
            "group that is absent from a batch counts as fair in it. The memory is "
            f"that of the loss ({MEMORY} rows), here from the first batch on, before "
            "the multipliers of KL have converged.",
        ]
        style.set_caption(figure, lines)
    return figure


def _draw_panel(ax: Axes, table: pd.DataFrame, name: str) -> list[object]:
    look, sizes = style.LOOKS[name], [*table["size"]]
    ax.fill_between(
        sizes, table["low"], table["high"], color=look.colour, alpha=0.18, lw=0
    )
    ax.plot(sizes, table["mean"], color=look.colour, marker=look.marker, markersize=4.5)
    (remembered,) = ax.plot(
        *(sizes, table["mean_with_memory"]),
        color="black",
        marker="x",
        markersize=5,
        lw=1,
        label=f"the same with a memory of {MEMORY} rows",
    )
    whole = ax.axhline(
        table["whole"].iloc[0],
        color="0.2",
        linestyle=(0, (4, 3)),
        lw=1.2,
        label="all rows at once",
    )
    ax.set_xscale("log", base=2)
    ax.set_ylim(bottom=0)
    ax.set_xticks(sizes, [*map(str, sizes)], rotation=45, ha="right")
    ax.set_xlabel("rows of a batch")
    ax.set_ylabel(f"{name} loss")
    patches: Any = importlib.import_module("matplotlib.patches")
    line = style.legend_line("mean over the batches", color="0.45")
    band = patches.Patch(color="0.45", alpha=0.18, label="middle 80 % of the batches")
    return [line, band, remembered, whole]
