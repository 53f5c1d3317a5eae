"""Differences are paired by seed, and their intervals cover."""

import math

import numpy as np
import pytest
from scipy import stats

from fairret.lab.experiment.differences import compare_volumes, paired_difference
from fairret.lab.experiment.hypervolume import Share, Volume


def volume(shares):
    settings = ("bank", "", "pr", "all", "AUROC, scores", "KL", 3, len(shares))
    return Volume(*settings, *[math.nan] * 4, False, shares)


def test_interval_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.5, 1, 7), rng.normal(0, 1, 7)
    test = stats.ttest_rel(a, b)
    found = paired_difference(a - b)
    ends = test.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.mean == pytest.approx((a - b).mean())


def test_only_seeds_of_both_are_compared():
    first = volume({0: Share(0.5, 0.9), 2: Share(0.7, 0.6), 5: Share(0.9, 0.1)})
    second = volume({2: Share(0.4, 0.2), 0: Share(0.1, 0.8)})
    found = compare_volumes(first, second)
    assert (found.mean, found.seeds) == (pytest.approx((0.4 + 0.3) / 2), 2)
    assert compare_volumes(first, second, "curve").mean == pytest.approx(0.25)


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
