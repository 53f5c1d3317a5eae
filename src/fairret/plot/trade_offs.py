"""The trade-off figures (Section 4.2, App. C.4 to C.6), and those of decisions."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairret.experiment.trade_off import (
    NOTIONS,
    UNFAIR,
    Curve,
    Mark,
    TradeOff,
    View,
    trade_off,
    variants_of,
)
from fairret.plot.ellipse import ellipse_of_mean
from fairret.plot.style import (
    DATASETS,
    NoResultsError,
    canvas,
    look_of,
    many,
    set_caption,
    set_legend,
    set_steps,
    spaced,
    span,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAIN = (UNFAIR, "SmoothMax", "KL", "PRemover", "HSIC", "AdvDebias")
OTHER = (UNFAIR, "Norm", "JS", "SED")
RELEASED = (UNFAIR, "SmoothMax", "KL", "SmoothMax 0.1.3", "KL 0.1.3")
PEERS = (UNFAIR, "SmoothMax", "KL", "ExponentiatedGradient", "OxonFair")
AXES = (UNFAIR, "SmoothMax", "KL")
UTILITIES = {
    "auroc": "AUROC",
    "accuracy": "accuracy",
    "accuracy_at_base_rate": "accuracy at the base rate",
    "log_loss": "log-loss (falling)",
}
WIDE = 15.0  # largest over smallest mark from which a scale is logarithmic
STYLES = ("-", "--", ":", "-.")
FLOOR = "0.45"


@dataclass(frozen=True)
class Layout:
    """What one of the figures shows."""

    view: View
    methods: tuple[str, ...] = MAIN


def draw_trade_offs(
    data: pd.DataFrame,
    layout: Layout,
    datasets: Sequence[str],
    statistics: Sequence[str],
) -> Figure:
    """Draw a panel for each dataset and notion, best results in the lower right.

    Args:
        data: A row for each run, from :func:`~fairret.experiment.summary.frame`.
        layout: What to show.
        datasets: The columns, where they have results.
        statistics: The rows, where they are among the paper's four.

    Raises:
        NoResultsError: If no method has a result.
    """
    rows = [name for name in NOTIONS if name in statistics]
    ways = variants_of(list(dict.fromkeys(data["training"])))
    panels = {
        (dataset, way): {
            name: trade_off(
                data[data["training"] == way],
                layout.view,
                dataset,
                name,
                layout.methods,
            )
            for name in rows
        }
        for dataset in datasets
        for way in ways
    }
    columns = [d for d in panels if any(p.curves for p in panels[d].values())]
    if not columns:
        raise NoResultsError(
            f"`store` must hold results of {', '.join(layout.methods)} that are "
            "trained and measured so; it holds none. Run the experiment first with "
            "`fairret run`."
        )
    size = (max(6.4, 2.9 * len(columns) + 0.5), 1.95 * len(rows) + 1.5)
    with canvas(len(rows), len(columns), size, sharex="col") as (figure, grid):
        for i, name in enumerate(rows):
            for j, (dataset, way) in enumerate(columns):
                _draw_panel(grid[i, j], panels[dataset, way][name])
                if i == 0:
                    words = (DATASETS.get(dataset, dataset), ways[way])
                    grid[i, j].set_title(", ".join(filter(None, words)))
                if j == 0:
                    grid[i, j].set_ylabel(f"{NOTIONS[name]} violation")
        for ax in grid[-1]:
            ax.set_xlabel(UTILITIES[layout.view.utility])
            if layout.view.utility == "log_loss":
                ax.invert_xaxis()  # shared by the column
        shown = [panels[d][name] for d in columns for name in rows]
        set_legend(figure, _handles(shown, layout.methods))
        names = list(dict.fromkeys(dataset for dataset, _ in columns))
        lines = _caption(data, layout, names, shown)
        set_caption(figure, lines)
    return figure


def _draw_panel(ax: Axes, compared: TradeOff) -> None:
    levels = [mark.mean[1] for curve in compared.curves for mark in curve.marks]
    _set_scale(ax, levels, compared.floor)
    for order, curve in enumerate(compared.curves):
        same = [c for c in compared.curves[:order] if c.method == curve.method]
        _draw_curve(ax, curve, STYLES[len(same) % len(STYLES)])
    if math.isfinite(compared.floor):
        ax.axhspan(ax.get_ylim()[0], compared.floor, color="0.5", alpha=0.08, lw=0)
        ax.axhline(compared.floor, color=FLOOR, linestyle=(0, (4, 3)), linewidth=1)
    if not compared.curves:
        ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center")
    ax.locator_params(axis="x", nbins=4)


def _set_scale(ax: Axes, levels: Sequence[float], floor: float) -> None:
    """Choose a scale on which marks and noise floor can be seen."""
    seen = [x for x in (*levels, floor) if math.isfinite(x)]
    positive = [x for x in seen if x > 0]
    if not positive or max(positive) < WIDE * min(positive):
        ax.set_ylim(0, 1.12 * max(positive, default=1.0))
        return
    low, high = min(positive), max(positive)
    if len(positive) < len(seen):
        ax.set_yscale("symlog", linthresh=low)
        ax.set_ylim(0, 1.5 * high)
    else:
        ax.set_yscale("log")
        ax.set_ylim(low / 1.5, 1.5 * high)
    set_steps(ax.yaxis, low / 1.5, 1.5 * high)


def _draw_curve(ax: Axes, curve: Curve, style: str) -> None:
    look = look_of(curve.method)
    unfair = curve.method == UNFAIR
    for mark in curve.marks:
        _draw_ellipse(ax, mark, look.colour)
    x, y = zip(*(mark.mean for mark in curve.marks), strict=True)
    ax.plot(
        *(x, y),
        color=look.colour,
        marker=look.marker,
        linestyle=style,
        linewidth=0.9,
        markersize=11 if unfair else 4.5,
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=4 if unfair else 3,
        label=curve.label,
    )


def _draw_ellipse(ax: Axes, mark: Mark, colour: str) -> None:
    ellipse = ellipse_of_mean(mark.x, mark.y)
    if ellipse is None:
        return
    patches: Any = importlib.import_module("matplotlib.patches")
    outline = ellipse.outline()
    if ax.get_yscale() == "log":  # there is no zero on it
        outline[:, 1] = outline[:, 1].clip(min=ax.get_ylim()[0] / 10)
    patch = patches.Polygon(outline, facecolor=colour, alpha=0.2, lw=0, zorder=2)
    patch.set_gid("ellipse")
    ax.add_patch(patch)
    ax.update_datalim(outline)


def _handles(shown: Sequence[TradeOff], methods: Sequence[str]) -> list[object]:
    """Make a legend of the curves that occur, and of the noise floor."""
    lines: Any = importlib.import_module("matplotlib.lines")
    labels: dict[str, Curve] = {}
    for compared in shown:
        for curve in compared.curves:
            labels.setdefault(curve.label, curve)
    ordered = sorted(labels.values(), key=lambda c: methods.index(c.method))
    count: Counter[str] = Counter()
    handles = []
    for curve in ordered:
        look = look_of(curve.method)
        unfair = curve.method == UNFAIR
        handle = lines.Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            markersize=10 if unfair else 5,
            linestyle="" if unfair else STYLES[count[curve.method] % len(STYLES)],
            label=curve.label,
        )
        count[curve.method] += 1
        handles.append(handle)
    floor = lines.Line2D(
        [], [], color=FLOOR, linestyle=(0, (4, 3)), lw=1, label="fair by chance"
    )
    return [*handles, floor]


def _caption(
    data: pd.DataFrame,
    layout: Layout,
    datasets: Sequence[str],
    shown: Sequence[TradeOff],
) -> list[str]:
    view = layout.view
    traits = "all traits" if view.traits == "all" else "the single trait"
    done = data[data["status"] == "done"]
    sizes = done.groupby("dataset")[f"{view.part}/rows"].mean()
    counts = ", ".join(f"{DATASETS.get(d, d)} {spaced(sizes[d])}" for d in datasets)
    marks = [mark for panel in shown for curve in panel.curves for mark in curve.marks]
    seeds = [len(mark.x) for mark in marks]
    several = "; ellipses: one standard error of the mean" if max(seeds) > 1 else ""
    far = Counter(label for panel in shown for label, _ in set(panel.far))
    failed = len(frozenset().union(*(panel.failed for panel in shown)))
    undefined = sum(panel.undefined for panel in shown)
    lines = [
        f"Largest violation of {view.channel} over {traits} of the {view.part} rows "
        f"(n: {counts}). Each mark is a strength, joined in their order; mean over "
        f"{span(seeds)} seed{'s' if max(seeds) > 1 else ''}{several}.",
        "Dashed: what a fair model would show by chance (median over the runs).",
    ]
    if failed:
        lines.append(f"Left out: {many(failed, 'failed run')}.")
    if undefined:
        lines.append(f"Left out: {many(undefined, 'run')} with an undefined violation.")
    if far:
        words = ", ".join(f"{label} {count}" for label, count in far.items())
        lines.append(f"Left out for an AUROC far worse than the rest, marks: {words}.")
    missing = [m for m in layout.methods if not _occurs(m, shown)]
    if missing:
        lines.append(f"Not in the store: {', '.join(missing)}.")
    return lines


def _occurs(method: str, shown: Sequence[TradeOff]) -> bool:
    return any(
        method in (label.split(" (")[0] for label, _ in panel.far)
        or any(curve.method == method for curve in panel.curves)
        for panel in shown
    )
