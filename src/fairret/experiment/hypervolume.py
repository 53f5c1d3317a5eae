"""One number for a trade-off: the area that a method's marks dominate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.table import Table

from fairret.experiment.trade_off import (
    NOTIONS,
    UNFAIR,
    TradeOff,
    View,
    trade_off,
    variants_of,
)

if TYPE_CHECKING:
    import pandas as pd

VIEWS = {
    "AUROC, scores": View("auroc", "scores"),
    "log-loss, scores": View("log_loss", "scores"),
    "accuracy, decisions": View("accuracy", "decisions"),
    "log-loss, decisions": View("log_loss", "decisions"),
}


HEADS = {"statistic": "notion", "label": "method"}


class Volume(NamedTuple):
    """How much of what could be gained over Unfair a method gains."""

    dataset: str
    training: str  # in what it differs from other ways to train
    statistic: str
    traits: str
    view: str
    label: str
    marks: int
    value: float  # NaN without Unfair, or where Unfair leaves nothing to gain
    error: float  # standard error of the mean over seeds; NaN with a single one
    chance: bool  # whether Unfair itself is within the noise floor


def hypervolume(
    points: Iterable[tuple[float, float]], reference: tuple[float, float]
) -> float:
    r"""Measure what points dominate, where x should be large and y small.

    .. math::
        \mathrm{area} \bigcup_i [r_x, x_i] \times [y_i, r_y]

    Exact: points by falling x, each adding the strip below the lowest y so far.

    Args:
        points: Pairs x, y.
        reference: The corner :math:`(r_x, r_y)` that every point should beat.

    Example:
        >>> hypervolume([(3.0, 1.0), (2.0, 0.0)], reference=(0.0, 2.0))
        5.0
    """
    right, top = reference
    area, lowest = 0.0, top
    for x, y in sorted(points, reverse=True):
        if x > right and y < lowest:
            area += (x - right) * (lowest - y)
            lowest = y
    return area


def worst_utility(utility: str, base_rate: float) -> float:
    r"""Give the utility, larger being better, of a model that sees no features.

    AUROC ½; the accuracy of always guessing the commoner label; minus the log-loss of
    the base rate as everybody's score.
    """
    p = min(max(base_rate, 1e-12), 1 - 1e-12)
    return {
        "auroc": 0.5,
        "accuracy": max(p, 1 - p),
        "log_loss": p * math.log(p) + (1 - p) * math.log(1 - p),
    }[utility]


def volumes(data: pd.DataFrame, traits: Sequence[str] = ("all",)) -> list[Volume]:
    r"""Compute the volume of every dataset, notion and method, on the test rows.

    The reference point is :math:`(u_0, v_U)`: the utility of a model that sees no
    features (:func:`worst_utility`) and the violation of the Unfair model. Divided by
    :math:`(u_U - u_0) v_U`, a volume is 0 where nothing is gained over Unfair, and 1
    for all of its utility without any violation. The points are means over seeds, as in
    the figure; a method with more strengths has more of them, so compare grids of equal
    size.

    Args:
        data: A row for each run, from :func:`~fairret.experiment.summary.frame`.
        traits: "all" for violations of all traits, "single" for those of the single
            trait; fairrets are those that were trained for the same.
    """
    if "test/base_rate" not in data:  # nothing, or failed runs only
        return []
    found = []
    ways = variants_of(list(dict.fromkeys(data["training"])))
    for dataset, way, statistic, which in product(
        dict.fromkeys(data["dataset"]), ways, NOTIONS, traits
    ):
        own = data[(data["dataset"] == dataset) & (data["training"] == way)]
        rate = float(own["test/base_rate"].mean())
        for name, view in VIEWS.items():
            compared = trade_off(own, replace(view, traits=which), dataset, statistic)
            settings = (dataset, ways[way], statistic, which, name)
            found += _volumes(compared, view.utility, rate, settings)
    return found


def _volumes(
    compared: TradeOff,
    utility: str,
    base_rate: float,
    settings: tuple[str, str, str, str, str],
) -> list[Volume]:
    unfair = compared.unfair
    sign = -1 if utility == "log_loss" else 1
    lowest = worst_utility(utility, base_rate)
    chance = unfair is not None and bool(unfair.mean[1] <= unfair.floor.mean())

    def share(marks: Sequence[tuple[float, float]], of: tuple[float, float]) -> float:
        x, top = of
        full = (sign * x - lowest) * top
        area = hypervolume([(sign * x, y) for x, y in marks], (lowest, top))
        return area / full if full > 0 else math.nan

    rows = []
    for curve in compared.curves:
        if curve.method == UNFAIR:
            continue
        value, by_seed = math.nan, []
        if unfair is not None:
            value = share([mark.mean for mark in curve.marks], unfair.mean)
            counts = {len(mark.x) for mark in (*curve.marks, unfair)}
            if len(counts) == 1:  # all seeds have all marks
                by_seed = [
                    share([(m.x[k], m.y[k]) for m in curve.marks], (x, y))
                    for k, (x, y) in enumerate(zip(unfair.x, unfair.y, strict=True))
                ]
        error = math.nan
        if len(by_seed) > 1:
            error = statistics.stdev(by_seed) / math.sqrt(len(by_seed))
        rows.append(
            Volume(*settings, curve.label, len(curve.marks), value, error, chance)
        )
    return rows


def volume_table(found: Sequence[Volume]) -> Table:
    """Lay the volumes out: a row for each method, a column for each pair."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        caption="0: nothing gained over Unfair, 1: its utility without violation.\n"
        "±: one standard error over seeds. "
        "In parentheses: Unfair itself violates no more than chance would.",
        caption_justify="left",
    )
    # columns that say the same in every row are not worth the room
    shown = [
        name
        for name in ("dataset", "training", "statistic", "traits", "label")
        if name in ("dataset", "label") or len({getattr(v, name) for v in found}) > 1
    ]
    for name in shown:
        table.add_column(HEADS.get(name, name), no_wrap=True)
    for header in ("marks", *VIEWS):
        name = header.replace(", ", ",\n")
        table.add_column(name, justify="right", no_wrap=True)
    rows: dict[tuple[str, ...], dict[str, Volume]] = {}
    for one in found:
        words = {**one._asdict(), "statistic": NOTIONS[one.statistic]}
        row = tuple(str(words[name]) for name in shown)
        rows.setdefault(row, {})[one.view] = one
    for row, own in rows.items():
        numbers = [_word(own.get(view)) for view in VIEWS]
        marks = str(max(one.marks for one in own.values()))
        table.add_row(*row, marks, *numbers)
    return table


def _word(volume: Volume | None) -> str:
    if volume is None or not math.isfinite(volume.value):
        return "–"
    word = f"{volume.value:.2f}"
    if math.isfinite(volume.error):
        word += f" ± {volume.error:.2f}"
    return f"({word})" if volume.chance else f"{word} "
