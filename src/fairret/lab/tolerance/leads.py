"""Accuracy at equal test violation: who leads, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

OPPONENTS = {  # what a peer is compared with: the same learner, and the same knowledge
    "ExponentiatedGradient": "exact blind boosting",
    "ThresholdOptimizer": "exact informed boosting",
    "OxonFair": "exact informed boosting",
    "grid": "exact blind network",
}
MEASURES = ("test/violation", "test/accuracy", "test/balanced_accuracy")


class Lead(NamedTuple):
    """A peer at one of its bounds, and our rules at its violation."""

    dataset: str
    traits: str
    notion: str
    peer: str
    ours: str
    tolerance: float
    violation: float  # of the peer, on the test rows
    accuracy: float  # of the peer
    our_accuracy: float
    balanced_accuracy: float
    our_balanced_accuracy: float
    seeds: int
    reached: bool  # whether a rule of ours has as small a violation

    @property
    def lead(self) -> float:
        """By how much the peer is more accurate."""
        return self.accuracy - self.our_accuracy


def find_leads(data: pd.DataFrame) -> list[Lead]:
    """Compare every peer with our rules, in the mean over the seeds.

    Constraints differ: ours are on ratios, those of the peers on differences. So our
    curve, a point per tolerance and one without, is interpolated at the violation of
    the peer. Below our smallest violation, the peer is compared with that rule.
    """
    found = []
    done = data[data["test/violation"].notna()]
    where = done[done["method"].isin(OPPONENTS)]
    for (dataset, traits, notion, peer), own in where.groupby(
        ["dataset", "traits", "notion", "method"], sort=False
    ):
        panel = done[(done["dataset"] == dataset) & (done["traits"] == traits)]
        panel = panel[panel["notion"] == notion]
        ours = OPPONENTS[peer]
        rules = panel[panel["method"].isin([ours, ours.split()[-1]])]  # and without one
        seeds = sorted({*own["seed"]} & {*rules["seed"]})
        curve = mean_curve(rules[rules["seed"].isin(seeds)])
        if not len(curve):
            continue
        for tolerance, point in mean_curve(own[own["seed"].isin(seeds)]).iterrows():
            v, accuracy, balanced = (float(point[name]) for name in MEASURES)
            at_equal = [interpolate(curve, v, name) for name in MEASURES[1:]]
            reached = bool(curve["test/violation"].min() <= v)
            found.append(
                Lead(
                    *(dataset, traits, notion, peer, ours, float(tolerance)),
                    *(v, accuracy, at_equal[0], balanced, at_equal[1], len(seeds)),
                    reached,
                )
            )
    return found


def mean_curve(data: pd.DataFrame) -> pd.DataFrame:
    """Average over the seeds: a row per tolerance."""
    means = data.groupby("tolerance")[list(MEASURES)].mean()
    return means.sort_index()


def interpolate(curve: pd.DataFrame, violation: float, measure: str) -> float:
    """Read a curve at a violation; beyond its ends, it is as there."""
    ordered = curve.sort_values("test/violation")
    x, y = (ordered[name].to_numpy(float) for name in ("test/violation", measure))
    return float(np.interp(violation, x, y))
