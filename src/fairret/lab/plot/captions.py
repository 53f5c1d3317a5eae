"""What the trade-off figures say below their panels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from fairret.lab.experiment.trade_off import (
    DECISIONS_ONLY,
    NOTIONS,
    SEES_GROUPS,
    TradeOff,
    View,
    name_variants,
)
from fairret.lab.plot import style
from fairret.lab.plot.looks import is_judged

if TYPE_CHECKING:
    import pandas as pd

LARGEST = {
    "violation": "Largest violation",
    "violation_beyond_chance": "Violation beyond chance",
}
PARTS = {"train": "training", "test": "test"}

# a dataset, a way to train (its name, "" if there is one only) and a statistic
Panels: TypeAlias = dict[tuple[str, str, str], TradeOff]


def caption(
    data: pd.DataFrame,
    view: View,
    methods: Sequence[str],
    titles: Mapping[str, str],
    panels: Panels,
) -> list[str]:
    """Say what marks, lines and ellipses are, and what is left out."""
    shown = list(panels.values())
    traits = "all traits" if view.traits == "all" else "the single trait"
    done = data[data["status"] == "done"]
    sizes = done.groupby("dataset")[f"{view.part}/rows"].mean()
    counts = ", ".join(
        f"{title} {style.spaced(sizes[d])}" for d, title in titles.items()
    )
    seeds = _seeds(panels)
    lines = [
        f"{LARGEST[view.measure]} of {view.channel}, for {traits}, on the "
        f"{PARTS[view.part]} rows (n: {counts}). Each mark is one strength. Lines join "
        "marks in the order of strength; the smallest and the largest are labelled. "
        f"Lower right is best; {_mean_over(seeds, titles)}"
        f"{_ellipses([*seeds.values()])}.",
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
            f"Crosses: strengths with a model that refuses everyone, in "
            f"{style.many(refusing, 'run')}."
        )
    return [*lines, *_left_out(shown), *_about_methods(data, view, methods, shown)]


def _seeds(panels: Panels) -> dict[tuple[str, str, str, float], int]:
    """Count the seeds of each mark: by dataset, notion, curve and strength."""
    return {
        (dataset, name, curve.label, mark.strength): len(mark.x)
        for (dataset, _, name), panel in panels.items()
        for curve in panel.curves
        for mark in curve.marks
    }


def _mean_over(
    seeds: Mapping[tuple[str, str, str, float], int], titles: Mapping[str, str]
) -> str:
    """Name the largest number of seeds, and datasets and methods that have fewer."""
    most = max(seeds.values())
    by_dataset = _most((titles[dataset], n) for (dataset, *_), n in seeds.items())
    by_label = _most((label, n) for (_, _, label, _), n in seeds.items())
    few = {key: n for key, n in (by_dataset | by_label).items() if n < most}
    told = {
        (dataset, name, label, strength): min(
            by_dataset[titles[dataset]], by_label[label]
        )
        for dataset, name, label, strength in seeds
    }
    if told != seeds or not few:  # a few runs are missing, or none
        return style.mean_over([*seeds.values()])
    words = ", ".join(f"{count} for {key}" for key, count in few.items())
    return f"{style.mean_over([most])} ({words})"


def _most(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The largest count of each name."""
    found: dict[str, int] = {}
    for name, count in counts:
        found[name] = max(count, found.get(name, 0))
    return found


def hidden_marks(rare: int, beyond: int) -> list[str]:
    """Count the marks that are left out, and those beyond an edge."""
    lines = []
    if rare:
        marks = style.many(rare, "mark")
        lines.append(
            f"Left out: {marks} whose violation is undefined in half of the seeds or "
            "more."
        )
    if beyond:
        lines.append(
            f"Arrows or crosses at an edge: {style.many(beyond, 'mark')} outside the "
            "axes."
        )
    return lines


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
        words = ", ".join(
            f"{style.many(count, 'mark')} of {label}"
            for label, count in excluded.items()
        )
        lines.append(f"Left out, with an AUROC far worse than the rest: {words}.")
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
        "Unfair is beyond chance in at most half of the seeds, on training and on test "
        f"rows: {words}."
        if words
        else ""
    )


def _verdicts(shown: Sequence[TradeOff]) -> str:
    if not is_judged(shown):
        return "These runs did not record whether a violation is beyond chance."
    marks = [m for panel in shown for curve in panel.curves for m in curve.marks]
    some = any(mark.beyond_chance is None for mark in marks)
    pale = " Pale grey marks are not judged: too few people, or runs without verdicts."
    return (
        "A mark is filled if, in most seeds, at least one group is beyond chance "
        "(adjusted for the number of groups), and hollow otherwise."
        + (pale if some else "")
    )


def _occurs(method: str, shown: Sequence[TradeOff]) -> bool:
    return any(
        method in (label.split(" (")[0] for label, _ in panel.excluded)
        or any(curve.method == method for curve in panel.curves)
        for panel in shown
    )
