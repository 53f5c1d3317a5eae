"""Differences are paired by seed, and their intervals cover."""

import math

import numpy as np
import pytest
from scipy import stats

from fairret.lab.experiment.differences import compare_volumes, paired_difference
from fairret.lab.experiment.hypervolume import Gain, Volume


def volume(gains, value=0.5):
    settings = ("bank", "", "pr", "all", "AUROC, scores", "KL", 3, len(gains))
    return Volume(*settings, value, *[math.nan] * 3, False, gains)


def test_interval_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.5, 1, 7), rng.normal(0, 1, 7)
    test = stats.ttest_rel(a, b)
    found = paired_difference(a - b)
    ends = test.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.mean == pytest.approx((a - b).mean())


def test_only_seeds_of_both_are_compared():
    first = volume({0: Gain(5, 9, 10), 2: Gain(14, 12, 20), 5: Gain(9, 1, 10)})
    second = volume({2: Gain(8, 4, 20), 0: Gain(1, 8, 10)})
    found = compare_volumes(first, second)
    assert (found.mean, found.seeds) == (pytest.approx((4 + 6) / 30), 2)
    assert compare_volumes(first, second, "curve").mean == pytest.approx(9 / 30)
    none = volume(second.gains, math.nan)
    assert math.isnan(compare_volumes(first, none).mean)


def test_methods_that_gain_the_same_share_in_every_seed_differ_surely():
    """However much there is to gain: only deviations from the shares are noise."""
    possible = [1.0, 5.0, 0.0, 12.0]
    first, second = (
        volume({k: Gain(share * g, 0, g) for k, g in enumerate(possible)})
        for share in (0.7, 0.4)
    )
    found = compare_volumes(first, second)
    assert found[:3] == pytest.approx((0.3, 0.3, 0.3))


@pytest.mark.parametrize("least", [0.7, 0.0])  # some seeds have little to gain
@pytest.mark.parametrize("n", [3, 5, 10])
def test_intervals_of_shares_cover_in_95_of_100_cases(n, least):
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        g = rng.uniform(least, 2 - least, n)
        gained = g * (0.6 + rng.normal(0, 0.1, (2, n)))  # the same share on average
        a, b = (
            volume(
                {k: Gain(x, 0, y) for k, (x, y) in enumerate(zip(own, g, strict=True))}
            )
            for own in gained
        )
        found = compare_volumes(a, b)
        covered += found.low <= 0 <= found.high
    assert 0.93 < covered / 2000 < 0.975


def test_sign_is_that_of_an_interval_without_zero():
    assert paired_difference([0.5, 0.6, 0.55]).sign == 1
    assert paired_difference([-0.5, -0.6, -0.55]).sign == -1
    assert paired_difference([0.5, -0.6, 0.55]).sign == 0
    alone = paired_difference([0.5])
    assert (alone.mean, alone.sign, math.isnan(alone.low)) == (0.5, 0, True)
    assert math.isnan(paired_difference([]).mean)
    assert paired_difference([0.5, math.nan]).sign == 0


def test_intervals_cover_in_95_of_100_cases():
    rng = np.random.default_rng(0)
    found = [paired_difference(rng.normal(0.1, 0.3, 4)) for _ in range(2000)]
    inside = np.mean([one.low <= 0.1 <= one.high for one in found])
    assert inside == pytest.approx(0.95, abs=0.015)  # three standard errors
