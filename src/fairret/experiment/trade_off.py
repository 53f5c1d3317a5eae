"""Stored runs as trade-offs: what a method keeps against how far it is from parity."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

UNFAIR = "Unfair"
NOTIONS = {"pr": "DP", "tpr": "EO", "ppv": "PP", "fn_fp": "TE"}
"""The paper's notion of fairness for each statistic that every run is measured by."""
FAR = 0.5  # an AUROC is far worse if it keeps less than this share of Unfair's


@dataclass(frozen=True)
class View:
    """Which columns are set against each other.

    Args:
        utility: What should be kept: `auroc`, `accuracy`, `log_loss`, ...
        channel: What is violated by: `scores`, `decisions`, ...
        part: The rows.
        traits: Those measured, which are also those that fairrets were trained for:
            `all`, or `single`.
    """

    utility: str = "auroc"
    channel: str = "scores"
    part: Literal["train", "test"] = "test"
    traits: str = "all"

    @property
    def x(self) -> str:
        """Name of the column of the utility."""
        return f"{self.part}/{self.utility}"

    def y(self, statistic: str) -> str:
        """Name of the column of the violation."""
        return f"{self.part}/violation/{statistic}/{self.channel}/{self.traits}"

    def floor(self, statistic: str) -> str:
        """Name of the column of the violation that a fair model shows by chance."""
        return f"{self.part}/floor/{statistic}/{self.channel}/{self.traits}"


class Mark(NamedTuple):
    """One strength of a method: a pair of numbers for each seed."""

    strength: float
    x: Floats
    y: Floats
    auroc: Floats
    floor: Floats  # the violation that it would show by chance if it were fair

    @property
    def mean(self) -> tuple[float, float]:
        """Mean over the seeds."""
        return float(self.x.mean()), float(self.y.mean())


class Curve(NamedTuple):
    """A method along its strengths."""

    method: str
    variant: str  # the options in which it differs from others of the same method
    marks: tuple[Mark, ...]

    @property
    def label(self) -> str:
        """What it is called in a legend."""
        return f"{self.method} ({self.variant})" if self.variant else self.method


class TradeOff(NamedTuple):
    """What is compared for one dataset and one notion."""

    curves: tuple[Curve, ...]
    floor: float  # median over the runs; NaN where there is none
    failed: frozenset[str]  # keys of runs without a result
    undefined: int  # runs whose violation is not a number
    far: tuple[tuple[str, float], ...]  # marks left out: label and strength

    @property
    def unfair(self) -> Mark | None:
        """The model that was trained without a fairness term."""
        return next((c.marks[0] for c in self.curves if c.method == UNFAIR), None)


def trade_off(
    data: pd.DataFrame,
    view: View,
    dataset: str,
    statistic: str,
    methods: Sequence[str] | None = None,
) -> TradeOff:
    r"""Collect the marks of one dataset and one notion.

    A method that knows no statistic counts for each. As in the paper, marks with an
    AUROC far worse than the rest are left out: those where
    :math:`A - ½ < ½ (A_{Unfair} - ½)` for the mean :math:`A` over the seeds. The rule
    looks at marks, not runs, for means over the surviving seeds would flatter.

    Args:
        data: A row for each run, from :func:`~fairret.experiment.summary.frame`.
        view: What to compare.
        dataset: Name of the dataset.
        statistic: Name of the statistic, a key of :data:`NOTIONS`.
        methods: Those wanted; by default all.
    """
    own = data[data["dataset"] == dataset]
    own = own[own["statistic"].isin(["", statistic])]
    for_one = own["statistic"] != ""
    own = own[~for_one | (own["traits"] == view.traits)]
    if methods is not None:
        own = own[own["method"].isin(methods)]
    done = own[own["status"] == "done"]
    columns = [view.x, view.y(statistic)]
    defined = (
        done.dropna(subset=columns) if set(columns) <= {*done.columns} else done[:0]
    )
    kept, far = _without_far_marks(_curves(defined, view, statistic))
    # not the mean: a run that says yes to nearly nobody has a floor of 8 beside 0.1
    floor = defined[view.floor(statistic)].median() if len(defined) else np.nan
    return TradeOff(
        kept,
        float(floor),
        failed=frozenset(own[own["status"] == "failed"]["key"]),
        undefined=len(done) - len(defined),
        far=far,
    )


def _curves(data: pd.DataFrame, view: View, statistic: str) -> tuple[Curve, ...]:
    curves = []
    for method, of_method in data.groupby("method", sort=False):
        variants = variants_of(list(dict.fromkeys(of_method["options"])))
        for options, own in of_method.groupby("options", sort=False):
            marks = [
                Mark(
                    float(strength),
                    one[view.x].to_numpy(float),
                    one[view.y(statistic)].to_numpy(float),
                    one[f"{view.part}/auroc"].to_numpy(float),
                    one[view.floor(statistic)].to_numpy(float),
                )
                for strength, one in own.sort_values("seed").groupby("strength")
            ]
            curves.append(Curve(str(method), variants[str(options)], tuple(marks)))
    return tuple(curves)


def variants_of(options: list[str]) -> dict[str, str]:
    """Name sets of options by what is not the same in all of them."""
    sets = [json.loads(one) for one in options]
    keys = dict.fromkeys(key for one in sets for key in one)
    differ = [key for key in keys if len({repr(one.get(key)) for one in sets}) > 1]
    return {
        text: ", ".join(f"{key}={one[key]}" for key in differ if key in one)
        for text, one in zip(options, sets, strict=True)
    }


def _without_far_marks(
    curves: tuple[Curve, ...],
) -> tuple[tuple[Curve, ...], tuple[tuple[str, float], ...]]:
    """Leave out marks by the rule of :func:`trade_off`; without Unfair, none."""
    unfair = [curve.marks[0].auroc for curve in curves if curve.method == UNFAIR]
    least = FAR * (unfair[0].mean() - 0.5) if unfair else -np.inf
    kept, far = [], []
    for curve in curves:
        near = tuple(m for m in curve.marks if m.auroc.mean() - 0.5 >= least)
        strengths = {mark.strength for mark in near}
        far += [
            (curve.label, mark.strength)
            for mark in curve.marks
            if mark.strength not in strengths
        ]
        if near:
            kept.append(curve._replace(marks=near))
    return tuple(kept), tuple(far)
