"""Who leads at equal violation, on curves whose answer is known."""

import math

import pandas as pd
import pytest

from fairret.lab.tolerance.leads import find_leads


def row(method, tolerance, violation, accuracy, seed=0):
    return {
        "dataset": "bank",
        "traits": "marital",
        "notion": "pr",
        "seed": seed,
        "method": method,
        "tolerance": tolerance,
        "test/violation": violation,
        "test/accuracy": accuracy,
        "test/balanced_accuracy": accuracy - 0.1,
    }


OURS = [
    row("exact blind boosting", 0.1, 0.1, 0.80),
    row("exact blind boosting", 0.2, 0.3, 0.84),
    row("boosting", math.inf, 0.5, 0.90),
]


def lead_at(violation, accuracy=0.85):
    peer = row("ExponentiatedGradient", 0.1, violation, accuracy)
    (found,) = find_leads(pd.DataFrame([*OURS, peer]))
    return found


@pytest.mark.parametrize(
    ("violation", "ours"),
    [(0.1, 0.80), (0.15, 0.81), (0.4, 0.87), (0.7, 0.90)],  # beyond: without tolerance
)
def test_our_curve_is_read_at_the_violation_of_the_peer(violation, ours):
    found = lead_at(violation)
    assert found.our_accuracy == pytest.approx(ours)
    assert found.our_balanced_accuracy == pytest.approx(ours - 0.1)
    assert found.lead == pytest.approx(0.85 - ours)


def test_peer_below_our_smallest_violation_is_marked():
    assert lead_at(0.1).reached
    found = lead_at(0.05)
    assert not found.reached
    assert found.our_accuracy == pytest.approx(0.80)


def test_means_are_over_the_seeds_that_both_have():
    second = [one | {"seed": 1, "test/accuracy": 0.5} for one in OURS]
    peers = [row("ExponentiatedGradient", 0.1, 0.1, 0.85, seed) for seed in (0, 7)]
    (found,) = find_leads(pd.DataFrame([*OURS, *second, *peers]))
    assert found.seeds == 1
    assert found.our_accuracy == pytest.approx(0.80)


def test_other_traits_and_informed_rules_are_not_mixed_in():
    other = [one | {"traits": "all", "test/accuracy": 0.99} for one in OURS]
    informed = row("exact informed boosting", 0.1, 0.1, 0.99)
    peer = row("ExponentiatedGradient", 0.1, 0.1, 0.85)
    (found,) = find_leads(pd.DataFrame([*OURS, *other, informed, peer]))
    assert found.our_accuracy == pytest.approx(0.80)
