"""What marks and lines of a trade-off figure look like, and its legend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairret.lab.experiment.trade_off import UNFAIR, Curve, Mark, TradeOff
from fairret.lab.plot.style import VARIANTS, Look, darker, legend_line

STYLES = ("-", "--", ":", "-.")
GREY = "0.45"
HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.8}
PALE: dict[str, Any] = {"markerfacecolor": "#cccccc", "markeredgewidth": 0.8}
CROSS: dict[str, Any] = {"marker": "x", "markersize": 7, "zorder": 5}


def styled(
    curves: Sequence[Curve], looks: Mapping[str, Look]
) -> list[tuple[Curve, Look, str]]:
    """Give every curve a look and a line; variants of a method differ in all."""
    count: Counter[str] = Counter()
    found = []
    for curve in curves:
        look, number = looks[curve.method], count[curve.method]
        if number:
            marker = VARIANTS[(number - 1) % len(VARIANTS)]
            look = look._replace(marker=marker, colour=darker(look.colour, number))
        found.append((curve, look, STYLES[number % len(STYLES)]))
        count[curve.method] += 1
    return found


def mark_size(curve: Curve) -> float:
    """Size of marks in points: models without a fairness term have large ones."""
    if curve.method == UNFAIR:
        return 9
    return 7 if curve.marks[0].strength == 0 else 4


def refuses(mark: Mark) -> bool:
    """Whether the model refuses everyone in at least one of the seeds."""
    return bool((mark.refuses == 1).any())


def is_judged(shown: Iterable[TradeOff]) -> bool:
    """Whether some runs recorded whether a violation is beyond chance."""
    return any(
        mark.beyond_chance is not None
        for panel in shown
        for curve in panel.curves
        for mark in curve.marks
    )


def legend_handles(
    shown: Sequence[TradeOff], looks: Mapping[str, Look], decisions: bool = False
) -> list[Any]:
    """Make a legend of the curves that occur, and of what hollow marks mean."""
    labels = {curve.label: curve for one in shown for curve in one.curves}
    ordered = sorted(labels.values(), key=lambda c: list(looks).index(c.method))
    handles = []
    for curve, look, style in styled(ordered, looks):
        alone = all(len(c.marks) == 1 for c in ordered if c.label == curve.label)
        handles.append(
            legend_line(
                curve.label,
                color=look.colour,
                marker=look.marker,
                markersize=mark_size(curve) + 1,
                linestyle="" if alone else style,
            )
        )
    marks = [mark for one in shown for curve in one.curves for mark in curve.marks]
    usual = {"linestyle": "", "marker": "o", "markeredgecolor": GREY, "markersize": 5}
    if is_judged(shown):
        handles += [
            legend_line("beyond chance", **usual, markerfacecolor=GREY),
            legend_line("not beyond chance", **(usual | HOLLOW)),
        ]
        if any(mark.beyond_chance is None for mark in marks):
            handles.append(legend_line("not judged", **(usual | PALE)))
    if decisions and any(map(refuses, marks)):
        handles.append(legend_line("refuses everyone in a seed", **(usual | CROSS)))
    return handles
