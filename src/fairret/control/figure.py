"""A figure of the trade-off: accuracy against the violation, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fairret.control.certificates import MEASURES
from fairret.errors import missing_extra
from fairret.metric.rounding import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairret.control.tradeoffs import Mode, Tradeoff

BLIND, INFORMED = ("#b3390e", "s"), ("#1f5fa8", "o")
PLAIN = "#30363d"


def draw(curve: Tradeoff, ax: Axes | None) -> tuple[Figure, Axes]:
    """Draw one line per kind of rule; bars are intervals for the population."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise missing_extra("`plot` needs", "matplotlib", "plot") from None
        _, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for mode in dict.fromkeys(own for own, _ in curve.solutions):
        _draw_mode(ax, curve, mode)
    plain = curve.points[0]
    ax.errorbar(
        plain.value,
        plain.accuracy,
        xerr=[[plain.value - plain.low], [plain.high - plain.value]],
        fmt="D",
        color=PLAIN,
        capsize=3,
        label="no tolerance",
        zorder=4,
    )
    if curve.kind == "min_ratio":
        ax.invert_xaxis()  # fair is on the left, as for the others
    ax.set_xlabel(
        f"{MEASURES[curve.kind]} ({' and '.join(curve.notions)}); bars: "
        f"{percent(curve.confidence)} confidence for the population"
    )
    ax.set_ylabel("accuracy")
    ax.set_title(f"Accuracy by tolerance, n = {curve.n:,}", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    return cast("Figure", ax.get_figure()), ax


def _draw_mode(ax: Axes, curve: Tradeoff, mode: Mode) -> None:
    points = [p for p in curve.points if p.mode == mode]
    color, marker = BLIND if mode == "blind" else INFORMED
    value = [p.value for p in points]
    ax.errorbar(
        value,
        [p.accuracy for p in points],
        xerr=[
            [p.value - p.low for p in points],
            [p.high - p.value for p in points],
        ],
        color=color,
        ecolor=color + "55",
        elinewidth=1.2,
        marker=marker,
        markerfacecolor="white",
        capsize=2,
        label=mode,
        zorder=3,
    )
    missed = [p for p in points if p.status != "met"]
    ax.plot(
        [p.value for p in missed],
        [p.accuracy for p in missed],
        "x",
        color=color,
        markersize=9,
        zorder=5,
        label=f"{mode}, tolerance missed" if missed else None,
    )
