"""One number for a trade-off: the share of the possible gain that a method reaches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from fairret.lab.experiment.area import curve_volume, hypervolume
from fairret.lab.experiment.trade_off import (
    NOTIONS,
    UNFAIR,
    Curve,
    Mark,
    TradeOff,
    View,
    count_test_rows,
    name_variants,
    trade_off,
)

if TYPE_CHECKING:
    import pandas as pd

VIEWS = {
    "AUROC, scores": View("auroc", "scores"),
    "log-loss, scores": View("log_loss", "scores"),
    "accuracy, decisions": View("accuracy", "decisions"),
    "log-loss, decisions": View("log_loss", "decisions"),
}
AT_BASE_RATE = {
    "accuracy, decisions at the base rate": View(
        "accuracy_at_base_rate", "decisions at the base rate"
    )
}
"""A further pair: decisions that accept as many as there are positive labels."""


class Share(NamedTuple):
    """The share of the possible gain that a method reaches in one seed."""

    steps: float  # that its marks dominate
    curve: float  # that the lines between them dominate


class Volume(NamedTuple):
    """The share of the possible gain over Unfair that a method reaches."""

    dataset: str
    training: str  # the settings in which it differs from others
    statistic: str
    traits: str
    view: str
    label: str
    marks: int
    seeds: int  # those that Unfair and every mark have
    value: float  # mean over seeds; NaN if Unfair leaves nothing to gain in one of them
    error: float  # its standard error; NaN with a single seed
    curve: float  # the same for the lines between the marks, from Unfair on
    curve_error: float
    chance: bool  # whether Unfair itself is within chance
    shares: dict[int, Share]  # by seed


def worst_utility(utility: str, base_rate: float) -> float:
    r"""Utility of a model without features; larger is better.

    AUROC ½; the accuracy of always guessing the commoner label, or of accepting as many
    as there are positives at random; minus the log-loss of the base rate as everybody's
    score.
    """
    p = min(max(base_rate, 1e-12), 1 - 1e-12)
    return {
        "auroc": 0.5,
        "accuracy": max(p, 1 - p),
        "accuracy_at_base_rate": p**2 + (1 - p) ** 2,
        "log_loss": p * math.log(p) + (1 - p) * math.log(1 - p),
    }[utility]


def volumes(
    data: pd.DataFrame,
    traits: Sequence[str] = ("all",),
    measure: Literal["violation", "violation_beyond_chance"] = "violation",
    views: Mapping[str, View] | None = None,
) -> list[Volume]:
    r"""Compute the volume of every dataset, notion and method, on the test rows.

    For each seed, the marks of a method are compared with the Unfair model of the same
    seed: its utility :math:`u_U`, its violation :math:`v_U` and its noise floor
    :math:`f`, the violation expected by chance. Below :math:`f` no mark is fairer than
    another, so marks count as :math:`(u, \max(v, f))`. Their area from the reference
    point :math:`(u_0, v_U)`, where :math:`u_0` is the utility of a model without
    features (:func:`worst_utility`), is divided by :math:`(u_U - u_0)(v_U - f)`: 0
    means no gain over Unfair, 1 its full utility without more violation than by chance.
    Where Unfair is not above :math:`f`, there is nothing to gain: NaN.

    A volume is the mean over the seeds that Unfair and all marks of the method have;
    `seeds` is their number. A method with more strengths has more marks, so compare
    grids of equal size, or the area below the curve that joins Unfair and the marks in
    the order of their strengths (`curve`). Models that refuse everyone do not count for
    decisions: they are fair only because they decide nothing.

    Args:
        data: A row per run, from :func:`~fairret.lab.experiment.export.frame`.
        traits: "all" for violations of all traits, "single" for those of the single
            trait; fairrets are those that were trained for the same.
        measure: The largest violation, or that of a typical group beyond chance, for
            which :math:`f` is 0. Older runs have no such column, and so no volume.
        views: Pairs of measures by name; `VIEWS` if None.

    Raises:
        MixedRowsError: If runs of a dataset have different rows.
    """
    if "test/base_rate" not in data:  # nothing, or failed runs only
        return []
    count_test_rows(data)
    found = []
    ways = name_variants(list(dict.fromkeys(data["training"])))
    for dataset, way, statistic, which in product(
        dict.fromkeys(data["dataset"]), ways, NOTIONS, traits
    ):
        own = data[(data["dataset"] == dataset) & (data["training"] == way)]
        rate = float(own["test/base_rate"].mean())
        for name, usual in (VIEWS if views is None else views).items():
            view = replace(usual, traits=which, measure=measure)
            compared = trade_off(own, view, dataset, statistic)
            settings = (dataset, ways[way], statistic, which, name)
            found += _volumes(compared, view, rate, settings)
    return found


def _volumes(
    compared: TradeOff,
    view: View,
    base_rate: float,
    settings: tuple[str, str, str, str, str],
) -> list[Volume]:
    lowest = worst_utility(view.utility, base_rate)
    rows = []
    for curve in compared.curves:
        if curve.method == UNFAIR:
            continue
        shares = _shares(curve, compared.unfair, view, lowest)
        count = (len(curve.marks), len(shares))
        steps, lines = (
            mean_error([share[k] for share in shares.values()]) for k in (0, 1)
        )
        name = (*settings, curve.label)
        rows.append(Volume(*name, *count, *steps, *lines, compared.chance, shares))
    return rows


def mean_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN without values, or with one."""
    if not values:
        return math.nan, math.nan
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(np.mean(values)), math.nan if error is None else float(error)


def _shares(
    curve: Curve, unfair: Mark | None, view: View, lowest: float
) -> dict[int, Share]:
    """Compute the share per seed that Unfair and all marks have."""
    if unfair is None:
        return {}
    sign = -1 if view.utility == "log_loss" else 1
    marks = [_by_seed(mark, view) for mark in curve.marks]
    found = {}
    for seed, one in _by_seed(unfair, view).items():
        if one is None or not all(seed in mark for mark in marks):
            continue
        x, top, floor = one
        width, height = sign * x - lowest, top - floor
        if not (width > 0 and height > 0):  # nor if one is NaN
            found[seed] = Share(math.nan, math.nan)
            continue
        own = [mark[seed] for mark in marks]
        points = [(sign * p[0], max(p[1], floor)) for p in own if p is not None]
        joined = [(sign * x, top), *points]
        areas = (
            hypervolume(points, (lowest, top)),
            curve_volume(joined, (lowest, top)),
        )
        found[seed] = Share(*(area / (width * height) for area in areas))
    return found


def _by_seed(mark: Mark, view: View) -> dict[int, tuple[float, float, float] | None]:
    """Collect utility, violation and floor; None where nobody gets a yes."""
    columns = (mark.x.tolist(), mark.y.tolist(), mark.floor.tolist())
    found = dict(zip(mark.seeds, zip(*columns, strict=True), strict=True))
    if view.channel != "decisions":
        return {**found}
    refusing = {
        seed for seed, no in zip(mark.seeds, mark.refuses, strict=True) if no == 1
    }
    return {seed: None if seed in refusing else one for seed, one in found.items()}
