"""How large a gap is: intervals cover, and chance is taken out."""

import math

import numpy as np
import pytest
import torch

import reference
from batches import sample
from fairret.metric import Parity
from fairret.metric.relative import mean_square_violation
from fairret.metric.simultaneous_intervals import violation_intervals
from fairret.metric.studentised_test import studentised_test
from fairret.statistic import LinearFractionalStatistic
from tables import Population, moments, trait

HARD = pytest.mark.parametrize("hard", [False, True], ids=["scores", "decisions"])
TIMES, STEP = 1200, 100  # a coverage of 95 % has a standard error of 0.63 %
POPULATIONS = {
    # the worst group stands out, the groups are alike, several are about as far off
    "one": (Population((1.0, 0.2, 0.2), (1.2,) * 3, (0.1,) * 3), (300, 700, 1000)),
    "small": (Population((-0.9, 0.2, 0.2), (1.2,) * 3, (0.1,) * 3), (60, 700, 1000)),
    "none": (Population((0.2,) * 2, (1.2,) * 2, (0.1,) * 2), (400, 600)),
    "several": (
        Population((-0.1, 0.5, 0.2, 0.5, 0.0), (1.2,) * 5, (0.1,) * 5),
        (200, 300, 400, 300, 500),
    ),
}


def truth(name, population, sizes, hard):
    """Signed violations in the population, and the groups' shares of what counts."""
    h, y = population.draw(trait(*(400 * n for n in sizes)), 1, hard, seed=99)
    den = moments(name, h, y, trait(*(400 * n for n in sizes))).groups.den[0, 0, 1:]
    gamma = population.truth(name, hard)[:, 0] if name != "pr" else None
    if name == "pr":
        gamma, den = (
            population.truth("pr", hard).flatten(),
            torch.tensor(sizes).double(),
        )
    share = den / den.sum()
    return gamma / (gamma * share).sum() - 1, share


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("kind", "hard"),
    [("one", False), ("small", True), ("none", True), ("several", False)],
)
def test_intervals_cover_the_largest_violation(kind, hard):
    population, sizes = POPULATIONS[kind]
    v, _ = truth("pr", population, sizes, hard)
    largest, s = v.abs().max(), trait(*sizes)
    inside, every = [], []
    for seed in range(0, TIMES, STEP):
        m = moments("pr", *population.draw(s, STEP, hard, seed), s)
        gaps = violation_intervals(m, studentised_test(m, 0.95, 30).judged, 0.95)
        low, high = gaps.largest.low[:, 0], gaps.largest.high[:, 0]
        inside.append((low <= largest + 1e-12) & (largest <= high))
        each = (gaps.each.low <= v.abs() + 1e-12) & (v.abs() <= gaps.each.high)
        every.append(each[:, 0].all(-1))
    inside, every = (torch.cat(x).double().mean().item() for x in (inside, every))
    assert inside >= 0.93
    if kind != "several":  # where groups are about as far off, the bound is cautious
        assert inside <= 0.97
    assert 0.93 <= every <= 0.99


@pytest.mark.simulation
@HARD
@pytest.mark.parametrize("kind", POPULATIONS)
def test_violation_beyond_chance_is_unbiased(kind, hard):
    population, sizes = POPULATIONS[kind]
    v, share = truth("pr", population, sizes, hard)
    s = trait(*sizes)
    m = moments("pr", *population.draw(s, 600, hard, seed=3), s)
    judged = torch.ones(600, 1, len(sizes), dtype=torch.bool)
    found = mean_square_violation(m, [range(len(sizes))], judged)[:, 0]
    error = found.std() / math.sqrt(len(found))
    assert abs(found.mean() - (share * v.square()).sum()) < 3 * error


@pytest.mark.simulation
def test_violation_beyond_chance_does_not_grow_with_fewer_rows():
    # of the largest violation, most is chance; of this, nothing is
    population = Population((0.2,) * 4, (1.2,) * 4, (0.1,) * 4)
    means = []
    for size in (40, 400):
        s = trait(*[size] * 4)
        m = moments("pr", *population.draw(s, 600, True, seed=4), s)
        judged = torch.ones(600, 1, 4, dtype=torch.bool)
        means.append(mean_square_violation(m, [range(4)], judged).mean().item())
    assert all(abs(mean) < 0.002 for mean in means)


@pytest.mark.parametrize("name", ["pr", "tpr", "ppv", "accuracy"])
def test_interval_is_that_of_the_influences(name):
    batch = sample(301, "three", seed=2)
    h, s, y = batch.numpy()
    h = (h > 0.5).astype(float)
    metric = Parity(name, min_size=1)
    metric.update(torch.tensor(h), batch.sens, batch.label)
    result = metric.compute().scores
    se = np.sqrt(np.diag(reference.log_violation_covariance(name, h, s, y)))
    compared = 0
    for k, group in enumerate(result.groups.values()):
        if group.counted < 40 or not 0.1 < group.statistic < 0.9:
            continue  # a variance that is too small is raised there
        log = math.log(group.statistic / float(result.overall))
        c = _critical(group, log, se[k])
        assert 1.96 <= c < 3.6  # of ten groups, and a variance that is raised a little
        compared += 1
    assert compared >= 3
    assert result.largest_violation.high >= result.largest_violation.estimate


