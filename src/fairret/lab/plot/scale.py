"""Scales of a panel that show the marks, whatever a few outliers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fairret.lab.experiment.trade_off import Floats, Mark, TradeOff
from fairret.lab.plot.ellipse import mark_outline
from fairret.lab.plot.looks import GREY, refuses
from fairret.lab.plot.style import set_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
WIDE = 15.0  # largest over smallest mark from which a scale is logarithmic
OVERSHOOT = 1.4  # of an ellipse above the highest mark, at most
NEAR_ZERO = 0.5  # a scale starts at 0 if the lowest mark is below this share of it
HIGH, FAR, FEW = 2.5, 5.0, 0.15  # outliers: times the median, and their share
SQUASHED = 1.8  # times the width that the other marks need


def without_outliers(compared: TradeOff, decisions: bool, falling: bool) -> list[Mark]:
    """Leave out a few marks far above the others, or far from Unfair in utility.

    A violation is far if it is above that of Unfair, and above 2.5 times the median of
    all marks. A utility is far if the loss against Unfair is above five times the
    median change, another mark is better in both or the model refuses everyone, and
    the width with it is more than 1.8 times the width without it. If more than 15 % of
    the marks are far, only the farthest can be an outlier, if it makes that difference.
    """
    marks = [mark for curve in compared.curves for mark in curve.marks]
    if compared.unfair is None:
        return marks
    start, level = compared.unfair.mean
    x, y = np.array([mark.mean for mark in marks]).T
    loss = x - start if falling else start - x
    dominated = ((loss < loss[:, None]) & (y < y[:, None])).any(axis=1)
    if decisions:
        dominated |= np.array([refuses(mark) for mark in marks])
    high = y > max(level, HIGH * np.median(y))
    poor = dominated & (loss > FAR * np.median(abs(loss)))
    poor = _farthest(x, poor, loss)
    kept = np.ones(len(marks), dtype=bool)
    for far in (high, poor):
        if far.mean() <= FEW:
            kept &= ~far
    return [mark for mark, inside in zip(marks, kept, strict=True) if inside]


def _farthest(x: Floats, poor: Flags, loss: Floats) -> Flags:
    """Those of some marks without which the others need far less width.

    All of them, or only the farthest if they are many.
    """
    if poor.mean() > FEW:
        poor = poor & (loss == loss[poor].max())
    if np.ptp(x) < SQUASHED * np.ptp(x[~poor]):
        poor = np.zeros_like(poor)
    return poor


def without_rare(panel: TradeOff) -> TradeOff:
    """Leave out marks whose violation is undefined in half of the seeds or more.

    Such models accept hardly anybody, and what is left is not their mean.
    """
    curves = []
    for curve in panel.curves:
        most = max(len(mark.seeds) for mark in curve.marks)
        marks = tuple(m for m in curve.marks if 2 * len(m.seeds) > most)
        curves.append(curve._replace(marks=marks))
    return panel._replace(curves=tuple(curves))


def count_marks(panel: TradeOff) -> int:
    """Count the marks of all curves."""
    return sum(len(curve.marks) for curve in panel.curves)


def set_width(ax: Axes, marks: Sequence[Mark]) -> None:
    """Show the utilities of some marks, their ellipses as far as these are not wide."""
    x = [mark.mean[0] for mark in marks]
    spread = np.concatenate([mark_outline(mark)[:, 0] for mark in marks])
    span = max(x) - min(x) or 0.01
    left = max(float(spread.min()), min(x) - span / 2)
    right = min(float(spread.max()), max(x) + span / 2)
    ax.set_xlim(left - 0.08 * span, right + 0.08 * span)


def set_scale(ax: Axes, marks: Sequence[Mark]) -> None:
    """Choose a scale that shows marks and ellipses.

    A wide ellipse must not compress the marks.
    """
    levels = [mark.mean[1] for mark in marks]
    positive = [y for y in levels if y > 0]
    if not positive:
        ax.set_ylim(0, 1)
        return
    spread = np.concatenate([mark_outline(mark)[:, 1] for mark in marks])
    low, top = min(positive), max(positive)
    high = min(float(spread.max()), OVERSHOOT * top)
    if top < WIDE * low:
        height = max(high - low, 0.1 * high)
        from_zero = low < NEAR_ZERO * high or len(positive) < len(levels)
        bottom = max(float(spread.min()), low - height)
        ax.set_ylim(0 if from_zero else bottom - 0.08 * height, high + 0.08 * height)
        return
    least = max(float(spread.min()), low / OVERSHOOT)
    if len(positive) < len(levels):
        ax.set_yscale("symlog", linthresh=low)
        ax.set_ylim(0, 1.2 * high)
    else:
        ax.set_yscale("log")
        ax.set_ylim(least / 1.2, 1.2 * high)
    set_steps(ax.yaxis, least / 1.2, 1.2 * high)
    note_log_scale(ax)


def note_log_scale(ax: Axes) -> None:
    """Mark a panel whose violations are on another scale than those of others."""
    ax.text(
        *(0.02, 0.98, "log scale"),
        transform=ax.transAxes,
        va="top",
        color=GREY,
        style="italic",
    )
