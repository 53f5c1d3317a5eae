"""The demonstration's figure: every group's statistic, without and with the term."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # a file, whether or not there is a screen

import matplotlib.pyplot as plt
from _demo_audit import Effect
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

BEFORE, AFTER = "#c0562b", "#1f5fa8"  # told apart by shape, fill and position too


def draw(effects: Sequence[Effect], groups: Sequence[str], output: Path) -> None:
    """Draw a panel for every notion."""
    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1)
    figure, grid = plt.subplots(2, 2, figsize=(11, 8.5), layout=layout)
    for axes, effect in zip(grid.flat, effects, strict=True):
        draw_panel(axes, effect, groups)
    figure.suptitle(
        "Decisions on the test set, without and with a fairness loss term",
        fontsize=15,
        fontweight="bold",
    )
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=5,
        frameon=False,
        title="Violation: largest distance of a group from the overall value, "
        "relative to it",
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150, format="png")
    plt.close(figure)


def draw_panel(axes: Axes, effect: Effect, groups: Sequence[str]) -> None:
    """Draw a line for every group, from before to after."""
    before, after = effect.decisions
    rows = range(len(groups))
    half = after.overall * after.group_noise_floor
    axes.barh(
        rows,
        2 * half,
        left=after.overall - half,
        height=0.75,
        color=AFTER,
        alpha=0.13,
        label="within chance (95 %)",
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
    axes.set_yticks(rows, groups)
    axes.invert_yaxis()
    axes.margins(x=0.06, y=0.08)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel(effect.notion.measure)
    axes.set_title(
        f"{effect.notion.name.capitalize()}: "
        f"violation {before.max_violation:.0%} → {after.max_violation:.0%}",
        fontsize=12,
        loc="left",
    )
