"""One panel of a trade-off figure, and the legend that goes with it."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairret.experiment.trade_off import UNFAIR, Curve, Floats, Mark, TradeOff
from fairret.plot.ellipse import ellipse_of_mean
from fairret.plot.style import Look, set_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 15.0  # largest over smallest mark from which a scale is logarithmic
REACH = 1.4  # an ellipse or floor is shown up to so many times the highest mark
NEAR_ZERO = 0.5  # a scale starts at 0 if the lowest mark is below this share of it
STYLES = ("-", "--", ":", "-.")
FLOOR = "0.45"
DASHES = (0, (4, 3))


def draw_panel(ax: Axes, compared: TradeOff, looks: Mapping[str, Look]) -> None:
    """Draw the curves of one dataset and notion, and the noise floor."""
    marks = [mark for curve in compared.curves for mark in curve.marks]
    _set_scale(ax, marks, compared.floor)
    for order, curve in enumerate(compared.curves):
        same = [c for c in compared.curves[:order] if c.method == curve.method]
        style = STYLES[len(same) % len(STYLES)]
        _draw_curve(ax, curve, looks[curve.method], style)
    if math.isfinite(compared.floor):
        _draw_floor(ax, compared.floor)
    if not marks:
        ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center")
    ax.locator_params(axis="x", nbins=4)


def outline_of(mark: Mark) -> Floats:
    """Give the outline of a mark's ellipse, or the mark itself for one seed."""
    ellipse = ellipse_of_mean(mark.x, mark.y)
    return np.array([mark.mean]) if ellipse is None else ellipse.outline()


def _set_scale(ax: Axes, marks: Sequence[Mark], floor: float) -> None:
    """Choose a scale on which marks, ellipses and noise floor can be seen.

    A wide ellipse, or a floor far above, must not squeeze the marks: then the floor is
    a number at the top.
    """
    levels = [mark.mean[1] for mark in marks]
    positive = [y for y in levels if y > 0]
    if not positive:
        ax.set_ylim(0, 1)
        return
    spread = np.concatenate([outline_of(mark)[:, 1] for mark in marks])
    top = max(positive)
    high = min(float(spread.max()), REACH * top)
    if floor <= REACH * top:
        high = max(high, floor)
    low = min(positive)
    below = [floor] if 0 < floor < low else []
    if top < WIDE * min([low, *below]):
        room = max(high - low, 0.1 * high)
        from_zero = below or low < NEAR_ZERO * high or len(positive) < len(levels)
        bottom = max(float(spread.min()), low - room / 2)
        ax.set_ylim(0 if from_zero else bottom - 0.08 * room, high + 0.08 * room)
        return
    least = min([max(float(spread.min()), low / REACH), *below])
    if len(positive) < len(levels):
        ax.set_yscale("symlog", linthresh=low)
        ax.set_ylim(0, 1.2 * high)
    else:
        ax.set_yscale("log")
        ax.set_ylim(least / 1.2, 1.2 * high)
    set_steps(ax.yaxis, least / 1.2, 1.2 * high)


def _draw_floor(ax: Axes, floor: float) -> None:
    bottom, top = ax.get_ylim()
    ax.axhspan(bottom, min(floor, top), color="0.5", alpha=0.08, lw=0)
    if floor <= top:
        ax.axhline(floor, color=FLOOR, linestyle=DASHES, linewidth=1)
        return
    ax.annotate(
        f"by chance {floor:.2f} ↑",
        (0.02, 0.98),
        xycoords="axes fraction",
        va="top",
        color=FLOOR,
        fontsize="small",
    )


def _draw_curve(ax: Axes, curve: Curve, look: Look, style: str) -> None:
    unfair = curve.method == UNFAIR
    for mark in curve.marks:
        _draw_ellipse(ax, mark, look.colour)
    x, y = zip(*(mark.mean for mark in curve.marks), strict=True)
    ax.plot(
        *(x, y),
        color=look.colour,
        marker=look.marker,
        linestyle=style,
        linewidth=0.8,
        markersize=9 if unfair else 4,
        markeredgecolor="white",
        markeredgewidth=0.3,
        zorder=4 if unfair else 3,
        label=curve.label,
    )


def _draw_ellipse(ax: Axes, mark: Mark, colour: str) -> None:
    if len(mark.x) < 2:
        return
    patches: Any = importlib.import_module("matplotlib.patches")
    colours: Any = importlib.import_module("matplotlib.colors")
    outline = outline_of(mark)
    if ax.get_yscale() == "log":  # there is no zero on it
        outline[:, 1] = outline[:, 1].clip(min=ax.get_ylim()[0] / 10)
    patch = patches.Polygon(
        outline,
        facecolor=colours.to_rgba(colour, 0.09),
        edgecolor=colours.to_rgba(colour, 0.4),  # two seeds make a line
        lw=0.5,
        zorder=2,
    )
    patch.set_gid("ellipse")
    ax.add_patch(patch)
    ax.update_datalim(outline)


def handles_of(shown: Sequence[TradeOff], looks: Mapping[str, Look]) -> list[Any]:
    """Make a legend of the curves that occur, and of the noise floor."""
    lines: Any = importlib.import_module("matplotlib.lines")
    labels: dict[str, Curve] = {}
    for compared in shown:
        for curve in compared.curves:
            labels.setdefault(curve.label, curve)
    ordered = sorted(labels.values(), key=lambda c: list(looks).index(c.method))
    count: Counter[str] = Counter()
    handles = []
    for curve in ordered:
        look = looks[curve.method]
        unfair = curve.method == UNFAIR
        handle = lines.Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            markersize=10 if unfair else 5,
            linestyle="" if unfair else STYLES[count[curve.method] % len(STYLES)],
            label=curve.label,
        )
        count[curve.method] += 1
        handles.append(handle)
    floor = lines.Line2D(
        [], [], color=FLOOR, linestyle=DASHES, lw=1, label="fair by chance"
    )
    known = any(math.isfinite(compared.floor) for compared in shown)
    return [*handles, floor] if known else handles
