"""Geometry of the charts on the page; `templates/charts.html` draws them.

Coordinates in percent let a drawing be as wide as the page while text and marks keep
their size, on a phone and on paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairret.auditing.curves import Line
from fairret.auditing.notions import Notion
from fairret.metric.result import ParityResult

MARGIN = 0.07  # of the width, so that marks and ticks at the ends are whole
TICKS = 5
FARTHEST = 6  # times the overall value: a ratio of counts may be far off
HIGHEST = 2.0  # violation at which a curve is cut off


class Scale(NamedTuple):
    """Maps a statistic to a place in percent."""

    low: float
    high: float
    unit: str

    def place(self, value: float) -> float:
        """Place a value; one beyond the ends goes to the end."""
        share = (value - self.low) / (self.high - self.low)
        return 100 * (min(1.0, max(0.0, share)) * (1 - 2 * MARGIN) + MARGIN)

    def __call__(self, value: float) -> str:
        """Write the place of a value."""
        return f"{self.place(value):.2f}%"

    def width(self, low: float, high: float) -> str:
        """Write the distance of two values."""
        return f"{self.place(high) - self.place(low):.2f}%"

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The values at the ticks, with their labels."""
        step = round_step((self.high - self.low) / TICKS)
        return tick_labels(self.low, self.high, step, self.unit)


def make_scale(results: Sequence[ParityResult], notion: Notion) -> Scale:
    """Choose round ends that include all intervals and bands."""
    ends, highest = [], 1e-9
    for result in results:
        ends.append(float(result.overall))
        highest = max(highest, FARTHEST * ends[-1])
        for group in (result.everybody, *result.groups.values()):
            ends += [group.low, group.high, group.statistic]
            ends += [group.chance_low, group.chance_high]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if notion.unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    elif all(result.everybody.low >= 0 for result in results):
        low, high = max(low, 0.0), min(high, highest)
    span = max(high - low, 1e-9 * abs(high))  # ends that differ by rounding alone
    low, high = round_ends(low, high, round_step(span / TICKS))
    return Scale(low, high, notion.unit)


def round_step(step: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten."""
    if step < 1e-9:  # all the same
        return 0.01
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9))


def round_ends(low: float, high: float, step: float) -> tuple[float, float]:
    """Move both ends outwards to multiples of the step."""
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return low, high if high > low else low + step


def tick_labels(
    low: float, high: float, step: float, unit: str
) -> list[tuple[float, str]]:
    """Label the ticks with no more digits than the step has."""
    factor, sign = (100, "%") if unit == "share" else (1, "")
    digits = max(0, -math.floor(math.log10(step * factor) + 1e-9))
    values = [low + k * step for k in range(round((high - low) / step) + 1)]
    return [(value, f"{value * factor:.{digits}f}{sign}") for value in values]


class Panel(NamedTuple):
    """Lines over thresholds, ready to be drawn."""

    title: str
    ticks: list[tuple[float, str]]  # heights from 0 at the top to 100, with labels
    paths: list[tuple[str, str]]  # class and outline of each


def make_panel(
    title: str,
    lines: Sequence[tuple[float, list[float], Line]],
    lowest: float | None = None,
) -> Panel:
    """Draw lines with their intervals, the last model in the foreground.

    Args:
        title: What is shown.
        lines: Of each model: its threshold, all thresholds, and the line over them.
        lowest: The lower end of the axis, if it is fixed.
    """
    known = [
        x for _, _, line in lines for x in (*line.low, *line.high) if math.isfinite(x)
    ]
    low = min(known, default=0.0) if lowest is None else lowest
    high = min(max(known, default=1.0), HIGHEST)
    step = round_step(max(high - low, 1e-3) / 3)
    low, high = round_ends(low, high, step)

    def y(value: float) -> float:
        return 100 * (1 - (min(max(value, low), high) - low) / (high - low))

    paths = []
    for j, (at, thresholds, line) in enumerate(lines):
        kind = "now" if j == len(lines) - 1 else "then"
        points = [
            (100 * t, *(y(x) for x in three))
            for t, *three in zip(thresholds, *line, strict=True)
            if all(map(math.isfinite, three))
        ]
        area = [(t, a) for t, _, a, _ in points]
        area += [(t, b) for t, _, _, b in reversed(points)]
        if points:
            paths.append((f"area {kind}", _path(area) + " Z"))
            paths.append((f"line {kind}", _path([(t, v) for t, v, _, _ in points])))
        paths.append((f"at {kind}", _path([(100 * at, 0.0), (100 * at, 100.0)])))
    ticks = [(y(value), text) for value, text in tick_labels(low, high, step, "share")]
    return Panel(title, ticks, paths)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x:.2f} {y:.2f}" for x, y in points)
