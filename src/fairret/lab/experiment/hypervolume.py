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


class Gain(NamedTuple):
    """What a method gains over Unfair in one seed, and what is possible: areas."""

    steps: float  # that its marks dominate
    curve: float  # that the lines between them dominate
    possible: float  # 0 if Unfair is as fair as chance allows, or as bad as no model


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
    value: float  # NaN if Unfair leaves nothing to gain in half of the seeds or more
    error: float  # its standard error; NaN with a single seed
    curve: float  # the same for the lines between the marks, from Unfair on
    curve_error: float
    chance: bool  # whether Unfair itself is within chance
    gains: dict[int, Gain]  # by seed


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
    :math:`f`, the 95 % quantile of the largest violation by chance. Below :math:`f` no
    mark is fairer than another, so marks count as :math:`(u, \max(v, f))`. Their area
    from the reference point :math:`(u_0, v_U)`, where :math:`u_0` is the utility of a
    model without features (:func:`worst_utility`), is what is gained in a seed, and
    :math:`(u_U - u_0)(v_U - f)` what is possible. A volume is the sum of the first over
    the sum of the second (:func:`seed_values`), over the seeds that Unfair and all
    marks of the method have: 0 means no gain over Unfair, 1 its full utility with no
    more violation than :math:`f`. `seeds` is their number. In a seed where Unfair is
    not above :math:`f`, nothing can be gained; where this is so in half of them or
    more, there is no volume. A method with more strengths has more marks, so compare
    grids of equal size, or the area that is dominated by the curve through Unfair and
    the marks in the order of their strengths (`curve`). Models that refuse everyone do
    not count for decisions: they are fair only because they decide nothing. A model
    whose violation is undefined adds nothing in its seed.

    Args:
        data: A row per run, from :func:`~fairret.lab.experiment.export.frame`.
        traits: "all" for violations of all traits, "single" for those of the single
            trait; fairrets are those that were trained for the same.
        measure: The largest violation, or that of a typical group beyond chance, for
            which :math:`f` is 0. There is no volume of the latter unless Unfair is
            beyond chance in most seeds. Older runs have no such column.
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
        gains = _gains(curve, compared.unfair, view, lowest)
        own = (
            [] if _nothing_to_gain(gains, compared.unfair, view) else [*gains.values()]
        )
        steps, lines = (mean_error(seed_values(own, of)) for of in ("steps", "curve"))
        count = (len(curve.marks), len(gains))
        name = (*settings, curve.label)
        rows.append(Volume(*name, *count, *steps, *lines, compared.chance, gains))
    return rows


def _nothing_to_gain(
    gains: Mapping[int, Gain], unfair: Mark | None, view: View
) -> bool:
    """Whether Unfair is within chance in half of the seeds or more."""
    if not gains or unfair is None:
        return True
    if view.measure != "violation" and unfair.beyond_chance is False:
        return True
    return sum(one.possible > 0 for one in gains.values()) <= len(gains) / 2


def seed_values(gains: Sequence[Gain], of: Literal["steps", "curve"]) -> list[float]:
    r"""Compute a value per seed; their mean is the share of the possible gain.

    With the areas :math:`a_s` gained and :math:`g_s` possible in :math:`n` seeds,

    .. math::
        V = \frac{\sum_s a_s}{\sum_s g_s}, \qquad
        V_s = V + d_s - \bar d, \qquad
        d_s = (n - 1) \, \frac{a_s - V g_s}{\sum_{r \ne s} g_r}

    where :math:`d_s` is the jackknife's change when seed :math:`s` is left out, so that
    the spread of :math:`V_s` is that of a ratio. A mean of the ratios :math:`a_s / g_s`
    would be dominated by seeds with a small :math:`g_s`.
    """
    gained = np.array([getattr(one, of) for one in gains])
    possible = np.array([one.possible for one in gains])
    total = possible.sum()
    if not total > 0:
        return [math.nan] * len(gains)
    share = gained.sum() / total
    rest = np.where(possible < total, total - possible, np.inf)  # a seed without others
    change = (len(gains) - 1) * (gained - share * possible) / rest
    values: list[float] = (share + change - change.mean()).tolist()
    return values


def effective_seeds(gains: Sequence[Gain]) -> float:
    r"""Number of seeds by Kish, :math:`(\sum_s g_s)^2 / \sum_s g_s^2`."""
    possible = np.array([one.possible for one in gains])
    return float(possible.sum() ** 2 / max((possible**2).sum(), 1e-300))


def mean_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN without values, or with one."""
    if not values:
        return math.nan, math.nan
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(np.mean(values)), math.nan if error is None else float(error)


def _gains(
    curve: Curve, unfair: Mark | None, view: View, lowest: float
) -> dict[int, Gain]:
    """Compute the gain per seed that Unfair and all marks have."""
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
            found[seed] = Gain(0.0, 0.0, 0.0)
            continue
        own = [mark[seed] for mark in marks]
        points = [(sign * p[0], max(p[1], floor)) for p in own if p is not None]
        joined = [(sign * x, top), *points]
        found[seed] = Gain(
            hypervolume(points, (lowest, top)),
            curve_volume(joined, (lowest, top)),
            width * height,
        )
    return found


def _by_seed(mark: Mark, view: View) -> dict[int, tuple[float, float, float] | None]:
    """Collect utility, violation and floor; None where a model does not count.

    It does not if its violation is undefined, or if nobody gets a yes.
    """
    columns = (mark.x.tolist(), mark.y.tolist(), mark.floor.tolist())
    found = dict(zip(mark.seeds, zip(*columns, strict=True), strict=True))
    out = {*mark.undefined}
    if view.channel == "decisions":
        refuses = zip(mark.seeds, mark.refuses, strict=True)
        out |= {seed for seed, no in refuses if no == 1}
    return {seed: None if seed in out else found[seed] for seed in {*found, *out}}
