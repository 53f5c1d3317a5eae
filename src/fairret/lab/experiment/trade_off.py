"""Stored runs as trade-offs: the utility of a method against its violation."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from fairret.errors import FairretError

if TYPE_CHECKING:
    import pandas as pd

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

UNFAIR = "Unfair"
NOTIONS = {"pr": "DP", "tpr": "EO", "ppv": "PP", "fn_fp": "TE"}
"""The paper's notion of fairness for each statistic that every run is measured by."""
LEAST_GAIN = 0.5  # share of Unfair's AUROC above ½ that a mark must keep
DECISIONS_ONLY = frozenset({"ExponentiatedGradient"})
"""Methods that draw random decisions: their stored scores are not scores."""
SEES_GROUPS = frozenset({"OxonFair"})
"""Methods that use a person's group when they decide; the others do not."""


WORDS = {
    "batch": "batches of {}",
    "epochs": "{} epochs",
    "gradient": "{} gradient",
    "learning_rate": "learning rate {}",
    "max_iter": "at most {} steps",
    "patience": "patience of {}",
    "validation": "validation share {}",
    "warm_up": "warm-up of {}",
}
"""Names of options and settings whose key is not a word."""
WITHOUT = {"patience": "no early stopping", "validation": "no validation rows"}
"""Words for settings that are 0."""
FLAGS = {
    "memory": ("no memory", "memory"),
    "stratified": ("random batches", "stratified batches"),
}


class MixedRowsError(FairretError, ValueError):
    """Runs of one dataset have different rows."""


@dataclass(frozen=True)
class View:
    """Which columns are compared.

    Args:
        utility: `auroc`, `accuracy`, `log_loss`, ...
        channel: What the violation is of: `scores`, `decisions`, ...
        part: The rows.
        traits: Those measured, which are also those that fairrets were trained for:
            `all`, or `single`.
        measure: The largest violation, or that of a typical group without what chance
            adds.
    """

    utility: str = "auroc"
    channel: str = "scores"
    part: Literal["train", "test"] = "test"
    traits: str = "all"
    measure: Literal["violation", "violation_beyond_chance"] = "violation"

    @property
    def needs_scores(self) -> bool:
        """Whether it needs more of a model than its decisions."""
        return (self.utility, self.channel) != ("accuracy", "decisions")

    @property
    def x(self) -> str:
        """Name of the column of the utility."""
        return f"{self.part}/{self.utility}"

    def y(self, statistic: str) -> str:
        """Name of the column of the violation."""
        return self._column(self.measure, statistic)

    def floor(self, statistic: str) -> str:
        """Name of the column of the noise floor."""
        return self._column("floor", statistic)

    def verdict(self, statistic: str) -> str:
        """Name of the column that tells whether a group is beyond chance."""
        return self._column("beyond_chance", statistic)

    def _column(self, measure: str, statistic: str) -> str:
        return f"{self.part}/{measure}/{statistic}/{self.channel}/{self.traits}"


class Mark(NamedTuple):
    """One strength of a method: a pair of numbers per seed."""

    strength: float
    x: Floats
    y: Floats
    auroc: Floats
    floor: Floats  # 95 % of fair models are below it; 0 where chance is taken out
    beyond: Floats  # 1 if a group is beyond chance, 0 if not, NaN if not judged
    refuses: Floats  # 1 if the model decides that nobody gets a yes, NaN if unknown
    seeds: tuple[int, ...]
    undefined: tuple[int, ...]  # seeds without a violation: no group can be compared

    @property
    def mean(self) -> tuple[float, float]:
        """Mean over the seeds."""
        return float(self.x.mean()), float(self.y.mean())

    @property
    def beyond_chance(self) -> bool | None:
        """Whether most of the seeds that are judged are beyond chance; None if none."""
        judged = self.beyond[~np.isnan(self.beyond)]
        return bool(judged.mean() > 0.5) if len(judged) else None


class Curve(NamedTuple):
    """A method along its strengths."""

    method: str
    variant: str  # the options in which it differs from others of the same method
    marks: tuple[Mark, ...]

    @property
    def label(self) -> str:
        """Its name in a legend."""
        return f"{self.method} ({self.variant})" if self.variant else self.method


