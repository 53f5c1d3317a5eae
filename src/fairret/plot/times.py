"""What training costs: by method (App. D.5), and by iterations (App. C.1)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairret.experiment.methods import METHODS
from fairret.experiment.trade_off import NOTIONS, Floats, count_test_rows
from fairret.plot.style import (
    canvas,
    look_of,
    looks_of,
    many,
    none_of,
    set_caption,
    set_legend,
    set_steps,
    spaced,
    span,
    three_digits,
    title_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STATISTIC = "pr"  # both figures are of DP
USUAL = "usual"
FAR_APART = 10.0  # times the least: where bars need a log scale


class Bar(NamedTuple):
    """A number for each seed, and what it is of."""

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
        raise none_of("runs of any method", data)
    bars = max(len(own[d]) for d in columns)
    size = (max(5.4, 3.3 * len(columns) + 0.8), 0.33 * bars + 1.7)
    means = [bar.mean for d in columns for bar in own[d]]
    on_log = max(means) > FAR_APART * min(means)
    with canvas(1, len(columns), size) as (figure, grid):
        for ax, dataset in zip(grid[0], columns, strict=True):
            _set_scale(ax, means, on_log=on_log)
            _draw_times(ax, own[dataset])
            ax.set_title(title_of(dataset, counts.get(dataset)))
        seeds = [len(bar.values) for d in columns for bar in own[d]]
        lines = [
            f"Seconds of training for {_epochs(done)}{', on a log scale,' * on_log} "
            f"and times those of Unfair; mean over {span(seeds)} "
            f"seed{'s' if max(seeds) > 1 else ''}"
            f"{', bars: standard error' if max(seeds) > 1 else ''}. Fairrets are for "
            f"{NOTIONS[STATISTIC]}, at the stored strength λ nearest to 1.",
            _rows(done, columns),
        ]
        set_caption(figure, lines)
    return figure


def _set_scale(ax: Axes, means: Sequence[float], *, on_log: bool) -> None:
    """Leave room for the numbers beside the bars."""
    if not on_log:
        ax.set_xlim(0, 1.5 * max(means))
        return
    low = 10 ** math.floor(math.log10(min(means) / 2))
    high = low * (max(means) / low) ** 1.5
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    set_steps(ax.xaxis, low, high)


def _epochs(done: pd.DataFrame) -> str:
    return f"{span([json.loads(text)['epochs'] for text in done['training']])} epochs"


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
        far = {s: abs(math.log(s)) if s > 0 else 0.0 for s in set(own["strength"])}
        strength = min(sorted(far), key=lambda s: far[s])
        own = own[own["strength"] == strength]
        own = own[own["options"] == own["options"].iloc[0]]
        label = f"{method}, λ = {strength:g}" if strength > 0 else method
        bars.append(Bar(label, method, own["seconds"].to_numpy(float)))
    return bars


def _draw_times(ax: Axes, bars: Sequence[Bar]) -> None:
    unfair = next((bar.mean for bar in bars if bar.method == "Unfair"), None)
    looks = looks_of(bar.method for bar in bars)
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
            f"{three_digits(bar.mean)} s"
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
    done, failed = _done(data, "KL")
    counts = count_test_rows(data)
    own = {d: _limits(done[done["dataset"] == d]) for d in datasets}
    rows = [d for d in datasets if own[d]]
    if not rows:
        raise none_of(f"runs of KL for {STATISTIC} with `traits` all", data)
    strengths = sorted(set(done["strength"]))
    with canvas(len(rows), 2, (7.6, 2.3 * len(rows) + 1.0)) as (figure, grid):
        for axes, dataset in zip(grid, rows, strict=True):
            table = own[dataset]
            name = title_of(dataset, counts.get(dataset))
            column = f"test/violation/{STATISTIC}/scores/all"
            _draw_limits(axes[0], table, strengths, column)
            handles = _draw_limits(axes[1], table, strengths, "seconds")
            axes[0].set_ylabel(f"{NOTIONS[STATISTIC]} violation")
            axes[1].set_ylabel("training time in seconds")
            axes[0].set_title(f"{name}: violation of test scores")
            axes[1].set_title(f"{name}: time")
        if len(strengths) > 1:
            set_legend(figure, handles)
        of_bars = [t.groupby("strength").size() for d in rows for t in own[d].values()]
        seeds = [int(count) for counts in of_bars for count in counts]
        several = max(seeds) > 1
        shows_usual = any(USUAL in own[d] for d in rows)
        usual = f"; {USUAL}: the solver's own limit" if shows_usual else ""
        words = ", ".join(f"{s:g}" for s in strengths)
        lines = [
            "KL-projection, trained with at most so many steps of the solver for each "
            f"batch (λ = {words}{usual}), for {_epochs(done)}."
            f" Mean over {span(seeds)} seed{'s' if several else ''}"
            f"{' with its standard error' if several else ''}.",
            _rows(done, rows),
            f"Left out: {many(failed, 'failed run')}." if failed else "",
        ]
        set_caption(figure, lines)
    return figure


def _rows(done: pd.DataFrame, datasets: Sequence[str]) -> str:
    """Say how many rows were trained on, and tested on."""
    words = []
    for name in datasets:
        own = done[done["dataset"] == name]
        train, test = (spaced(own[f"{part}/rows"].mean()) for part in ("train", "test"))
        words.append(f"{title_of(name, None)} {train} to train on, {test} to test on")
    return f"n: {'; '.join(words)}."


def _limits(data: pd.DataFrame) -> dict[str, Any]:
    """Give the runs of each limit, by its name, rising."""
    if data.empty:
        return {}
    limits = data["options"].map(lambda text: json.loads(text).get("max_iter", 0))
    known = sorted(set(limits), key=lambda limit: limit or math.inf)
    return {str(limit) if limit else USUAL: data[limits == limit] for limit in known}


def _draw_limits(
    ax: Axes, table: dict[str, Any], strengths: Sequence[float], column: str
) -> list[Any]:
    colour = look_of("KL").colour
    width = 0.8 / len(strengths)
    groups = []
    for k, strength in enumerate(strengths):
        own = [t[t["strength"] == strength][column] for t in table.values()]
        bars = [Bar("", "KL", one.to_numpy(float)) for one in own]
        places = [i + (k - (len(strengths) - 1) / 2) * width for i in range(len(bars))]
        there = [
            (x, bar) for x, bar in zip(places, bars, strict=True) if len(bar.values)
        ]
        group = ax.bar(
            [x for x, _ in there],
            [bar.mean for _, bar in there],
            yerr=[bar.error for _, bar in there]
            if any(b.error for _, b in there)
            else None,
            color=colour,
            alpha=(k + 1) / len(strengths),
            width=0.85 * width,
            capsize=3,
            ecolor="0.2",
            label=f"λ = {strength:g}",
        )
        groups.append(group)
    ax.set_xticks(range(len(table)), list(table))
    ax.set_xlabel("most iterations")
    ax.grid(visible=False, axis="x")
    return groups


def _done(data: pd.DataFrame, method: str) -> tuple[pd.DataFrame, int]:
    """Take a method's runs for DP and all traits; count those that failed."""
    own = data[(data["method"] == method) & (data["statistic"] == STATISTIC)]
    own = own[own["traits"] == "all"]
    return own[own["status"] == "done"], int((own["status"] == "failed").sum())
