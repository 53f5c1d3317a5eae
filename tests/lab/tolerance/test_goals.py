"""The goals, on tables whose shares are known."""

import math

import pandas as pd
import pytest

from fairret.lab.tolerance.goals import judge
from fairret.lab.tolerance.leads import Lead


def rule(method, status, tolerance=0.1):
    return {"method": method, "status": status, "tolerance": tolerance}


def draw(method, truth, low=0.1, high=0.3, status="met"):
    return {
        **rule(method, status, 0.2),
        "population/violation": truth,
        "fit/low": low,
        "fit/high": high,
    }


def shares(rows, leads=()):
    return [(one.share, one.cases) for one in judge(pd.DataFrame(rows), leads)]


def test_infeasible_tolerances_and_those_of_curves_do_not_count():
    rows = [rule("exact blind network", "met")] * 3
    rows += [rule("exact informed boosting", "missed")]
    rows += [rule("exact blind boosting", "infeasible")]
    rows += [rule("exact blind boosting", "missed", 0.02)]
    rows += [rule("blind boosting", "missed"), rule("informed boosting", "met")]
    assert shares(rows)[:2] == [(0.75, 4), (0.5, 2)]


def test_intervals_cover_from_both_sides():
    held_out = [draw("held-out certificate", x) for x in (0.05, 0.1, 0.2, 0.4)]
    fitted = [draw("fitted certificate", x) for x in (0.2, 0.3, 0.4)]
    assert shares([*held_out, *fitted])[2:4] == [(0.5, 4), (pytest.approx(2 / 3), 3)]


def test_only_rules_that_were_assured_must_hold():
    rows = [draw("assured rule", x) for x in (0.1, 0.2, 0.21)]
    rows += [draw("assured rule", 0.9, status="missed")]
    rows += [rule("assured rule", "too few rows", 0.2)]
    assert shares(rows)[4] == (pytest.approx(2 / 3), 3)


def test_peers_lead_if_they_are_ahead_by_more_than_noise():
    leads = [
        Lead("bank", "all", "pr", "grid", "", 0.1, 0.1, 0.8 + x, 0.8, 0, 0, 3, reached)
        for x, reached in ((0.004, True), (0.006, True), (-0.1, True), (-0.1, False))
    ]
    found = judge(pd.DataFrame([rule("exact blind network", "met")]), leads)[-1]
    assert (found.share, found.cases) == (pytest.approx(2 / 3), 3)
    assert not found.reached


def test_peer_that_is_fairer_and_more_accurate_leads():
    lead = Lead("bank", "all", "pr", "grid", "", 0.1, 0.1, 0.9, 0.8, 0, 0, 3, False)
    found = judge(pd.DataFrame([rule("exact blind network", "met")]), [lead])[-1]
    assert (found.share, found.cases) == (0, 1)


def test_goals_without_cases_are_not_reached():
    goals = judge(pd.DataFrame([rule("boosting", "done")]), [])
    assert all(math.isnan(one.share) and not one.reached for one in goals)