def _critical(group, log, se):
    """By how many standard errors the farther end of the interval is off."""
    end = math.log1p(group.violation_high * (1 if log > 0 else -1))
    return abs(end - log) / se


@pytest.mark.parametrize("kind", ["difference", "ratio"])
def test_bounds_of_two_groups_are_the_textbooks(kind):
    # 1000 and 600 people, of whom 300 and 120 get a yes
    h = torch.cat((torch.arange(1000) < 300, torch.arange(600) < 120)).double()
    metric = Parity("pr", threshold=0.5)
    metric.update(h, trait(1000, 600))
    result = metric.compute().decisions
    if kind == "difference":
        se = math.sqrt(0.3 * 0.7 / 1000 + 0.2 * 0.8 / 600)
        found, expected = (
            result.difference_bounds,
            (0.1, 0.1 - 1.96 * se, 0.1 + 1.96 * se),
        )
    else:
        se = math.sqrt(0.7 / 300 + 0.8 / 120)
        found = result.ratio_bounds
        expected = (2 / 3, 2 / 3 * math.exp(-1.96 * se), 2 / 3 * math.exp(1.96 * se))
    assert [float(x) for x in found] == pytest.approx(expected, rel=2e-3)
    assert float(getattr(result, kind)) == pytest.approx(expected[0])


def test_differences_and_ratios_are_within_traits():
    # rates 0.5, 0.4 of one trait; 0.9, 0.1 of another one's groups of ten
    s = torch.zeros(2000, 4).double()
    s[:1000, 0], s[1000:, 1] = 1, 1
    s[:1000, 2], s[1000:, 3] = 1, 1
    h = torch.cat((torch.arange(1000) < 500, torch.arange(1000) < 400)).double()
    options = {"names": list("abcd"), "traits": {"one": [0, 3], "other": [1]}}
    metric = Parity("pr", threshold=0.5, **options)
    metric.update(h, s)
    result = metric.compute().decisions
    assert float(result.difference) == pytest.approx(0.1)
    assert float(result.ratio) == pytest.approx(0.8)
    assert float(result.ratio_bounds.estimate) == pytest.approx(0.8)


def test_a_group_without_a_yes_has_bounds():
    h = torch.cat((torch.zeros(50), torch.arange(400) % 4 == 0)).double()
    metric = Parity("pr", threshold=0.5)
    metric.update(h, trait(50, 400))
    result = metric.compute().decisions
    estimate, low, high = result.largest_violation
    assert estimate == 1
    assert 0.3 < low < 1 <= high < 1.5
    estimate, low, high = result.ratio_bounds
    assert estimate == low == 0
    assert 0 < high < 0.8


def test_a_difference_of_shares_is_at_most_one():
    h = torch.cat((torch.zeros(400), torch.ones(600))).double()
    metric = Parity("pr", threshold=0.5)
    metric.update(h, trait(400, 600))
    estimate, low, high = metric.compute().decisions.difference_bounds
    assert estimate == high == 1
    assert 0.98 < low < 1


def test_without_an_event_a_violation_has_no_upper_bound():
    """In the population, one group may have all events, and a violation of 100 %."""
    metric = Parity("pr", threshold=0.5)
    metric.update(torch.zeros(500), trait(200, 300))
    result = metric.compute().decisions
    assert result.largest_violation == (0, 0, math.inf)
    assert [x.violation_high for x in result.groups.values()] == [math.inf] * 2
    assert result.difference_bounds.high < 0.05  # a difference is bounded all the same


class Balance(LinearFractionalStatistic):
    """Mean of 2 h - 1, which may be 0 or negative."""

    def nom_intercept(self) -> float:
        return -1.0

    def nom_slope(self) -> float:
        return 2.0

    def denom_intercept(self) -> float:
        return 1.0


@pytest.mark.parametrize(("share", "bounded"), [(0.52, False), (0.70, True)])
def test_a_violation_is_bounded_if_the_overall_value_is_not_zero(share, bounded):
    metric = Parity(Balance(), threshold=0.5)
    metric.update((torch.arange(400) % 100 < 100 * share).double(), trait(100, 300))
    result = metric.compute().decisions
    assert math.isfinite(result.largest_violation.high) == bounded


def test_nothing_is_bounded_where_nobody_is_judged():
    metric = Parity("pr", threshold=0.5)
    metric.update((torch.arange(20) % 2).double(), trait(10, 10))
    result = metric.compute().decisions
    for bounds in (
        result.largest_violation,
        result.difference_bounds,
        result.ratio_bounds,
    ):
        assert all(math.isnan(x) for x in bounds)
    assert not result.can_be_judged
    assert not result.beyond_chance


@pytest.mark.parametrize("hard", [False, True])
def test_complement_is_one_minus_the_share(hard):
    batch = sample(180, "one", seed=6)
    h = batch.logit.sigmoid()
    h = (h > 0.5).double() if hard else h
    direct, other = Parity("pr", min_size=1), Parity("pr", min_size=1)
    direct.update(h, batch.sens)
    other.update(1 - h, batch.sens)
    ours, theirs = direct.compute().scores.complement, other.compute().scores
    for field in ("statistic", "standard_error", "violation", "p_value", "low", "high"):
        torch.testing.assert_close(
            getattr(ours, field), getattr(theirs, field), rtol=1e-6, atol=1e-9
        )
    torch.testing.assert_close(
        torch.stack(ours.ratio_bounds), torch.stack(theirs.ratio_bounds)
    )
