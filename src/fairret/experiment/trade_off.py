"""Stored runs as trade-offs: what a method keeps against how far it is from parity."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from fairret.errors import FairretError
from fairret.experiment.grid import LATER

if TYPE_CHECKING:
    import pandas as pd

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

UNFAIR = "Unfair"
NOTIONS = {"pr": "DP", "tpr": "EO", "ppv": "PP", "fn_fp": "TE"}
"""The paper's notion of fairness for each statistic that every run is measured by."""
FAR = 0.5  # an AUROC is far worse if it keeps less than this share of Unfair's
DECISIONS_ONLY = frozenset({"ExponentiatedGradient"})
"""Methods that draw decisions at random: what is stored as a score is none."""
SEES_GROUPS = frozenset({"OxonFair"})
"""Methods that are told a person's group when they decide, which the others are not."""


class MixedRowsError(FairretError, ValueError):
    """Runs of one dataset are not of the same rows."""


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
    def needs_scores(self) -> bool:
        """Whether it takes more of a model than its decisions."""
        return (self.utility, self.channel) != ("accuracy", "decisions")

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
    seeds: tuple[int, ...]

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
    floor: float  # Unfair's, mean over its seeds; NaN without Unfair
    chance: bool  # whether Unfair is below its floor on training and test rows
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

    The noise floor is that of the Unfair runs, whichever methods are wanted. Unfair is
    within chance if its mean violation is below its mean floor on the training rows,
    which are four times as many, and on the test rows.

    Args:
        data: A row for each run, from :func:`~fairret.experiment.frames.frame`.
        view: What to compare.
        dataset: Name of the dataset.
        statistic: Name of the statistic, a key of :data:`NOTIONS`.
        methods: Those wanted; by default all.
    """
    own = data[data["dataset"] == dataset]
    own = own[own["statistic"].isin(["", statistic])]
    for_one = own["statistic"] != ""
    own = own[~for_one | (own["traits"] == view.traits)]
    unfair = own[(own["method"] == UNFAIR) & (own["status"] == "done")]
    if methods is not None:
        own = own[own["method"].isin(methods)]
    if view.needs_scores:
        own = own[~own["method"].isin(DECISIONS_ONLY)]
    done = own[own["status"] == "done"]
    columns = [view.x, view.y(statistic)]
    defined = (
        done.dropna(subset=columns) if set(columns) <= {*done.columns} else done[:0]
    )
    kept, far = _without_far_marks(_curves(defined, view, statistic))
    parts = (replace(view, part="train"), replace(view, part="test"))
    return TradeOff(
        kept,
        _mean(unfair, view.floor(statistic)),
        all(
            _mean(unfair, part.y(statistic)) < _mean(unfair, part.floor(statistic))
            for part in parts
        ),
        failed=frozenset(own[own["status"] == "failed"]["key"]),
        undefined=len(done) - len(defined),
        far=far,
    )


def _mean(data: pd.DataFrame, column: str) -> float:
    return float(data[column].mean()) if column in data else np.nan


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
                    tuple(map(int, one["seed"])),
                )
                for strength, one in own.sort_values("seed").groupby("strength")
            ]
            curves.append(Curve(str(method), variants[str(options)], tuple(marks)))
    return tuple(curves)


def ways_of(data: pd.DataFrame) -> pd.Series:
    """Give the training of each run, with settings that are younger than the run."""
    return data["training"].map(
        lambda text: json.dumps(LATER | json.loads(text), sort_keys=True)
    )


def count_test_rows(data: pd.DataFrame) -> dict[str, int]:
    """Count the test rows of each dataset that has results.

    Raises:
        MixedRowsError: If runs of a dataset differ in it, as those of a sample and of
            the complete table do.
    """
    if "test/rows" not in data:
        return {}
    found = {}
    for name, counts in data.groupby("dataset", sort=False)["test/rows"]:
        sizes = sorted(map(int, counts.dropna().unique()))
        if len(sizes) > 1:
            raise MixedRowsError(
                f"`store` must hold runs of {name} on one number of test rows; got "
                f"{' and '.join(map(str, sizes))}. Keep the runs of each table in a "
                "store of their own."
            )
        if sizes:
            found[str(name)] = sizes[0]
    return found


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
        near = tuple(m for m in curve.marks if _is_near(curve, m, least))
        strengths = {mark.strength for mark in near}
        far += [
            (curve.label, mark.strength)
            for mark in curve.marks
            if mark.strength not in strengths
        ]
        if near:
            kept.append(curve._replace(marks=near))
    return tuple(kept), tuple(far)


def _is_near(curve: Curve, mark: Mark, least: float) -> bool:
    return curve.method in DECISIONS_ONLY or mark.auroc.mean() - 0.5 >= least
