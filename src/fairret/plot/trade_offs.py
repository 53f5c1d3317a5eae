"""The trade-off figures (Section 4.2, App. C.4 to C.6), and those of decisions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fairret.experiment.trade_off import (
    DECISIONS_ONLY,
    NOTIONS,
    SEES_GROUPS,
    UNFAIR,
    TradeOff,
    View,
    count_test_rows,
    trade_off,
    variants_of,
    ways_of,
)
from fairret.plot.panel import draw_panel, handles_of
from fairret.plot.style import (
    LOOKS,
    canvas,
    looks_of,
    many,
    none_of,
    set_caption,
    set_legend,
    spaced,
    span,
    title_of,
)

if TYPE_CHECKING:
    import pandas as pd
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

# a dataset, a way to train (its name, "" if there is one only) and a statistic
Panels: TypeAlias = dict[tuple[str, str, str], TradeOff]


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

    Methods that are not of this package are drawn in every figure, after its own.

    Args:
        data: A row for each run, from :func:`~fairret.experiment.frames.frame`.
        layout: What to show.
        datasets: The columns, where they have results.
        statistics: The rows, where they are among the paper's four; with several ways
            to train, a row for each of them.

    Raises:
        NoResultsError: If no method has a result.
        MixedRowsError: If runs of a dataset are not of the same rows.
    """
    own = [name for name in dict.fromkeys(data["method"]) if name not in LOOKS]
    looks = looks_of((*layout.methods, *own))
    panels = _panels(data, layout.view, list(looks), datasets, statistics)
    columns = list(dict.fromkeys(d for (d, _, _), p in panels.items() if p.curves))
    if not columns:
        wanted = f"results of {', '.join(looks)} for {', '.join(NOTIONS)}"
        raise none_of(f"{wanted} with `traits` {layout.view.traits}", data)
    rows = list(dict.fromkeys((name, way) for _, way, name in panels))
    shown = {key: panel for key, panel in panels.items() if key[0] in columns}
    counts = count_test_rows(data)
    titles = {name: title_of(name, counts.get(name)) for name in columns}
    height = 2.1 if len(rows) <= len(NOTIONS) else 1.75
    size = (max(6.4, 3.0 * len(columns) + 0.5), height * len(rows) + 1.6)
    with canvas(len(rows), len(columns), size) as (figure, grid):
        for i, (name, way) in enumerate(rows):
            for j, dataset in enumerate(columns):
                draw_panel(grid[i, j], panels[dataset, way, name], looks)
                if layout.view.utility == "log_loss":
                    grid[i, j].invert_xaxis()
            lines = (f"{NOTIONS[name]} violation", *way.split(", "))
            grid[i, 0].set_ylabel("\n".join(filter(None, lines)))
        for j, dataset in enumerate(columns):
            grid[0, j].set_title(titles[dataset])
            grid[-1, j].set_xlabel(UTILITIES[layout.view.utility])
        set_legend(figure, handles_of(list(shown.values()), looks))
        words = _caption(data, layout.view, list(looks), titles, shown)
        if any(ax.get_yscale() != "linear" for ax in figure.axes):
            words.insert(1, "Violations that are far apart have a logarithmic scale.")
        set_caption(figure, words)
    return figure


def _panels(
    data: pd.DataFrame,
    view: View,
    methods: Sequence[str],
    datasets: Sequence[str],
    statistics: Sequence[str],
) -> Panels:
    data = data.assign(training=ways_of(data))
    ways = variants_of(list(dict.fromkeys(data["training"])))
    return {
        (dataset, words, name): trade_off(
            data[data["training"] == way], view, dataset, name, methods
        )
        for name in NOTIONS
        if name in statistics
        for way, words in ways.items()
        for dataset in datasets
    }


def _caption(
    data: pd.DataFrame,
    view: View,
    methods: Sequence[str],
    titles: Mapping[str, str],
    panels: Panels,
) -> list[str]:
    shown = list(panels.values())
    traits = "all traits" if view.traits == "all" else "the single trait"
    done = data[data["status"] == "done"]
    sizes = done.groupby("dataset")[f"{view.part}/rows"].mean()
    counts = ", ".join(f"{title} {spaced(sizes[d])}" for d, title in titles.items())
    marks = [mark for panel in shown for curve in panel.curves for mark in curve.marks]
    seeds = [len(mark.x) for mark in marks]
    lines = [
        f"Largest violation of {view.channel} over {traits} of the {view.part} rows "
        f"(n: {counts}). Each mark is a strength, joined in their order; mean over "
        f"{span(seeds)} seed{'s' if max(seeds) > 1 else ''}{_ellipses(seeds)}.",
        "Dashed: the noise floor of Unfair, which it would stay below with a "
        "probability of 95 % if it were fair (mean over its seeds)."
        if any(math.isfinite(panel.floor) for panel in shown)
        else "",
        _within_chance(panels, titles),
    ]
    failed = len(frozenset().union(*(panel.failed for panel in shown)))
    undefined = sum(panel.undefined for panel in shown)
    far = Counter(label for panel in shown for label, _ in set(panel.far))
    if failed:
        lines.append(f"Left out: {many(failed, 'failed run')}.")
    if undefined:
        lines.append(f"Left out: {many(undefined, 'run')} with an undefined violation.")
    if far:
        words = ", ".join(f"{label} {count}" for label, count in far.items())
        lines.append(f"Left out for an AUROC far worse than the rest, marks: {words}.")
    stored = {*data["method"]}
    for name in DECISIONS_ONLY & stored & {*methods}:
        rest = ", so it has no scores to show" if view.needs_scores else ""
        lines.append(f"{name} draws its decisions at random{rest}.")
    lines += [
        f"{name} is told a person's group when it decides."
        for name in SEES_GROUPS & stored & {*methods}
    ]
    drawn_at_random = DECISIONS_ONLY & stored
    missing = [m for m in methods if not _occurs(m, shown) and m not in drawn_at_random]
    if missing:
        lines.append(f"Not in the store: {', '.join(missing)}.")
    return lines


def _ellipses(seeds: Sequence[int]) -> str:
    if max(seeds) == 1:
        return ""
    shapes = "ellipses" if max(seeds) > 2 else "lines through them"
    if min(x for x in seeds if x > 1) == 2 < max(seeds):
        shapes += " (lines where there are 2)"
    return f"; {shapes}: one standard error of the mean"


def _within_chance(panels: Panels, titles: Mapping[str, str]) -> str:
    """Name the panels where Unfair is within chance on training and test rows."""
    found: dict[str, list[str]] = {}
    in_columns = sorted(panels.items(), key=lambda item: [*titles].index(item[0][0]))
    for (dataset, way, name), panel in in_columns:
        if panel.chance:
            place = ", ".join(filter(None, (titles[dataset], way)))
            found.setdefault(place, []).append(NOTIONS[name])
    words = "; ".join(f"{place} {', '.join(of)}" for place, of in found.items())
    return f"Unfair is below it on training and test rows: {words}." if words else ""


def _occurs(method: str, shown: Sequence[TradeOff]) -> bool:
    return any(
        method in (label.split(" (")[0] for label, _ in panel.far)
        or any(curve.method == method for curve in panel.curves)
        for panel in shown
    )