class TradeOff(NamedTuple):
    """The curves of one dataset and one notion."""

    curves: tuple[Curve, ...]
    chance: bool  # whether Unfair is within chance on training and test rows
    failed: frozenset[str]  # keys of runs without a result
    undefined: int  # runs whose violation is not a number
    excluded: tuple[tuple[str, float], ...]  # marks left out: label and strength

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

    A method without a statistic counts for each notion. As in the paper, marks with an
    AUROC far worse than the rest are excluded: those where
    :math:`A - ½ < ½ (A_{Unfair} - ½)` for the mean :math:`A` over the seeds. The rule
    excludes marks, not runs, because means over the remaining seeds would be too good.

    Unfair is within chance, whichever methods are wanted, if no group is beyond chance
    in most of its seeds, on the training rows, which are four times as many, and on the
    test rows. Runs from before verdicts were stored cannot be judged.

    Args:
        data: A row per run, from :func:`~fairret.lab.experiment.export.frame`.
        view: What to compare.
        dataset: Name of the dataset.
        statistic: Name of the statistic, a key of :data:`NOTIONS`.
        methods: Those wanted; by default all.
    """
    data = data[[name for name in _needed(view, statistic) if name in data]]
    own = data[(data["dataset"] == dataset) & data["statistic"].isin(["", statistic])]
    own = own[(own["statistic"] == "") | (own["traits"] == view.traits)]
    unfair = own[(own["method"] == UNFAIR) & (own["status"] == "done")]
    if methods is not None:
        own = own[own["method"].isin(methods)]
    if view.needs_scores:
        own = own[~own["method"].isin(DECISIONS_ONLY)]
    done = own[own["status"] == "done"]
    columns = [view.x, view.y(statistic)]
    measured = set(columns) <= {*done.columns}
    defined = int(done[columns].notna().all(axis=1).sum()) if measured else 0
    curves = _curves(done, view, statistic) if defined else ()
    kept, excluded = _exclude_marks(curves)
    parts = [replace(view, part="train"), replace(view, part="test")]
    return TradeOff(
        kept,
        all(_within_chance(unfair, part, statistic) for part in parts),
        failed=frozenset(own[own["status"] == "failed"]["key"]),
        undefined=len(done) - defined,
        excluded=excluded,
    )


def _needed(view: View, statistic: str) -> list[str]:
    """Columns that a trade-off uses: pandas takes long to select rows of all."""
    parts = [replace(view, part="train"), replace(view, part="test")]
    names = (
        *("key", "dataset", "method", "statistic", "traits", "strength", "seed"),
        *("options", "status", view.x, view.y(statistic), view.floor(statistic)),
        *(f"{view.part}/auroc", f"{view.part}/positive_rate"),
        *(part.verdict(statistic) for part in parts),
    )
    return list(dict.fromkeys(names))


def _mean(data: pd.DataFrame, column: str) -> float:
    return float(data[column].mean()) if column in data else np.nan


def _within_chance(unfair: pd.DataFrame, view: View, statistic: str) -> bool:
    return _mean(unfair, view.verdict(statistic)) <= 0.5  # false for NaN


def _numbers(data: pd.DataFrame, column: str) -> Floats:
    """Read a column; NaN if the runs do not have it."""
    if column not in data:
        return np.full(len(data), np.nan)
    found: Floats = data[column].to_numpy(float)
    return found


def _curves(data: pd.DataFrame, view: View, statistic: str) -> tuple[Curve, ...]:
    curves = []
    for method, of_method in data.groupby("method", sort=False):
        variants = name_variants(list(dict.fromkeys(of_method["options"])))
        for options, own in of_method.groupby("options", sort=False):
            marks = [
                _mark(float(strength), one, view, statistic)
                for strength, one in own.sort_values("seed").groupby("strength")
            ]
            some = tuple(mark for mark in marks if mark.seeds)
            if some:
                curves.append(Curve(str(method), variants[str(options)], some))
    return tuple(curves)


def _mark(strength: float, done: pd.DataFrame, view: View, statistic: str) -> Mark:
    defined = done[[view.x, view.y(statistic)]].notna().all(axis=1)
    runs, others = done[defined], done[~defined]
    floor = _numbers(runs, view.floor(statistic))
    accepted = _numbers(runs, f"{view.part}/positive_rate")
    return Mark(
        strength,
        _numbers(runs, view.x),
        _numbers(runs, view.y(statistic)),
        _numbers(runs, f"{view.part}/auroc"),
        floor if view.measure == "violation" else np.zeros_like(floor),
        _numbers(runs, view.verdict(statistic)),
        np.where(np.isnan(accepted), np.nan, accepted == 0),
        tuple(map(int, runs["seed"])),
        tuple(map(int, others["seed"])),
    )


def count_test_rows(data: pd.DataFrame) -> dict[str, int]:
    """Count the test rows of each dataset that has results.

    Raises:
        MixedRowsError: If runs of a dataset differ, as do those of a sample and of the
            complete table.
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


def name_variants(options: list[str]) -> dict[str, str]:
    """Name sets of options by the options in which they differ, in words."""
    sets = [json.loads(one) for one in options]
    keys = dict.fromkeys(key for one in sets for key in one)
    differ = [key for key in keys if len({repr(one.get(key)) for one in sets}) > 1]
    return {
        text: ", ".join(_words(key, one[key]) for key in differ if key in one)
        for text, one in zip(options, sets, strict=True)
    }


def _words(key: str, value: Any) -> str:
    if key in FLAGS:
        return FLAGS[key][bool(value)]
    if key in WITHOUT and not value:
        return WITHOUT[key]
    if key == "bandwidth" and math.isclose(value, math.sqrt(0.5)):
        return "FFB's bandwidth"
    if key == "hidden":
        return "-".join(map(str, value)) or "no hidden layer"
    number = f"{value:.3g}" if isinstance(value, float) else str(value)
    return WORDS.get(key, f"{key} {{}}").format(number)


def _exclude_marks(
    curves: tuple[Curve, ...],
) -> tuple[tuple[Curve, ...], tuple[tuple[str, float], ...]]:
    """Exclude marks by the rule of :func:`trade_off`; without Unfair, none."""
    unfair = [curve.marks[0].auroc for curve in curves if curve.method == UNFAIR]
    least = LEAST_GAIN * (unfair[0].mean() - 0.5) if unfair else -np.inf
    kept, excluded = [], []
    for curve in curves:
        own = []
        for mark in curve.marks:
            if curve.method in DECISIONS_ONLY or mark.auroc.mean() - 0.5 >= least:
                own.append(mark)
            else:
                excluded.append((curve.label, mark.strength))
        if own:
            kept.append(curve._replace(marks=tuple(own)))
    return tuple(kept), tuple(excluded)
