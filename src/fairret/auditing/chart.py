"""A chart for one statistic: a row for every group, drawn in percent of its width.

Coordinates in percent let a row be as wide as the page while text and marks keep
their size, on a phone and on paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from fairret.auditing.notions import Notion
from fairret.auditing.report import number
from fairret.metric.result import GroupValue, ParityResult

MARGIN = 0.07  # of the width, so that marks and ticks at the ends are whole
TICKS = 5


class Scale(NamedTuple):
    """From a statistic to a place in percent."""

    low: float
    high: float

    def __call__(self, value: float) -> str:
        """Place a value; one beyond the ends goes to the end."""
        share = (value - self.low) / (self.high - self.low)
        place = min(1.0, max(0.0, share)) * (1 - 2 * MARGIN) + MARGIN
        return f"{100 * place:.2f}%"


def scale_of(result: ParityResult, notion: Notion) -> Scale:
    """Make room for all intervals and bands, with round numbers at the ticks."""
    overall = float(result.overall)
    ends = [overall]
    for group in (result.everybody, *result.groups.values()):
        ends += [group.low, group.high, group.statistic]
        ends += [overall * (1 - group.noise_floor), overall * (1 + group.noise_floor)]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    if notion.unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    elif result.everybody.low >= 0:  # a ratio of counts; one group may be far off
        low, high = max(low, 0.0), min(high, 6 * max(overall, 1e-9))
    span = max(high - low, 1e-9 * abs(high))  # ends that differ by rounding alone
    step = _round_step(span / TICKS)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    return Scale(low, high if high > low else low + step)


def _round_step(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    if step < 1e-9:  # all the same
        return 0.01
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9))


def axis(scale: Scale, notion: Notion) -> str:
    """Draw the tick labels."""
    step = _round_step((scale.high - scale.low) / TICKS)
    count = round((scale.high - scale.low) / step)
    texts = [
        f'<text x="{scale(scale.low + k * step)}" y="12" text-anchor="middle">'
        f"{tick(scale.low + k * step, step, notion)}</text>"
        for k in range(count + 1)
    ]
    return f'<svg height="16" aria-hidden="true">{"".join(texts)}</svg>'


def tick(value: float, step: float, notion: Notion) -> str:
    """Write a tick with no more digits than the step has."""
    unit = 100 if notion.unit == "share" else 1
    digits = max(0, -math.floor(math.log10(step * unit) + 1e-9))
    return f"{value * unit:.{digits}f}{' %' if notion.unit == 'share' else ''}"


def row(group: GroupValue, overall: float, scale: Scale, notion: Notion) -> str:
    """Draw one group: band of chance, overall value, interval, mark."""
    pieces = []
    band = overall * group.noise_floor
    if math.isfinite(band):
        left, right = scale(overall - band), scale(overall + band)
        width = f"{float(right[:-1]) - float(left[:-1]):.2f}%"
        pieces.append(
            f'<rect class="band" x="{left}" y="3" width="{width}" height="20" rx="3"/>'
        )
    if math.isfinite(overall):
        at = scale(overall)
        pieces.append(f'<line class="overall" x1="{at}" x2="{at}" y1="-4" y2="30"/>')
    if group.estimable:
        pieces.append(
            f'<line class="whisker" x1="{scale(group.low)}" x2="{scale(group.high)}" '
            'y1="13" y2="13"/>'
        )
        pieces.append(_mark(scale(group.statistic), group.beyond_chance))
    kind = ' class="off"' if group.beyond_chance else ""
    return (
        f'<svg{kind} height="26" role="img" aria-label="'
        f'{escape(_in_words(group, overall, notion))}">{"".join(pieces)}</svg>'
    )


def _mark(at: str, beyond: bool) -> str:
    if beyond:
        return (
            f'<svg x="{at}" y="13" width="1" height="1" aria-hidden="true">'
            '<path class="mark" d="M-6 0 L0 -6 L6 0 L0 6 Z"/></svg>'
        )
    return f'<circle class="mark" cx="{at}" cy="13" r="5"/>'


def legend(confidence: float) -> str:
    """Explain the marks."""
    items: Iterable[tuple[str, str]] = (
        (
            '<circle class="mark" cx="50%" cy="8" r="5"/>',
            "within chance",
        ),
        (
            '<g class="off"><svg x="50%" y="8" width="1" height="1">'
            '<path class="mark" d="M-6 0 L0 -6 L6 0 L0 6 Z"/></svg></g>',
            "beyond chance",
        ),
        (
            '<line class="whisker" x1="5%" x2="95%" y1="8" y2="8"/>',
            f"{confidence:.0%} interval",
        ),
        (
            '<line class="overall" x1="50%" x2="50%" y1="0" y2="16"/>',
            "overall",
        ),
        (
            '<rect class="band" x="5%" width="90%" y="2" height="12" rx="3"/>',
            "where a group of this size would be by chance",
        ),
    )
    return " &emsp; ".join(
        f'<svg height="16" aria-hidden="true">{drawing}</svg> {words}'
        for drawing, words in items
    )


def _in_words(group: GroupValue, overall: float, notion: Notion) -> str:
    if not group.estimable:
        return f"{group.name}: nobody counts"
    words = (
        f"{group.name}: {number(group.statistic, notion)}, interval "
        f"{number(group.low, notion)} to {number(group.high, notion)}, overall "
        f"{number(overall, notion)}"
    )
    if math.isnan(group.noise_floor):
        return words
    return f"{words}; {'beyond' if group.beyond_chance else 'within'} chance"
