"""One panel of a trade-off figure with its confidence ellipses, and the legend."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairret.lab.experiment.trade_off import UNFAIR, Curve, Floats, Mark, TradeOff
from fairret.lab.plot.style import VARIANTS, Look, legend_line, set_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = 15.0  # largest over smallest mark from which a scale is logarithmic
OVERSHOOT = 1.4  # of an ellipse above the highest mark, at most
NEAR_ZERO = 0.5  # a scale starts at 0 if the lowest mark is below this share of it
HIGH, FAR, FEW = 3.0, 5.0, 0.15  # outliers: times the median, and their share
SQUASHED = 2.0  # times the width that the other marks need
STYLES = ("-", "--", ":", "-.")
GREY = "0.45"


class Ellipse(NamedTuple):
    """An ellipse by its centre and half-axes."""

    middle: Floats  # (2,)
    half: Floats  # (2,): lengths, the smaller first
    axes: Floats  # (2, 2): unit vectors in the columns

    def outline(self, count: int = 72) -> Floats:
        """Points on the ellipse, `(count, 2)`."""
        angle = np.linspace(0, 2 * math.pi, count, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        points: Floats = self.middle + (self.axes @ (self.half[:, None] * circle)).T
        return points


def mean_ellipse(x: Floats, y: Floats) -> Ellipse | None:
    r"""Ellipse of one standard error around the mean of some seeds (App. D.4).

    .. math::
        \{ z : (z - \bar z)^T \Sigma^{-1} (z - \bar z) = 1 \}, \qquad
        \Sigma = \frac{\mathrm{cov}(x, y)}{n}

    Its axes are the eigenvectors of :math:`\Sigma`, its half-axes the roots of the
    eigenvalues. It is None for a single seed, which has no covariance.
    """
    if len(x) < 2:
        return None
    sigma = np.cov(x, y) / len(x)
    values, axes = np.linalg.eigh(sigma)
    half = np.sqrt(np.maximum(values, 0))  # rounding may leave -1e-20
    return Ellipse(np.array([x.mean(), y.mean()]), half, axes)


def draw_panel(
    ax: Axes,
    compared: TradeOff,
    looks: Mapping[str, Look],
    *,
    decisions: bool = False,
    falling: bool = False,
    judged: bool = True,
) -> int:
    """Draw the curves of one dataset and notion.

    Args:
        ax: Where.
        compared: The curves.
        looks: Colour and marker of each method.
        decisions: Whether to mark models that refuse everyone.
        falling: Whether a small x is better, as for a log-loss.
        judged: Whether to tell marks within chance, and those not judged, from others.

    Returns:
        How many marks are beyond the edge, because they would compress the others.
    """
    marks = [mark for curve in compared.curves for mark in curve.marks]
    inside = _without_outliers(compared, decisions, falling)
    _set_scale(ax, inside)
    for curve, look, style in styled(compared.curves, looks):
        _draw_curve(ax, curve, look, style, decisions, judged)
    if not marks:
        ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center")
    if inside:
        _set_width(ax, inside)
    if falling:
        ax.invert_xaxis()
    beyond = [
        _draw_arrow(ax, mark, look.colour)
        for curve, look, _ in styled(compared.curves, looks)
        for mark in curve.marks
        if inside
    ]
    ax.locator_params(axis="x", nbins=4)
    return sum(beyond)


def styled(
    curves: Sequence[Curve], looks: Mapping[str, Look]
) -> list[tuple[Curve, Look, str]]:
    """Give every curve a look and a line; variants of a method differ in both."""
    count: Counter[str] = Counter()
    found = []
    for curve in curves:
        look, number = looks[curve.method], count[curve.method]
        if number:
            look = look._replace(marker=VARIANTS[(number - 1) % len(VARIANTS)])
        found.append((curve, look, STYLES[number % len(STYLES)]))
        count[curve.method] += 1
    return found


def mark_outline(mark: Mark) -> Floats:
    """Outline of a mark's ellipse, or the mark itself for one seed."""
    ellipse = mean_ellipse(mark.x, mark.y)
    return np.array([mark.mean]) if ellipse is None else ellipse.outline()


