"""The trade-off figures (Section 4.2, App. C.4 to C.6), and those of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairret.lab.experiment.trade_off import (
    NOTIONS,
    UNFAIR,
    View,
    count_test_rows,
    name_variants,
    trade_off,
)
from fairret.lab.plot import style
from fairret.lab.plot.captions import Panels, caption, hidden_marks
from fairret.lab.plot.ends import label_ends
from fairret.lab.plot.looks import is_judged, legend_handles
from fairret.lab.plot.panel import draw_panel
from fairret.lab.plot.scale import count_marks, without_rare

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

MAIN = (UNFAIR, "SmoothMax", "KL", "PRemover", "HSIC", "AdvDebias")
OTHER = (UNFAIR, "Norm", "JS", "SED")
RELEASED = (UNFAIR, "SmoothMax", "KL", "SmoothMax 0.1.3", "KL 0.1.3")
PEERS = (
    *(UNFAIR, "SmoothMax", "KL"),
    *("ExponentiatedGradient", "OxonFair", "Unfair trees"),
)
FAIRRETS = (UNFAIR, "SmoothMax", "KL")
UTILITIES = {
    "auroc": "AUROC",
    "accuracy": "accuracy",
    "accuracy_at_base_rate": "accuracy at the base rate",
    "log_loss": "log-loss (reversed axis)",
}
MEASURES = {
    "violation": "violation",
    "violation_beyond_chance": "beyond chance",
}


def draw_trade_offs(
    data: pd.DataFrame,
    datasets: Sequence[str],
    statistics: Sequence[str],
    view: View | None = None,
    methods: Sequence[str] = MAIN,
) -> Figure:
    """Draw a panel per dataset and notion, best results in the lower right.

    Methods of plugins are drawn in every figure, after those of this package.

    Args:
        data: A row per run, from :func:`~fairret.lab.experiment.export.frame`.
        datasets: The columns, where they have results.
        statistics: The rows, where they are among the paper's four; with several
            training settings, a row per setting.
        view: What to compare; by default AUROC and the violation of scores.
        methods: The methods of this package to show.

    Raises:
        NoResultsError: If no method has a result.
        MixedRowsError: If runs of a dataset have different rows.
    """
    view = view or View()
    own = [name for name in dict.fromkeys(data["method"]) if name not in style.LOOKS]
    looks = style.assign_looks((*methods, *own))
    found = _panels(data, view, list(looks), datasets, statistics)
    panels = {key: without_rare(panel) for key, panel in found.items()}
    columns = list(dict.fromkeys(d for (d, _, _), p in panels.items() if p.curves))
    if not columns:
        wanted = f"results of {', '.join(looks)} for {', '.join(NOTIONS)}"
        raise style.nothing_to_draw(f"{wanted} with `traits` {view.traits}", data)
    rows = list(dict.fromkeys((name, way) for _, way, name in panels))
    shown = {key: panel for key, panel in panels.items() if key[0] in columns}
    counts = count_test_rows(data)
    titles = {name: style.dataset_title(name, counts.get(name)) for name in columns}
    height = 1.85 if len(rows) <= len(NOTIONS) else 1.6
    width = min(style.WIDTH, max(6.4, 2.9 * len(columns) + 0.5))
    decisions, falling = view.channel == "decisions", view.utility == "log_loss"
    judged = is_judged(shown.values())
    size = (width, height * len(rows) + 3)  # enough to lay it out
    with style.canvas(len(rows), len(columns), size) as (figure, grid):
        places = {
            (dataset, way, name): grid[i, j]
            for i, (name, way) in enumerate(rows)
            for j, dataset in enumerate(columns)
        }
        beyond = sum(
            draw_panel(
                *(ax, panels[key], looks),
                decisions=decisions,
                falling=falling,
                judged=judged,
            )
            for key, ax in places.items()
        )
        _name_axes(grid, rows, titles, view)
        style.set_legend(figure, legend_handles([*shown.values()], looks, decisions))
        rare = sum(count_marks(found[key]) - count_marks(shown[key]) for key in shown)
        style.set_caption(
            figure,
            [
                *caption(data, view, list(looks), titles, shown),
                *hidden_marks(rare, beyond),
            ],
        )
        style.set_height(figure, height * len(rows))
        for key, ax in places.items():
            label_ends(ax, panels[key].curves, looks)
    return figure


def _name_axes(
    grid: np.ndarray[Any, Any],
    rows: Sequence[tuple[str, str]],
    titles: Mapping[str, str],
    view: View,
) -> None:
    """Write the notions to the left, and the datasets and the utility at the edges."""
    for i, (name, way) in enumerate(rows):
        lines = (f"{NOTIONS[name]} {MEASURES[view.measure]}", *way.split(", "))
        grid[i, 0].set_ylabel("\n".join(filter(None, lines)))
    for j, title in enumerate(titles.values()):
        grid[0, j].set_title(title)
        grid[-1, j].set_xlabel(UTILITIES[view.utility])


def _panels(
    data: pd.DataFrame,
    view: View,
    methods: Sequence[str],
    datasets: Sequence[str],
    statistics: Sequence[str],
) -> Panels:
    ways = {"": data}  # by their name: a row of panels each
    if (data.groupby("dataset")["training"].nunique() > 1).any():
        names = name_variants(list(dict.fromkeys(data["training"])))
        ways = {words: data[data["training"] == way] for way, words in names.items()}
    return {
        (dataset, words, name): trade_off(own, view, dataset, name, methods)
        for name in NOTIONS
        if name in statistics
        for words, own in ways.items()
        for dataset in datasets
    }
