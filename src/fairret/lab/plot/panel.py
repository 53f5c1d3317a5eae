"""One panel of a trade-off figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairret.lab.experiment.trade_off import UNFAIR, Curve, Mark, TradeOff
from fairret.lab.plot.ellipse import draw_ellipse
from fairret.lab.plot.looks import CROSS, HOLLOW, PALE, mark_size, refuses, styled
from fairret.lab.plot.scale import set_scale, set_width, without_outliers
from fairret.lab.plot.style import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    inside = without_outliers(compared, decisions, falling)
    set_scale(ax, inside)
    for curve, look, style in styled(compared.curves, looks):
        _draw_curve(ax, curve, look, style, decisions, judged)
    if not marks:
        ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center")
    if inside:
        set_width(ax, inside)
    if falling:
        ax.invert_xaxis()
    beyond = [
        _draw_arrow(ax, mark, look.colour, refused=decisions and refuses(mark))
        for curve, look, _ in styled(compared.curves, looks)
        for mark in curve.marks
        if inside
    ]
    ax.locator_params(axis="x", nbins=4)
    return sum(beyond)


def _draw_arrow(ax: Axes, mark: Mark, colour: str, *, refused: bool) -> bool:
    """Point to a mark if it is beyond the edge; tell whether it is.

    A model that refuses everyone has its cross there.
    """
    x, y = mark.mean
    (left, right), (bottom, top) = sorted(ax.get_xlim()), ax.get_ylim()
    if left <= x <= right and y <= top:
        return False
    place = (min(max(x, left), right), min(max(y, bottom), top))
    beside = "left" if (x < left) != ax.xaxis_inverted() else "right"
    marker = "x" if refused else rf"$\{'up' if y > top else beside}arrow$"
    ax.plot(
        *place,
        color=colour,
        marker=marker,
        markersize=7,
        markeredgewidth=1.5 if refused else 0.3,
        clip_on=False,
        label="_beyond",
        zorder=5,
    )
    return True


def _draw_curve(
    ax: Axes, curve: Curve, look: Look, style: str, decisions: bool, judged: bool
) -> None:
    unfair = curve.method == UNFAIR
    for mark in curve.marks:
        draw_ellipse(ax, mark, look.colour)
    size = mark_size(curve)
    crossed = [decisions and refuses(mark) for mark in curve.marks]
    joined = [m.mean for m, no in zip(curve.marks, crossed, strict=True) if not no]
    ax.plot(
        *(zip(*joined, strict=True) if joined else ([], [])),
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
        ("_refuses", crossed, CROSS),
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
