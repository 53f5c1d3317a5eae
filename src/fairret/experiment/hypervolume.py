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
    Curve,
    Mark,
    TradeOff,
    View,
    count_test_rows,
    trade_off,
    variants_of,
    ways_of,
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
CAPTION = """\
0: nothing gained over Unfair; 1: its utility without more violation than by chance.
Mean over the seeds ± its standard error; each seed is compared with its own Unfair.
–: no numbers, or on the test rows of a seed Unfair violates no more than by chance.
( ): in the mean it does so on the training rows as well as on the test rows.
marks: strengths that count; not those with an AUROC far below Unfair's."""


class Volume(NamedTuple):
    """How much of what could be gained over Unfair a method gains."""

    dataset: str
    training: str  # in what it differs from other ways to train
    statistic: str
    traits: str
    view: str
    label: str
    marks: int
    seeds: int  # those that Unfair and every mark have
    value: float  # mean over seeds; NaN where Unfair leaves nothing to gain in one
    error: float  # its standard error; NaN with a single seed
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

    Seed by seed, the marks of a method are compared with the Unfair model of the same
    seed: its utility :math:`u_U`, its violation :math:`v_U` and its noise floor
    :math:`f`, the violation that it would show by chance if it were fair. Below
    :math:`f` no mark is fairer than another, so marks count as
    :math:`(u, \max(v, f))`. Their area from the reference point :math:`(u_0, v_U)`,
    where :math:`u_0` is the utility of a model that sees no features
    (:func:`worst_utility`), is divided by :math:`(u_U - u_0)(v_U - f)`: 0 where nothing
    is gained over Unfair, 1 for all of its utility without more violation than by
    chance. Where Unfair is not above :math:`f`, there is nothing to gain: NaN.

    A volume is the mean over the seeds that Unfair and all marks of the method have;
    `seeds` says how many. A method with more strengths has more marks, so compare grids
    of equal size.

    Args:
        data: A row for each run, from :func:`~fairret.experiment.frames.frame`.
        traits: "all" for violations of all traits, "single" for those of the single
            trait; fairrets are those that were trained for the same.

    Raises:
        MixedRowsError: If runs of a dataset are not of the same rows.
    """
    if "test/base_rate" not in data:  # nothing, or failed runs only
        return []
    count_test_rows(data)
    found = []
    data = data.assign(training=ways_of(data))
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
    rows = []
    for curve in compared.curves:
        if curve.method == UNFAIR:
            continue
        shares = [] if unfair is None else _shares(curve, unfair, sign, lowest)
        value = statistics.fmean(shares) if shares else math.nan
        error = math.nan
        if len(shares) > 1 and math.isfinite(value):  # stdev takes no NaN
            error = statistics.stdev(shares) / math.sqrt(len(shares))
        count = (len(curve.marks), len(shares))
        rows.append(
            Volume(*settings, curve.label, *count, value, error, compared.chance)
        )
    return rows


def _shares(curve: Curve, unfair: Mark, sign: int, lowest: float) -> list[float]:
    """Give the share of each seed that Unfair and all marks have."""
    marks = [_by_seed(mark) for mark in curve.marks]
    floors = dict(zip(unfair.seeds, unfair.floor, strict=True))
    found = []
    for seed, (x, top) in _by_seed(unfair).items():
        if not all(seed in mark for mark in marks):
            continue
        gain, room = sign * x - lowest, top - floors[seed]
        if not (gain > 0 and room > 0):  # nor if one is NaN
            found.append(math.nan)
            continue
        points = [
            (sign * u, max(v, floors[seed])) for u, v in (mark[seed] for mark in marks)
        ]
        found.append(hypervolume(points, (lowest, top)) / (gain * room))
    return found


def _by_seed(mark: Mark) -> dict[int, tuple[float, float]]:
    pairs = zip(mark.x.tolist(), mark.y.tolist(), strict=True)
    return dict(zip(mark.seeds, pairs, strict=True))


def volume_table(found: Sequence[Volume]) -> Table:
    """Lay the volumes out: a row for each method, a column for each pair."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        caption=CAPTION,
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
    for header in ("marks", "seeds", *VIEWS):
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
        fewest, most = (f(one.seeds for one in own.values()) for f in (min, max))
        seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
        table.add_row(*row, marks, seeds, *numbers)
    return table


def _word(volume: Volume | None) -> str:
    if volume is None:
        return "– "
    word = f"{volume.value:.2f}" if math.isfinite(volume.value) else "–"
    if math.isfinite(volume.error):
        word += f" ± {volume.error:.2f}"
    return f"({word})" if volume.chance else f"{word} "
