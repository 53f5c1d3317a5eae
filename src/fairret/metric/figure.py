"""Plots of the groups' statistics with intervals against the overall value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from fairret.errors import ArgumentError, missing_extra
from fairret.metric.compute import Measured
from fairret.metric.group_value import GroupValue
from fairret.metric.result import ParityResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUP, BEYOND, TOO_FEW, BAND = "#1f5fa8", "#b3390e", "#6b7480", "#d9e2ee"


def draw(
    measured: Sequence[Measured], ax: Axes | Sequence[Axes] | None
) -> tuple[Figure, Axes | list[Axes]]:
    """Plot a panel per statistic, of decisions if there are any.

    Args:
        measured: The notions.
        ax: Axes for each statistic; by default a new figure.

    Returns:
        The figure and its axes, as a list if there are several.
    """
    results = [part for x in measured for part in (x[1] or x[0]).parts.values()]
    kinds = ["scores" if x[1] is None else "decisions" for x in measured]
    panels = _panels(len(results), len(results[0].names), ax)
    for panel, result in zip(panels, results, strict=True):
        _draw_panel(panel, result, kinds[0])
    figure = cast("Figure", panels[0].get_figure())
    return figure, panels if len(panels) > 1 else panels[0]


def _panels(count: int, groups: int, ax: Axes | Sequence[Axes] | None) -> list[Axes]:
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise missing_extra("`plot` needs", "matplotlib", "plot") from None
        height = 1.2 + 0.32 * (groups + 1)
        _, grid = plt.subplots(
            count, 1, figsize=(7, count * height), layout="constrained", squeeze=False
        )
        return list(grid[:, 0])
    panels = list(ax) if isinstance(ax, Sequence) else [ax]
    if len(panels) != count:
        raise ArgumentError(
            f"`ax` must be one pair of axes for each of the {count} statistics; got "
            f"{len(panels)}. Leave it out to make a new figure."
        )
    return panels


def _draw_panel(ax: Axes, result: ParityResult, kind: str) -> None:
    overall = float(result.overall)
    groups = list(result.groups.values())
    for row, group in enumerate(groups):
        if group.judged:
            width = group.chance_high - group.chance_low
            ax.barh(row, width, left=group.chance_low, height=0.7, color=BAND, zorder=1)
        fmt, color, fill = _marker(group)  # differ in shape and fill too
        ax.errorbar(
            group.statistic,
            row,
            xerr=[[group.statistic - group.low], [group.high - group.statistic]],
            fmt=fmt,
            color=color,
            markerfacecolor=fill,
            capsize=3,
            zorder=3,
        )
    ax.axvline(overall, color="0.3", linestyle="--", linewidth=1.2, zorder=2)
    few = f"; ×: fewer than {result.min_size:g} rows" if result.too_few else ""
    ax.set_yticks(range(len(groups)), result.names)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.set_xlabel(
        f"{result.notion} of {kind}, n = {result.n}; "
        f"dashed: overall, shaded: within chance{few}"
    )
    ax.set_title(_title(result), loc="left")
    ax.spines[["top", "right"]].set_visible(False)


def _marker(group: GroupValue) -> tuple[str, str, str]:
    """The shape, colour and fill of a group's marker."""
    if not group.judged:
        return "x", TOO_FEW, TOO_FEW
    if group.beyond_chance:
        return "D", BEYOND, BEYOND
    return "o", GROUP, "white"


def _title(result: ParityResult) -> str:
    """The verdict, and the largest violation with its interval."""
    found = result.largest_violation
    if not result.can_be_judged:
        return f"{result.notion}: too few rows to judge"
    verdict = "beyond" if result.beyond_chance else "within"
    same = "; almost everybody gets the same decision" if result.degenerate else ""
    return (
        f"{result.notion}: {verdict} chance, violation {float(found.estimate):.1%} "
        f"[{float(found.low):.1%}, {float(found.high):.1%}]{same}"
    )
