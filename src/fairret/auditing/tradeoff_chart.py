"""Geometry of the chart of tolerances; `templates/charts.html` draws it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairret.auditing.drawing import round_ends, round_step, tick_labels
from fairret.auditing.promise import CurvePoint, Promise, Reached

HEIGHT = 200  # of the plot, in pixels
WIDEST = 1.6  # times the largest value, at which intervals are cut off


class Mark(NamedTuple):
    """One rule: its place in percent, the ends of its interval, its height."""

    kind: str
    x: float
    low: float
    high: float
    y: float
    words: str


class Chart(NamedTuple):
    """Accuracy against the violation, ready to be drawn."""

    x_ticks: list[tuple[float, str]]  # from 0 on the left to 100
    y_ticks: list[tuple[float, str]]  # from 0 at the top to `HEIGHT`
    lines: list[tuple[str, str]]  # kind and outline, in percent of both sides
    marks: list[Mark]
    limit: float  # place of the tolerance
    modes: list[str]  # kinds of rules, that of the model first


def draw_tradeoff(promise: Promise) -> Chart | None:
    """Place all rules; None if there is no curve."""
    if promise.curve is None:
        return None
    points = [p for p in promise.curve.points if math.isfinite(p.reached.value)]
    if not points or not math.isfinite(promise.before.value):
        return None
    x, x_ticks = _x_axis(promise, points)
    rules = [promise.before, promise.after, *(p.reached for p in points)]
    y, y_ticks = _y_axis([rule.accuracy for rule in rules])
    modes = sorted({p.mode for p in points}, key=lambda mode: mode != promise.mode)

    def mark(kind: str, rule: Reached, name: str) -> Mark:
        words = (
            f"{name}: {promise.measure} {promise.write(rule.value)}, accuracy "
            f"{rule.accuracy:.1%}"
        )
        low, high = sorted((x(rule.low), x(rule.high)))
        at = HEIGHT * y(rule.accuracy)
        return Mark(kind, x(rule.value), low, high, at, words)

    lines, marks = [], []
    for mode in modes:
        own = [p for p in points if p.mode == mode]
        kind = "own" if mode == promise.mode else "other"
        places = [
            f"{x(p.reached.value):.2f} {100 * y(p.reached.accuracy):.2f}" for p in own
        ]
        lines.append((kind, "M" + " L".join(places)))
        for p in own:
            name = f"{mode}, tolerance {promise.write(p.tolerance)}"
            name += "" if p.met else " (missed)"
            marks.append(mark(kind if p.met else f"{kind} missed", p.reached, name))
    marks.append(mark("plain", promise.before, "without the rule"))
    marks.append(mark("this", promise.after, "this rule"))
    return Chart(x_ticks, y_ticks, lines, marks, x(promise.strictest), modes)


class _Axis(NamedTuple):
    start: float  # value at the left, or at the top
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.start) / (self.end - self.start)
        return min(1.0, max(0.0, share))


def _x_axis(
    promise: Promise, points: Sequence[CurvePoint]
) -> tuple[_Percent, list[tuple[float, str]]]:
    """Put parity on the left."""
    rules = [promise.before, promise.after, *(p.reached for p in points)]
    ratio = promise.kind == "min_ratio"

    def distance(value: float) -> float:
        return 1 - value if ratio else value

    values = [distance(promise.strictest), *(distance(r.value) for r in rules)]
    ends = [max(map(distance, (r.low, r.high))) for r in rules[:2]]
    most = min(max(values + ends), WIDEST * max(values))
    step = round_step(max(most, 1e-3) / 5)
    end = round_ends(0.0, most, step)[1]
    start, stop = (1.0, 1.0 - end) if ratio else (0.0, end)
    place = _Percent(_Axis(start, stop))
    unit = "number" if ratio else "share"
    low, high = sorted((start, stop))
    return place, [(place(v), text) for v, text in tick_labels(low, high, step, unit)]


class _Percent(NamedTuple):
    axis: _Axis

    def __call__(self, value: float) -> float:
        return 100 * self.axis(value)


def _y_axis(values: Sequence[float]) -> tuple[_Axis, list[tuple[float, str]]]:
    low, high = min(values), max(values)
    step = round_step(max(high - low, 4e-3) / 4)
    low, high = round_ends(low, high, step)
    axis = _Axis(high, low)
    ticks = tick_labels(low, high, step, "share")
    return axis, [(HEIGHT * axis(value), text) for value, text in ticks]
