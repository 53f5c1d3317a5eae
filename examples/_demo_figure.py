"""The figure of the demonstration: statistics per group, without and with the term."""

from collections.abc import Sequence
from math import inf, nan
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # draws to a file, with or without a screen

import matplotlib.pyplot as plt
from _demo_audit import Effect
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

BEFORE, AFTER = "#c0562b", "#1f5fa8"  # the markers differ in shape and fill as well


def draw(effects: Sequence[Effect], groups: Sequence[str], output: Path) -> None:
    """Draw one panel per notion, two in a row."""
    rows = (len(effects) + 1) // 2
    layout = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08)
    figure, grid = plt.subplots(
        rows,
        min(2, len(effects)),
        figsize=(8, 0.8 + 2.6 * rows),
        layout=layout,
        sharey=True,
        squeeze=False,
    )
    for axes in grid.flat[len(effects) :]:
        axes.remove()
    for axes, effect in zip(grid.flat, effects, strict=False):
        draw_panel(axes, effect)
    grid[0, 0].set_yticks(range(len(groups)), groups)
    grid[0, 0].invert_yaxis()
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150, format="png")
    plt.close(figure)


def draw_panel(axes: Axes, effect: Effect) -> None:
    """Draw one line per group, from before to after."""
    before, after = effect.decisions
    rows = range(len(after.groups))
    ends = [
        (group.chance_low, group.chance_high if group.chance_high < inf else nan)
        for group in after.groups.values()
    ]
    axes.barh(
        rows,
        [high - low for low, high in ends],
        left=[low for low, _ in ends],
        height=0.75,
        color=AFTER,
        alpha=0.13,
        label="within chance",
    )
    start, end = float(before.overall), float(after.overall)
    axes.axvline(start, color=BEFORE, linestyle=":", label="overall, without")
    axes.axvline(end, color=AFTER, linestyle="-", label="overall, with")
    axes.hlines(
        rows, before.statistic, after.statistic, color="0.55", linewidth=2, zorder=2
    )
    axes.scatter(
        before.statistic,
        rows,
        s=55,
        facecolor="white",
        edgecolor=BEFORE,
        linewidth=1.8,
        zorder=3,
        label="group, without",
    )
    axes.scatter(
        after.statistic,
        rows,
        s=55,
        marker="D",
        color=AFTER,
        zorder=4,
        label="group, with",
    )
    axes.margins(x=0.06, y=0.08)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel(effect.notion.measure)
    axes.set_title(
        f"{effect.notion.name.capitalize()}: "
        f"violation {before.max_violation:.0%} → {after.max_violation:.0%}",
        fontsize=11,
        loc="left",
    )
