"""AUROC by network and learning rate (App. D.2)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairret.lab.dataset import TITLES
from fairret.lab.plot import style
from fairret.training import TrainingSettings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMN = "validation/auroc"


def draw_architectures(
    data: pd.DataFrame, datasets: Sequence[str], statistics: Sequence[str]
) -> Figure:
    """Draw a cell per network and learning rate, with its AUROC on held-out rows.

    Raises:
        NoResultsError: If no run held rows out.
    """
    from matplotlib.patches import Rectangle

    done = data[(data["status"] == "done") & (data["method"] == "Unfair")]
    if COLUMN not in done or done[COLUMN].isna().all():
        wanted = "runs of Unfair with `validation` above 0"
        raise style.nothing_to_draw(wanted, data)
    own = done[done["dataset"] == next(d for d in datasets if d in {*done["dataset"]})]
    means, counts = auroc_table(own)
    usual = TrainingSettings()
    paper = _name(usual.hidden), usual.learning_rate
    size = (6.4, 0.32 * len(means) + 1.6)
    with style.canvas(1, 1, size) as (figure, grid):
        ax = grid[0, 0]
        # a few far worse networks would leave the others with one colour
        low, best = means.stack().quantile([0.25, 1])
        ax.imshow(means, cmap="Blues", vmin=low, aspect="auto", alpha=0.6)
        ax.grid(visible=False)
        ax.set_xticks(range(len(means.columns)), [f"{x:g}" for x in means.columns])
        ax.set_yticks(range(len(means)), means.index)
        ax.set_xlabel("learning rate")
        ax.set_ylabel("hidden layers")
        ax.set_title(TITLES.get(own["dataset"].iloc[0], own["dataset"].iloc[0]))
        for (i, j), value in _cells(means):
            weight = "bold" if value == best else "normal"
            ax.text(j, i, f"{value:.4f}", ha="center", va="center", fontweight=weight)
            if (means.index[i], means.columns[j]) == paper:
                ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, lw=1.2))
        style.set_caption(
            figure,
            [
                "AUROC on validation rows by sizes of the hidden layers and learning "
                f"rate; {style.mean_over(counts)}. Bold: the largest; box: the paper's "
                "choice. The lowest quarter has one colour."
            ],
        )
    return figure


def auroc_table(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[int]]:
    """Mean AUROC by network (rows) and learning rate; and the numbers of seeds."""
    settings = runs["training"].map(json.loads)
    layers = settings.map(lambda x: _name(x["hidden"]))
    rates = settings.map(lambda x: x["learning_rate"])
    cells = runs.assign(layers=layers, rate=rates).groupby(["layers", "rate"])[COLUMN]
    means = cells.mean().unstack()
    order = [*dict.fromkeys(layers)]
    rates_down = sorted(means.columns, reverse=True)
    return means.loc[order, rates_down], cells.count().tolist()


def _name(hidden: Sequence[int]) -> str:
    return "-".join(map(str, hidden)) or "none"


def _cells(table: pd.DataFrame) -> list[tuple[tuple[int, int], float]]:
    return [
        ((i, j), float(table.iloc[i, j]))
        for i in range(table.shape[0])
        for j in range(table.shape[1])
    ]
