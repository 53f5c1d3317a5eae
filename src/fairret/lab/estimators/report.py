"""Means over the seeds, and where another package leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fairret.lab.dataset import TITLES
from fairret.lab.estimators.methods import RELEASED
from fairret.lab.experiment.trade_off import NOTIONS
from fairret.lab.tolerance.goals import LEAD
from fairret.lab.tolerance.people import ALL

if TYPE_CHECKING:
    import pandas as pd

BLIND, INFORMED = "ToleranceClassifier", "informed ToleranceClassifier"
OPPONENTS = {  # what a package is compared with: the one with the same knowledge
    "ExponentiatedGradient": BLIND,
    RELEASED: BLIND,
    "ThresholdOptimizer": INFORMED,
    "OxonFair": INFORMED,
}
EQUAL = 0.01  # in violation: less is not seen on test rows
FAIRER = 0.05  # in violation: less is noise in most cases
CASE = ["dataset", "traits", "notion"]
MEASURES = [
    *("accuracy", "balanced_accuracy", "auroc"),
    *("violation", "low", "high"),
]


class Loss(NamedTuple):
    """A case where another package is ahead, in the mean over common seeds."""

    dataset: str
    traits: str
    notion: str
    peer: str
    accuracy: float
    violation: float
    our_accuracy: float
    our_violation: float
    seeds: int

    @property
    def more_accurate(self) -> bool:
        """Whether it leads in accuracy, at an equal or lower violation."""
        leads = self.accuracy > self.our_accuracy + LEAD
        return leads and self.violation <= self.our_violation + EQUAL

    @property
    def fairer(self) -> bool:
        """Whether it has a lower violation, at an equal or higher accuracy."""
        leads = self.violation < self.our_violation - FAIRER
        return leads and self.accuracy >= self.our_accuracy - LEAD

    def __str__(self) -> str:
        return (
            f"{title(self.dataset, self.traits, self.notion)}: {self.peer} has an "
            f"accuracy of {self.accuracy:.3f} at a violation of {self.violation:.2f}, "
            f"{OPPONENTS[self.peer]} {self.our_accuracy:.3f} at "
            f"{self.our_violation:.2f}"
        )


def title(dataset: str, traits: str, notion: str) -> str:
    """Name a case."""
    which = "all traits" if traits == ALL else traits
    return f"{TITLES.get(dataset, dataset)}, {which}, {NOTIONS[notion]}"


def list_cases(data: pd.DataFrame) -> list[tuple[str, str, str]]:
    """List dataset, traits and notion of all cases, each once."""
    return list(dict.fromkeys(zip(*(data[name] for name in CASE), strict=True)))


def finished(data: pd.DataFrame) -> pd.DataFrame:
    """Drop the cases that failed."""
    return data[data["test/violation"].notna()]


def average(data: pd.DataFrame) -> pd.DataFrame:
    """Average over the seeds: a row per case and method, in the order of the data."""
    columns = [f"test/{name}" for name in MEASURES] + ["seconds", "predict_seconds"]
    grouped = finished(data).groupby([*CASE, "method"], sort=False)
    means = grouped[columns].mean()
    means.columns = [name.removeprefix("test/") for name in means.columns]
    return means.assign(seeds=grouped["seed"].nunique())


def find_losses(data: pd.DataFrame) -> list[Loss]:
    """Find where a package is more accurate, or fairer, and not worse otherwise."""
    found = []
    done = finished(data)
    for (dataset, traits, notion), own in done.groupby(CASE, sort=False):
        for peer, ours in OPPONENTS.items():
            pair = [
                own[own["method"] == name].set_index("seed") for name in (peer, ours)
            ]
            seeds = pair[0].index.intersection(pair[1].index)
            if not len(seeds):
                continue
            columns = ["test/accuracy", "test/violation"]
            theirs, mine = (one.loc[seeds, columns].mean() for one in pair)
            accuracy, violation = map(float, theirs)
            our_accuracy, our_violation = map(float, mine)
            numbers = accuracy, violation, our_accuracy, our_violation
            one = Loss(dataset, traits, notion, peer, *numbers, len(seeds))
            if one.more_accurate or one.fairer:
                found.append(one)
    return found
