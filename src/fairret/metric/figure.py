"""A figure of the groups' statistics, with intervals, against the overall value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from fairret.errors import ArgumentError, MissingExtraError
from fairret.metric.result import Measured, ParityResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUP, BEYOND, BAND = "#1f5fa8", "#b3390e", "#d9e2ee"


def draw(
    measured: Sequence[Measured], ax: Axes | Sequence[Axes] | None
) -> tuple[Figure, Axes | list[Axes]]:
    """Draw a panel for every statistic, of decisions where there are any.

    Args:
        measured: The notions.
        ax: Where to draw: axes for each statistic; by default a new figure.

    Returns:
        The figure, and its axes, a list if there are several.
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
            raise MissingExtraError(
                "`plot` needs matplotlib, which is not installed. Run `pip install "
                "'fairret[plot]'`."
            ) from None
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
        half = abs(overall) * group.noise_floor
        ax.barh(row, 2 * half, left=overall - half, height=0.7, color=BAND, zorder=1)
        off = group.beyond_chance
        ax.errorbar(
            group.statistic,
            row,
            xerr=[[group.statistic - group.low], [group.high - group.statistic]],
            fmt="D" if off else "o",  # told apart by shape and fill too
            color=BEYOND if off else GROUP,
            markerfacecolor=BEYOND if off else "white",
            capsize=3,
            zorder=3,
        )
    ax.axvline(overall, color="0.3", linestyle="--", linewidth=1.2, zorder=2)
    ax.set_yticks(range(len(groups)), result.names)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.set_xlabel(
        f"{result.notion} of {kind}, n = {result.n}; dashed: overall, shaded: chance"
    )
    ax.set_title(
        f"{result.notion}: violation {float(result.max_violation):.0%}, "
        f"by chance up to {float(result.noise_floor):.0%}",
        loc="left",
    )
    ax.spines[["top", "right"]].set_visible(False)
