"""Verdicts and intervals on tables that were built to break them."""

import pickle

import pytest
import torch

from fairret.metric import Parity
from fairret.metric.simultaneous_intervals import (
    difference_intervals,
    violation_intervals,
)
from fairret.metric.studentised_test import studentised_test
from tables import moments, trait

STEP = 100


def draws(times, n, seed=0):
    rng = torch.Generator().manual_seed(seed)
    for _ in range(0, times, STEP):
        yield torch.rand((STEP, n), generator=rng, dtype=torch.float64)


def rejected(s, make, times):
    found = [
        studentised_test(moments("pr", h := make(x), 0 * h, s), 0.95, 30).beyond
        for x in draws(times, len(s))
    ]
    return torch.cat(found).any(-1).any(-1).double().mean().item()


@pytest.mark.simulation
@pytest.mark.parametrize(
    "make",
    [
        lambda x: 0.01 + 0.99 * (x < 0.03).double(),
        lambda x: x**20,  # most scores are close to 0
        lambda x: (x < 0.02).double(),
    ],
    ids=["mixture", "skewed", "decisions"],
)
def test_a_small_group_does_not_convict_the_rest(make):
    # both groups have the same distance from parity, up to its sign
    assert rejected(trait(3000, 35), make, 600) < 0.07


def test_two_groups_have_the_same_evidence():
    s = trait(3000, 35)
    h = next(draws(STEP, len(s), seed=1)) ** 8
    found = studentised_test(moments("pr", h, 0 * h, s), 0.95, 30)
    one, two = found.z[:, 0].unbind(-1)
    torch.testing.assert_close(one, -two, rtol=1e-6, atol=1e-9)


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("sizes", "rate"), [((3000, 29), 0.02), ((5000, 100), 0.01), ((5000, 500), 0.005)]
)
def test_intervals_cover_parity_where_a_group_has_hardly_a_yes(sizes, rate):
    s = trait(*sizes)
    violation, difference = [], []
    for x in draws(400, len(s)):
        h = (x < rate).double()
        m = moments("pr", h, 0 * h, s)
        judged = studentised_test(m, 0.95, 30).judged
        low = violation_intervals(m, judged, 0.95).largest.low[:, 0]
        violation.append(~(low > 0))
        low = difference_intervals(m, [[0, 1]], judged, 0.95).largest.low[:, 0]
        difference.append(~(low > 0))
    assert torch.cat(violation).double().mean() > 0.92
    assert torch.cat(difference).double().mean() > 0.88  # rates of 0.5 %


@pytest.mark.simulation
@pytest.mark.parametrize(
    "weigh",
    [
        lambda f, s, x: 1 + 9 * f,  # a yes counts ten times
        lambda f, s, x: 1 + 4 * s[:, 1],  # a group counts five times
    ],
    ids=["of a yes", "of a group"],
)
def test_weights_of_rare_decisions_do_not_convict(weigh):
    s = trait(31, 40, 60, 100, 1000)
    rng = torch.Generator().manual_seed(2)
    found, times = 0, 200
    for _ in range(times):
        f = (torch.rand(len(s), generator=rng) < 0.02).double()
        metric = Parity("pr")
        metric.update(f, s, weight=weigh(f, s, rng))
        found += metric.compute().scores.beyond_chance
    assert found / times < 0.1  # standard error 1.6 %


def test_a_few_rows_with_most_of_the_weight_do_not_convict():
    """Three rows of weight 300 are refused; of all others, 30 % get a yes."""
    s, weight = trait(500, 500), torch.ones(1000)
    f = (torch.arange(1000) % 10 < 3).double()
    f[:3], weight[:3] = 0, 300.0
    metric = Parity("pr", names=["a", "b"])
    metric.update(f, s, weight=weight)
    result = metric.compute().scores
    assert not result.can_be_judged
    assert not result.beyond_chance
    assert result.too_few == ("a", "b")
    assert result.groups["b"].counted == pytest.approx(500)
    assert result.everybody.counted == pytest.approx(1897**2 / (997 + 3 * 300**2))


@pytest.mark.slow
def test_a_group_within_chance_may_have_no_gap():
    rng = torch.Generator().manual_seed(3)
    seen = set()
    for _ in range(40):
        s = trait(40, 1000)
        h = (torch.rand(1040, generator=rng) < 0.12 - 0.1 * s[:, 0]).double()
        metric = Parity("pr", threshold=0.5)
        metric.update(h, s)
        result = metric.compute().decisions
        seen.add(result.beyond_chance)
        if not result.beyond_chance:
            assert result.largest_violation.low == 0
            assert result.difference_bounds.low == 0
            assert result.ratio_bounds.high == 1
        for group in result.groups.values():
            assert group.beyond_chance or group.violation_low == 0
    assert seen == {True, False}


@pytest.mark.parametrize("name", ["pr", "fpr"])
def test_nobody_departs_where_nobody_gets_a_yes(name):
    metric = Parity(name, threshold=0.5)
    metric.update(torch.zeros(300), trait(100, 200), torch.zeros(300))
    result = metric.compute().decisions
    assert result.max_violation == 0
    assert result.violation_beyond_chance == 0


def test_typical_violation_is_that_of_judged_groups():
    s = trait(500, 500, 20)
    h = torch.cat((torch.arange(1000) % 2, torch.ones(20))).double()
    metric = Parity("pr", threshold=0.5)
    metric.update(h, s)
    result = metric.compute().decisions
    assert result.violation_beyond_chance <= result.largest_violation.estimate


@pytest.mark.parametrize("order", ["as drawn", "by label"])
def test_order_of_the_stream_is_irrelevant_where_weights_differ_by_label(order):
    rng = torch.Generator().manual_seed(4)
    s = trait(60, 140)
    y = (torch.rand(200, generator=rng) < 0.5).double()
    h = (torch.rand(200, generator=rng) < 0.4 + 0.2 * s[:, 0]).double()
    w = 5 - 4 * y
    rows = torch.argsort(y, stable=True) if order == "by label" else torch.arange(200)
    whole, parts = Parity("tpr", min_size=1), Parity("tpr", min_size=1)
    whole.update(h, s, y, weight=w)
    for some in rows.split(67):
        parts.update(h[some], s[some], y[some], weight=w[some])
    ours, theirs = whole.compute().scores, parts.compute().scores
    torch.testing.assert_close(ours.p_value, theirs.p_value, rtol=1e-9, atol=0)


def test_results_of_traits_and_parts_can_be_pickled():
    s = trait(60, 140)
    y = (torch.arange(200) % 3 == 0).double()
    metric = Parity("tpr+fpr", names=["a", "b"], traits={"t": [0, 1]}, threshold=0.5)
    metric.update((torch.arange(200) % 2).double(), s, y)
    result = metric.compute().decisions
    for own in (result, *result.by_trait.values(), *result.parts.values()):
        copy = pickle.loads(pickle.dumps(own))
        torch.testing.assert_close(copy.p_value, own.p_value, equal_nan=True)


@pytest.mark.slow
def test_many_groups_are_bounded_in_little_memory():
    # a matrix of pairs by groups would have 90 million numbers
    codes = torch.arange(30_000) % 300
    s = torch.nn.functional.one_hot(codes, 300).float()
    metric = Parity("pr", threshold=0.5)
    metric.update((torch.arange(30_000) % 7 < 3).double(), s)
    result = metric.compute().decisions
    assert result.difference_bounds.low <= result.difference_bounds.estimate
    assert result.ratio_bounds.high >= result.ratio_bounds.estimate
