"""The trade-off figures (Section 4.2, App. C.4 to C.6), and those of decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fairret.lab.experiment.trade_off import (
    DECISIONS_ONLY,
    NOTIONS,
    SEES_GROUPS,
    UNFAIR,
    TradeOff,
    View,
    count_test_rows,
    name_variants,
    trade_off,
)
from fairret.lab.plot import style
from fairret.lab.plot.ends import label_ends
from fairret.lab.plot.looks import is_judged, legend_handles
from fairret.lab.plot.panel import draw_panel
from fairret.lab.plot.scale import count_marks, without_rare

if TYPE_CHECKING:
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
LARGEST = {
    "violation": "Largest violation",
    "violation_beyond_chance": "Violation of a typical group beyond chance",
}
UTILITIES = {
    "auroc": "AUROC",
    "accuracy": "accuracy",
    "accuracy_at_base_rate": "accuracy at the base rate",
    "log_loss": "log-loss (falling)",
}

MEASURES = {
    "violation": "violation",
    "violation_beyond_chance": "beyond chance",
}

PARTS = {"train": "training", "test": "test"}

# a dataset, a way to train (its name, "" if there is one only) and a statistic
Panels: TypeAlias = dict[tuple[str, str, str], TradeOff]


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
    beyond, judged = 0, is_judged(shown.values())
    size = (width, height * len(rows) + 3)  # enough to lay it out
    with style.canvas(len(rows), len(columns), size) as (figure, grid):
        for i, (name, way) in enumerate(rows):
            for j, dataset in enumerate(columns):
                panel = panels[dataset, way, name]
                beyond += draw_panel(
                    *(grid[i, j], panel, looks),
                    decisions=decisions,
                    falling=falling,
                    judged=judged,
                )
            lines = (f"{NOTIONS[name]} {MEASURES[view.measure]}", *way.split(", "))
            grid[i, 0].set_ylabel("\n".join(filter(None, lines)))
        for j, dataset in enumerate(columns):
            grid[0, j].set_title(titles[dataset])
            grid[-1, j].set_xlabel(UTILITIES[view.utility])
        style.set_legend(figure, legend_handles([*shown.values()], looks, decisions))
        words = _caption(data, view, list(looks), titles, shown)
        rare = sum(count_marks(found[key]) - count_marks(shown[key]) for key in shown)
        if rare:
            marks = style.many(rare, "mark")
            words.append(f"Left out: {marks} with a violation in few seeds.")
        if beyond:
            words.append(f"Arrows at an edge: {style.many(beyond, 'mark')} beyond.")
        style.set_caption(figure, words)
        style.set_height(figure, height * len(rows))
        for i, (name, way) in enumerate(rows):
            for j, dataset in enumerate(columns):
                label_ends(grid[i, j], panels[dataset, way, name].curves, looks)
    return figure


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


def _trainings(data: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Say how datasets were trained if each has a way of its own."""
    own = data[["dataset", "training"]].drop_duplicates()
    names = name_variants(list(dict.fromkeys(own["training"])))
    if len(names) < 2 or own["dataset"].duplicated().any():
        return ""
    found: dict[str, list[str]] = {}
    for dataset, way in zip(own["dataset"], own["training"], strict=True):
        found.setdefault(names[way], []).append(titles.get(dataset, dataset))
    words = "; ".join(f"{', '.join(of)}: {way}" for way, of in found.items())
    return f"Training: {words}."


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
    counts = ", ".join(
        f"{title} {style.spaced(sizes[d])}" for d, title in titles.items()
    )
    seeds = [len(m.x) for panel in shown for curve in panel.curves for m in curve.marks]
    lines = [
        f"{LARGEST[view.measure]} of {view.channel} over {traits} of the "
        f"{PARTS[view.part]} rows (n: {counts}). Each mark is a strength, joined in "
        "their order, with the smallest and the largest written beside them; lower "
        f"right is best; {style.mean_over(seeds)}{_ellipses(seeds)}.",
        _verdicts(shown),
        _trainings(data, titles),
        _within_chance(panels, titles),
    ]
    refusing = sum(
        int((mark.refuses == 1).sum())
        for panel in shown
        for curve in panel.curves
        for mark in curve.marks
    )
    if refusing and view.channel == "decisions":
        lines.append(
            f"Crosses, not joined: {style.many(refusing, 'model')} of a seed that "
            f"{'refuses' if refusing == 1 else 'refuse'} everyone."
        )
    return [*lines, *_left_out(shown), *_about_methods(data, view, methods, shown)]


def _left_out(shown: Sequence[TradeOff]) -> list[str]:
    """Count what the panels do not show."""
    lines = []
    failed = len(frozenset().union(*(panel.failed for panel in shown)))
    undefined = sum(panel.undefined for panel in shown)
    excluded = Counter(label for panel in shown for label, _ in set(panel.excluded))
    if failed:
        lines.append(f"Left out: {style.many(failed, 'failed run')}.")
    if undefined:
        lines.append(
            f"Left out: {style.many(undefined, 'run')} with an undefined violation."
        )
    if excluded:
        words = ", ".join(f"{label} {count}" for label, count in excluded.items())
        lines.append(f"Left out for an AUROC far worse than the rest, marks: {words}.")
    return lines


def _about_methods(
    data: pd.DataFrame, view: View, methods: Sequence[str], shown: Sequence[TradeOff]
) -> list[str]:
    """Say what is special about methods, and which are not in the store."""
    lines = []
    stored = {*data["method"]}
    rest = ", so it has no scores to show" if view.needs_scores else ""
    for names, words in (
        (DECISIONS_ONLY, f"draws its decisions at random{rest}"),
        (SEES_GROUPS, "is told a person's group when it decides"),
    ):
        lines += [f"{name} {words}." for name in names & stored & {*methods}]
    missing = [
        name
        for name in methods
        if not _occurs(name, shown) and name not in DECISIONS_ONLY & stored
    ]
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
    return (
        f"Unfair is within chance on training and test rows: {words}." if words else ""
    )


def _verdicts(shown: Sequence[TradeOff]) -> str:
    if not is_judged(shown):
        return "These runs did not record whether a violation is beyond chance."
    marks = [m for panel in shown for curve in panel.curves for m in curve.marks]
    some = any(mark.beyond_chance is None for mark in marks)
    pale = " Grey marks are not judged: too few people, or runs without verdicts."
    return (
        "Filled marks are beyond chance in most seeds: at least one group is, adjusted "
        "for the number of groups. Hollow marks are not." + (pale if some else "")
    )


def _occurs(method: str, shown: Sequence[TradeOff]) -> bool:
    return any(
        method in (label.split(" (")[0] for label, _ in panel.excluded)
        or any(curve.method == method for curve in panel.curves)
        for panel in shown
    )
