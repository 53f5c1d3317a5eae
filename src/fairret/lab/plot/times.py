"""What training costs: by method (App. D.5), and by iterations (App. C.1)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairret.lab.experiment.methods import METHODS
from fairret.lab.experiment.trade_off import NOTIONS, Floats, count_test_rows
from fairret.lab.plot import style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATISTIC = "pr"  # both figures are of DP
USUAL = "usual"
FAR_APART = 10.0  # times the least: where bars need a log scale


class Bar(NamedTuple):
    """A value per seed."""

    label: str
    method: str
    values: Floats

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 for one seed, which has none."""
        n = len(self.values)
        return float(self.values.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0


def draw_run_times(
    data: pd.DataFrame, datasets: Sequence[str], statistics: Sequence[str]
) -> Figure:
    """Draw the seconds of training by method (App. D.5).

    Each method is shown at the stored strength that is nearest to 1; fairrets are
    those for DP, over all traits if there are such runs.
    """
    done = data[data["status"] == "done"]
    counts = count_test_rows(data)
    own = {d: _times(done[done["dataset"] == d]) for d in datasets}
    columns = [d for d in datasets if own[d]]
    if not columns:
        raise style.nothing_to_draw("runs of any method", data)
    bars = max(len(own[d]) for d in columns)
    size = (max(5.4, 3.3 * len(columns) + 0.8), 0.33 * bars + 1.7)
    means = [bar.mean for d in columns for bar in own[d]]
    on_log = max(means) > FAR_APART * min(means)
    with style.canvas(1, len(columns), size) as (figure, grid):
        for ax, dataset in zip(grid[0], columns, strict=True):
            _set_scale(ax, means, on_log=on_log)
            _draw_times(ax, own[dataset])
            ax.set_title(style.dataset_title(dataset, counts.get(dataset)))
        seeds = [len(bar.values) for d in columns for bar in own[d]]
        lines = [
            f"Training time for {_epochs(done)}, in seconds"
            f"{' on a log scale' * on_log} "
            f"and relative to Unfair; {style.mean_over(seeds)}"
            f"{', bars: standard error' if max(seeds) > 1 else ''}. Fairrets are for "
            f"{NOTIONS[STATISTIC]}, at the stored strength λ nearest to 1.",
            _rows(done, columns),
        ]
        style.set_caption(figure, lines)
    return figure


def _set_scale(ax: Axes, means: Sequence[float], *, on_log: bool) -> None:
    """Leave space for the numbers beside the bars."""
    if not on_log:
        ax.set_xlim(0, 1.5 * max(means))
        return
    low = 10 ** math.floor(math.log10(min(means) / 2))
    high = low * (max(means) / low) ** 1.5
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    style.set_steps(ax.xaxis, low, high)


def _epochs(done: pd.DataFrame) -> str:
    epochs = [json.loads(text)["epochs"] for text in done["training"]]
    return f"{style.span(epochs)} epochs"


def _times(data: pd.DataFrame) -> list[Bar]:
    bars = []
    order = [*METHODS, *dict.fromkeys(data["method"])]
    for method in dict.fromkeys(order):
        own = data[(data["method"] == method) & data["seconds"].notna()]
        own = own[own["statistic"].isin(["", STATISTIC])]
        if (own["traits"] == "all").any():
            own = own[own["traits"] == "all"]
        if own.empty:
            continue
        strengths = sorted(set(own["strength"]))
        strength = min(strengths, key=lambda s: abs(math.log(s)) if s > 0 else 0.0)
        own = own[own["strength"] == strength]
        own = own[own["options"] == own["options"].iloc[0]]
        label = f"{method}, λ = {strength:g}" if strength > 0 else method
        bars.append(Bar(label, method, own["seconds"].to_numpy(float)))
    return bars


def _draw_times(ax: Axes, bars: Sequence[Bar]) -> None:
    unfair = next((bar.mean for bar in bars if bar.method == "Unfair"), None)
    looks = style.assign_looks(bar.method for bar in bars)
    for row, bar in enumerate(bars):
        ax.barh(
            row,
            bar.mean,
            xerr=bar.error or None,
            color=looks[bar.method].colour,
            height=0.66,
            capsize=2,
            ecolor="0.2",
        )
        ax.annotate(
            f"{style.three_digits(bar.mean)} s"
            + (f", {bar.mean / unfair:.2f} ×" if unfair else ""),
            (bar.mean + bar.error, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set_yticks(range(len(bars)), [bar.label for bar in bars])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("training time in seconds")


def draw_iterations(
    data: pd.DataFrame, datasets: Sequence[str], statistics: Sequence[str]
) -> Figure:
    """Draw violation and time against the limit of iterations (App. C.1).

    Strengths are bars beside each other.
    """
    own = data[(data["method"] == "KL") & (data["statistic"] == STATISTIC)]
    own = own[own["traits"] == "all"]
    done, failed = own[own["status"] == "done"], int((own["status"] == "failed").sum())
    counts = count_test_rows(data)
    limits = {d: _limits(done[done["dataset"] == d]) for d in datasets}
    rows = [d for d in datasets if limits[d]]
    if not rows:
        raise style.nothing_to_draw(
            f"runs of KL for {STATISTIC} with `traits` all", data
        )
    strengths = sorted(set(done["strength"]))
    with style.canvas(len(rows), 2, (7.6, 2.3 * len(rows) + 1.0)) as (figure, grid):
        for axes, dataset in zip(grid, rows, strict=True):
            table = limits[dataset]
            name = style.dataset_title(dataset, counts.get(dataset))
            column = f"test/violation/{STATISTIC}/scores/all"
            _draw_limits(axes[0], table, strengths, column)
            handles = _draw_limits(axes[1], table, strengths, "seconds")
            axes[0].set_ylabel(f"{NOTIONS[STATISTIC]} violation")
            axes[1].set_ylabel("training time in seconds")
            axes[0].set_title(f"{name}: violation of test scores")
            axes[1].set_title(f"{name}: time")
        if len(strengths) > 1:
            style.set_legend(figure, handles)
        tables = [table for d in rows for table in limits[d].values()]
        seeds = [int(n) for table in tables for n in table.groupby("strength").size()]
        shows_usual = any(USUAL in limits[d] for d in rows)
        usual = f"; {USUAL}: the solver's own limit" if shows_usual else ""
        words = ", ".join(f"{s:g}" for s in strengths)
        lines = [
            "KL projection, trained with a limit on the solver's steps for each "
            f"batch (λ = {words}{usual}), for {_epochs(done)}."
            f" {style.mean_over(seeds).capitalize()}"
            f"{' with its standard error' if max(seeds) > 1 else ''}.",
            _rows(done, rows),
            f"Left out: {style.many(failed, 'failed run')}." if failed else "",
        ]
        style.set_caption(figure, lines)
    return figure


def _rows(done: pd.DataFrame, datasets: Sequence[str]) -> str:
    """Count the training and the test rows."""
    words = []
    for name in datasets:
        own = done[done["dataset"] == name]
        train, test = (
            style.spaced(own[f"{part}/rows"].mean()) for part in ("train", "test")
        )
        words.append(
            f"{style.dataset_title(name, None)} {train} to train on, {test} to test on"
        )
    return f"n: {'; '.join(words)}."


def _limits(data: pd.DataFrame) -> dict[str, Any]:
    """Group the runs by the name of their limit, in rising order."""
    if data.empty:
        return {}
    limits = data["options"].map(lambda text: json.loads(text).get("max_iter", 0))
    known = sorted(set(limits), key=lambda limit: limit or math.inf)
    return {str(limit) if limit else USUAL: data[limits == limit] for limit in known}


def _draw_limits(
    ax: Axes, table: dict[str, Any], strengths: Sequence[float], column: str
) -> list[Any]:
    width = 0.8 / len(strengths)
    groups = []
    for k, strength in enumerate(strengths):
        offset = (k - (len(strengths) - 1) / 2) * width
        own = [t[t["strength"] == strength][column] for t in table.values()]
        bars = {
            i + offset: Bar("", "KL", values.to_numpy(float))
            for i, values in enumerate(own)
            if len(values)
        }
        errors = [bar.error for bar in bars.values()]
        group = ax.bar(
            list(bars),
            [bar.mean for bar in bars.values()],
            yerr=errors if any(errors) else None,
            color=style.LOOKS["KL"].colour,
            alpha=(k + 1) / len(strengths),
            width=0.85 * width,
            capsize=3,
            ecolor="0.2",
            label=f"λ = {strength:g}",
        )
        groups.append(group)
    ax.set_xticks(range(len(table)), list(table))
    ax.set_xlabel("maximum number of solver steps")
    ax.grid(visible=False, axis="x")
    return groups