def _without_outliers(compared: TradeOff, decisions: bool, falling: bool) -> list[Mark]:
    """Leave out a few marks far above the others, or far from Unfair in utility.

    A violation is far if it is above that of Unfair, and above three times the median
    of all marks. A utility is far if the loss against Unfair is above five times the
    median change, another mark is better in both or the model refuses everyone, and
    the others need less than half of the width without it. If more than 15 % of the
    marks are far, they are no outliers.
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
    if np.ptp(x) < SQUASHED * np.ptp(x[~poor]):
        poor[:] = False
    kept = np.ones(len(marks), dtype=bool)
    for far in (high, poor):
        if far.mean() <= FEW:
            kept &= ~far
    return [mark for mark, inside in zip(marks, kept, strict=True) if inside]


def _draw_arrow(ax: Axes, mark: Mark, colour: str) -> bool:
    """Point to a mark if it is beyond the edge; tell whether it is."""
    x, y = mark.mean
    (left, right), (bottom, top) = sorted(ax.get_xlim()), ax.get_ylim()
    if left <= x <= right and y <= top:
        return False
    place = (min(max(x, left), right), min(max(y, bottom), top))
    beside = "<" if (x < left) != ax.xaxis_inverted() else ">"
    ax.plot(
        *place,
        color=colour,
        marker="^" if y > top else beside,
        markersize=5,
        clip_on=False,
        label="_beyond",
        zorder=5,
    )
    return True


def _set_width(ax: Axes, marks: Sequence[Mark]) -> None:
    """Show the utilities of some marks, their ellipses as far as these are not wide."""
    x = [mark.mean[0] for mark in marks]
    spread = np.concatenate([mark_outline(mark)[:, 0] for mark in marks])
    span = max(x) - min(x) or 0.01
    left = max(float(spread.min()), min(x) - span / 2)
    right = min(float(spread.max()), max(x) + span / 2)
    ax.set_xlim(left - 0.08 * span, right + 0.08 * span)


def _set_scale(ax: Axes, marks: Sequence[Mark]) -> None:
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
    ax.text(
        *(0.02, 0.98, "log scale"),
        transform=ax.transAxes,
        va="top",
        color=GREY,
        style="italic",
    )


def _draw_curve(
    ax: Axes, curve: Curve, look: Look, style: str, decisions: bool, judged: bool
) -> None:
    unfair = curve.method == UNFAIR
    for mark in curve.marks:
        _draw_ellipse(ax, mark, look.colour)
    x, y = zip(*(mark.mean for mark in curve.marks), strict=True)
    size = 9 if unfair else 4
    ax.plot(
        *(x, y),
        color=look.colour,
        marker=look.marker,
        linestyle=style,
        linewidth=0.8,
        markersize=size,
        markeredgecolor="white",
        markeredgewidth=0.3,
        zorder=4 if unfair else 3,
        label=curve.label,
    )
    verdicts = [mark.beyond_chance for mark in curve.marks]
    for name, chosen, options in (
        ("_within", [judged and one is False for one in verdicts], HOLLOW),
        ("_not_judged", [judged and one is None for one in verdicts], PALE),
        ("_refuses", [decisions and refuses(m) for m in curve.marks], CROSS),
    ):
        places = [m.mean for m, yes in zip(curve.marks, chosen, strict=True) if yes]
        if places:
            usual: dict[str, Any] = {
                "marker": look.marker,
                "markersize": size,
                "zorder": 4,
            }
            ax.plot(
                *zip(*places, strict=True),
                linestyle="",
                markeredgecolor=look.colour,
                label=name,
                **(usual | options),
            )


HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.8}
PALE: dict[str, Any] = {"markerfacecolor": "#cccccc", "markeredgewidth": 0.8}
CROSS: dict[str, Any] = {"marker": "x", "markersize": 7, "zorder": 5}


def refuses(mark: Mark) -> bool:
    """Whether the model refuses everyone in at least one of the seeds."""
    return bool((mark.refuses == 1).any())


def _draw_ellipse(ax: Axes, mark: Mark, colour: str) -> None:
    if len(mark.x) < 2:
        return
    patches: Any = importlib.import_module("matplotlib.patches")
    colours: Any = importlib.import_module("matplotlib.colors")
    outline = mark_outline(mark)
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
        unfair = curve.method == UNFAIR
        handles.append(
            legend_line(
                curve.label,
                color=look.colour,
                marker=look.marker,
                markersize=10 if unfair else 5,
                linestyle="" if alone else style,
            )
        )
    marks = [mark for one in shown for curve in one.curves for mark in curve.marks]
    usual = {"linestyle": "", "marker": "o", "markeredgecolor": GREY, "markersize": 5}
    if is_judged(shown):
        handles += [
            legend_line("beyond chance", **usual, markerfacecolor=GREY),
            legend_line("within chance", **(usual | HOLLOW)),
        ]
        if any(mark.beyond_chance is None for mark in marks):
            handles.append(legend_line("not judged", **(usual | PALE)))
    if decisions and any(map(refuses, marks)):
        handles.append(legend_line("refuses everyone", **(usual | CROSS)))
    return handles
