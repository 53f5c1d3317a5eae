"""Strengths at the ends of curves, placed where they hide the least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairret.lab.experiment.trade_off import UNFAIR, Curve, Mark
from fairret.lab.plot.looks import styled
from fairret.lab.plot.style import FONT, Look

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

LETTER = 0.56 * FONT  # points: mean width of a digit
MARK = 2.5  # points: half of the width of a mark
DISTANCES = (7, 11, 16, 22, 30, 38)  # points between a mark and its label
TEXT = 4.0  # times as bad to cover a label as to cover a mark
GAP = 1.5  # points between two labels
HALO = {"facecolor": "white", "edgecolor": "none", "alpha": 0.65, "pad": 0.3}
ANGLES = [math.pi / 8 * k for k in range(16)]


class Box(NamedTuple):
    """A box by its centre and half of its size, in points."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: Box) -> float:
        """Area that both cover."""
        wide = self.width + other.width - abs(self.x - other.x)
        high = self.height + other.height - abs(self.y - other.y)
        wide = min(wide, 2 * self.width, 2 * other.width)
        high = min(high, 2 * self.height, 2 * other.height)
        return max(wide, 0) * max(high, 0)

    def grown(self, margin: float) -> Box:
        """The same box with a margin on each side."""
        return Box(self.x, self.y, self.width + margin, self.height + margin)

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """Point of the box that is nearest to another."""
        right, top = self.x + self.width, self.y + self.height
        left, bottom = self.x - self.width, self.y - self.height
        return min(max(x, left), right), min(max(y, bottom), top)


def label_ends(ax: Axes, curves: Sequence[Curve], looks: Mapping[str, Look]) -> None:
    """Write the smallest and the largest strength of each curve beside their marks.

    Labels are placed one by one, each where it covers the least of marks, of notes in
    the panel and of earlier labels. The figure must have its final size.
    """
    frame = _extent(ax)
    places = [_place(ax, mark) for curve in curves for mark in curve.marks]
    marks = [Box(*frame.nearest(*place), MARK, MARK) for place in places]
    texts = [_extent(text).grown(GAP) for text in ax.texts]
    for curve, look, _ in styled(curves, looks):
        if curve.method == UNFAIR or len(curve.marks) < 2:
            continue
        for mark in (curve.marks[-1], curve.marks[0]):
            x, y = frame.nearest(*_place(ax, mark))
            text = f"{mark.strength:g}"
            box = _best(x, y, LETTER * len(text) / 2, marks, texts, frame)
            texts.append(box.grown(GAP))
            shift = (box.x - x, box.y - y)
            far = math.hypot(*shift) > DISTANCES[0] + LETTER * len(text) / 2
            ax.annotate(
                text,
                (x, y),
                xycoords="figure points",
                xytext=shift,
                textcoords="offset points",
                ha="center",
                va="center",
                color=look.colour,
                fontsize=FONT,
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": look.colour}
                if far
                else None,
                bbox=HALO,
                zorder=6,
            ).set_in_layout(False)


def _extent(artist: Artist) -> Box:
    scale = 72 / artist.figure.dpi
    box = artist.get_window_extent()
    (x, y), half = box.p0 * scale, (box.width * scale / 2, box.height * scale / 2)
    return Box(x + half[0], y + half[1], *half)


def _place(ax: Axes, mark: Mark) -> tuple[float, float]:
    x, y = ax.transData.transform(mark.mean) * 72 / ax.figure.dpi
    return float(x), float(y)


def _best(
    x: float,
    y: float,
    width: float,
    marks: Sequence[Box],
    texts: Sequence[Box],
    frame: Box,
) -> Box:
    """Choose the place that covers the least, the nearer the better."""
    height = FONT / 2
    found = []
    for distance in DISTANCES:
        for angle in ANGLES:
            box = Box(
                x + (distance + width / 2) * math.cos(angle),
                y + distance * math.sin(angle),
                width,
                height,
            )
            inside = box.overlap(frame) / (4 * width * height)
            covered = sum(box.overlap(other) for other in marks)
            covered += TEXT * sum(box.overlap(other) for other in texts)
            found.append((covered + 200 * (1 - inside) + distance, box))
    return min(found, key=lambda item: item[0])[1]
