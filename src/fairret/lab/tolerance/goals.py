"""What was promised, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairret.lab.tolerance.leads import Lead
from fairret.lab.tolerance.methods import DEFAULT, EXACT, TOLERANCES

if TYPE_CHECKING:
    import pandas as pd

LEAD = 0.005  # in accuracy: less is not seen in three seeds
WITHIN, COVERED, HELD = 0.99, 0.94, 0.95


class Goal(NamedTuple):
    """A share of cases that should be as wanted."""

    name: str
    wanted: float
    share: float  # NaN without cases
    cases: int

    @property
    def reached(self) -> bool:
        """Whether the share is large enough."""
        return self.share >= self.wanted


def judge(data: pd.DataFrame, leads: Sequence[Lead]) -> list[Goal]:
    """Compare results with the goals."""
    goals = []
    for words, methods in (("stated", EXACT), ("default", DEFAULT)):
        rules = data[data["method"].isin(methods) & data["tolerance"].isin(TOLERANCES)]
        feasible = rules[rules["status"].isin(["met", "missed"])]
        name = f"within the {words} tolerance on the fit rows"
        goals.append(_goal(name, WITHIN, feasible["status"] == "met"))
    for method in ("held-out certificate", "fitted certificate"):
        own = data[data["method"] == method]
        truth = own.get("population/violation")
        covered = own.index == -1 if truth is None else (own["fit/low"] <= truth)
        if truth is not None:
            covered &= truth <= own["fit/high"]
        goals.append(_goal(f"covered by a {method}", COVERED, covered))
    own = data[(data["method"] == "assured rule") & (data["status"] == "met")]
    held = own["population/violation"] <= own["tolerance"] if len(own) else []
    goals.append(_goal("assured, and within it in the population", HELD, held))
    # a peer with a smaller violation than all our rules can only be found ahead
    known = [one.lead <= LEAD for one in leads if one.reached or one.lead > LEAD]
    goals.append(_goal(f"no peer leads by more than {LEAD:g}", 1.0, known))
    return goals


def _goal(name: str, wanted: float, right: Sequence[bool] | pd.Series) -> Goal:
    n = len(right)
    return Goal(name, wanted, float(sum(right)) / n if n else float("nan"), n)
