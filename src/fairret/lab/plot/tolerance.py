"""Rules that keep a tolerance beside other packages: accuracy against violation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fairret.lab.dataset import TITLES
from fairret.lab.experiment.trade_off import NOTIONS
from fairret.lab.plot import style
from fairret.lab.plot.scale import WIDE, note_log_scale
from fairret.lab.tolerance.people import ALL, COMPARED, TREE_ROWS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 1.85  # inches per row of panels
LEAST_SPAN = 0.04  # of accuracy in a panel: less than 0.005 is noise
INFORMED = (0, (4, 2))  # dashes of methods that decide with the trait
LOOKS = {
    "boosting": style.Look("#000000", "*"),
    "network": style.Look("#777777", "*"),
    "exact blind boosting": style.Look("#0072B2", "o"),
    "exact blind network": style.Look("#009E73", "s"),
    "ExponentiatedGradient": style.Look("#D55E00", "<"),
    "grid": style.Look("#E69F00", "D"),
    "exact informed boosting": style.Look("#0072B2", "o", INFORMED),
    "exact informed network": style.Look("#009E73", "s", INFORMED),
    "ThresholdOptimizer": style.Look("#CC79A7", "v", INFORMED),
    "OxonFair": style.Look("#882255", "p", INFORMED),
}
LABELS = {
    "boosting": "trees, no tolerance",
    "network": "network, no tolerance",
    "grid": "grid of fairrets",
}
TRAITS = {"marital": "marital status"}  # columns whose names are short
FILES = {"one": "tolerance_peers", ALL: "tolerance"}


class Panel(NamedTuple):
    """A dataset, the trait that counts, and a notion."""

    dataset: str
    traits: str
    notion: str


def draw(data: pd.DataFrame, folder: Path) -> list[Path]:
    """Write a figure for one trait with other packages, and one for all traits.

    Raises:
        NoResultsError: If there are no results.
        MissingExtraError: If matplotlib is not installed.
    """
    files = []
    for which, name in FILES.items():
        if _panels(data, which):
            files += style.save(draw_one(data, which), folder, name)
    if not files:
        raise style.NoResultsError(
            "`output` must hold results of methods with a violation on test rows; got "
            "none. Run `fairret tolerance` first."
        )
    return files


def draw_one(data: pd.DataFrame, which: str) -> Figure:
    """Draw a panel per dataset and notion, best results in the lower right.

    Args:
        data: A row per case.
        which: "all" for all traits at once, "one" for the trait that peers take.
    """
    panels = _panels(data, which)
    datasets = list(dict.fromkeys(one.dataset for one in panels))
    notions = [n for n in NOTIONS if any(one.notion == n for one in panels)]
    width = min(style.WIDTH, max(6.4, 2.9 * len(datasets) + 0.5))
    size = (width, HEIGHT * len(notions) + 3)  # enough to lay it out
    shown: set[str] = set()
    with style.canvas(len(notions), len(datasets), size) as (figure, grid):
        for i, notion in enumerate(notions):
            for j, dataset in enumerate(datasets):
                own = [p for p in panels if (p.dataset, p.notion) == (dataset, notion)]
                if own:
                    shown |= _draw_panel(grid[i, j], data, own[0])
                    if which != ALL:
                        _name_trait(grid[i, j], own[0].traits)
                else:
                    grid[i, j].set_axis_off()
            grid[i, 0].set_ylabel(f"{NOTIONS[notion]} violation")
        for j, dataset in enumerate(datasets):
            grid[0, j].set_title(TITLES.get(dataset, dataset))
            grid[-1, j].set_xlabel("accuracy")
        style.set_legend(figure, [_handle(name) for name in LOOKS if name in shown])
        style.set_caption(figure, _caption(data, datasets, which))
        style.set_height(figure, HEIGHT * len(notions))
    return figure


def _name_trait(ax: Axes, trait: str) -> None:
    """Write the trait of a panel into its lower left corner."""
    words = TRAITS.get(trait, trait)
    ax.text(*(0.02, 0.02, words), transform=ax.transAxes, style="italic")


def _panels(data: pd.DataFrame, which: str) -> list[Panel]:
    """List what to draw; of one trait, the one where other packages have results."""
    done = data[data["test/violation"].notna() & data["method"].isin(LOOKS)]
    found: dict[tuple[str, str], Panel] = {}
    for dataset, traits, notion in zip(
        done["dataset"], done["traits"], done["notion"], strict=True
    ):
        if (traits == ALL) != (which == ALL):
            continue
        first = COMPARED[dataset][0] == traits
        if first or (dataset, notion) not in found:
            found[dataset, notion] = Panel(dataset, traits, notion)
    order = list(NOTIONS)
    return sorted(found.values(), key=lambda p: order.index(p.notion))


def _draw_panel(ax: Axes, data: pd.DataFrame, panel: Panel) -> set[str]:
    """Draw the methods of one panel, and return their names."""
    own = data
    for name, value in panel._asdict().items():
        own = own[own[name] == value]
    own = own[own["test/violation"].notna()]
    shown = set()
    levels: list[float] = []
    for method, look in LOOKS.items():
        points = own[own["method"] == method].groupby("tolerance")
        x, y = points["test/accuracy"], points["test/violation"]
        if not len(x):
            continue
        shown.add(method)
        levels += list(y.mean())
        alone = look.marker == "*"
        ax.errorbar(
            x.mean(),
            y.mean(),
            xerr=x.sem().fillna(0),
            yerr=y.sem().fillna(0),
            color=look.colour,
            ecolor=(look.colour, 0.35),
            elinewidth=0.7,
            marker=look.marker,
            markersize=9 if alone else 4.5,
            markerfacecolor="white" if look.dashes == INFORMED else look.colour,
            markeredgewidth=0.9,
            linestyle="" if alone else look.dashes,
            linewidth=1.1,
            zorder=4 if alone else 3,
        )
    _set_scales(ax, levels)
    return shown


def _set_scales(ax: Axes, levels: Sequence[float]) -> None:
    """Choose the scale of violations, and do not magnify small gains."""
    if min(levels) > 0 and max(levels) > WIDE * min(levels):
        ax.set_yscale("log")
        style.set_steps(ax.yaxis, *ax.get_ylim())
        note_log_scale(ax)
    else:
        ax.set_ylim(0, 1.08 * max(levels))
    low, high = ax.get_xlim()
    more = max(0.0, LEAST_SPAN - (high - low)) / 2
    ax.set_xlim(low - more, high + more)
    ax.locator_params(axis="x", nbins=4)


def _handle(method: str) -> object:
    look = LOOKS[method]
    alone = look.marker == "*"
    return style.legend_line(
        LABELS.get(method, method.removeprefix("exact ")),
        color=look.colour,
        marker=look.marker,
        markersize=9 if alone else 5,
        markerfacecolor="white" if look.dashes == INFORMED else look.colour,
        linestyle="" if alone else look.dashes,
    )


def _caption(data: pd.DataFrame, datasets: Sequence[str], which: str) -> list[str]:
    own = data[data["dataset"].isin(datasets) & data["method"].isin(LOOKS)]
    seeds = own.groupby(["dataset", "method"])["seed"].nunique().tolist()
    limits = sorted({t for t in own["tolerance"] if math.isfinite(t)}, reverse=True)
    bars = ", bars: standard errors" if max(seeds) > 1 else ""
    traits = "all traits at once" if which == ALL else "one trait, named in each panel"
    return [
        f"Decisions on the test rows, for {traits}: the largest violation and the "
        f"accuracy, {style.mean_over(seeds)}{bars}.",
        f"Each mark is a tolerance, {', '.join(f'{t:g}' for t in limits)}, joined in "
        "their order; other packages bound differences, ours ratios.",
        "Dashed lines and hollow marks: the method is told the trait of a person when "
        "it decides.",
        f"Trees: {style.spaced(TREE_ROWS)} rows of each dataset.",
    ]
