"""Wald's test and the noise floor: right under a fair model, and powerful."""

import pytest
import torch
from scipy.stats import chi2_contingency

from fairret.metric import Parity
from fairret.metric.parity_test import Deviation, deviation, noise_floor, wald_test
from fairret.statistic.sums import Sums
from fairret.statistic.violation import violation
from tables import Population, moments, trait

HARD = pytest.mark.parametrize("hard", [False, True], ids=["scores", "decisions"])
TIMES = 2500  # a share of 5 % has a noise of 0.44 %
FAIR = Population(mean=(0.2,) * 3, sd=(1.2,) * 3, shift=(0.1,) * 3)
SIZES = (100, 150, 350)


def overlapping(n, sizes=(2, 4, 3), seed=1):
    """Traits of these sizes, drawn independently: (n, sum of sizes)."""
    rng = torch.Generator().manual_seed(seed)
    columns = []
    for d in sizes:
        share = torch.arange(2.0, 2 + d)
        codes = torch.multinomial(share, n, replacement=True, generator=rng)
        columns.append(torch.nn.functional.one_hot(codes, d).double())
    return torch.cat(columns, 1)


def groups_of(kind):
    return trait(*SIZES) if kind == "one" else overlapping(sum(SIZES))


def violations(m):
    num, den = m.groups
    return violation(Sums(num[..., 1:], den[..., 1:]), Sums(num[..., 0], den[..., 0]))


def group_floors(d):
    """What the violation of a group of a fair model stays below in 95 % of tables."""
    variance = torch.einsum("...kiki->...ki", d.covariance)
    return 1.959963984540054 * variance.sqrt() * d.scale


def share(mask):
    return mask.double().mean(0)


@pytest.mark.parametrize("seed", range(3))
def test_decisions_on_one_trait_have_pearsons_test(seed):
    s = trait(13, 29, 41, 7)
    rng = torch.Generator().manual_seed(seed)
    h = (torch.rand(len(s), generator=rng) < 0.3 + 0.2 * s[:, 1]).double()
    metric = Parity("pr", min_size=1)
    metric.update(h, s)
    ours = metric.compute().scores.test
    table = torch.stack((h @ s, (1 - h) @ s)).numpy()
    theirs = chi2_contingency(table, correction=False)
    assert ours.statistic.item() == pytest.approx(theirs.statistic, rel=1e-10)
    assert ours.p_value.item() == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.df.item() == theirs.dof == 3


@pytest.mark.parametrize("positive", [0, 1])
def test_decisions_within_a_class_have_pearsons_test(positive):
    s = trait(31, 57, 43)
    rng = torch.Generator().manual_seed(5)
    y = (torch.rand(len(s), generator=rng) < 0.45).double()
    h = (torch.rand(len(s), generator=rng) < 0.3 + 0.3 * s[:, 2]).double()
    metric = Parity("tpr" if positive else "fpr", min_size=1)
    metric.update(h, s, y)
    ours = metric.compute().scores.test
    own = y == positive
    table = torch.stack((h[own] @ s[own], (1 - h[own]) @ s[own])).numpy()
    theirs = chi2_contingency(table, correction=False)
    assert ours.statistic.item() == pytest.approx(theirs.statistic, rel=1e-10)
    assert ours.df.item() == theirs.dof == 2


def test_equalized_odds_of_decisions_add_pearsons_tests_of_the_classes():
    s = trait(31, 57, 43)
    h, y = FAIR.draw(s, 1, hard=True, seed=6)
    both, tpr, fpr = (
        wald_test(deviation(moments(name, h, y, s)))
        for name in ("tpr+fpr", "tpr", "fpr")
    )
    total = tpr.statistic + fpr.statistic  # positives and negatives are other people
    torch.testing.assert_close(both.statistic, total, rtol=1e-10, atol=0)
    assert both.df.item() == 4


@pytest.mark.simulation
@HARD
@pytest.mark.parametrize(
    "name",
    ["pr", "tpr", "ppv", "accuracy", "fn_fp", "f_score", "tpr+fpr", "pr+tpr"],
)
def test_fair_model_is_rejected_as_often_as_said(name, hard):
    # in turn: either kind with every notion, and with scores and decisions
    kind = "three" if hard == (name in ("pr", "ppv", "fn_fp", "tpr+fpr")) else "one"
    s = groups_of(kind)
    h, y = FAIR.draw(trait(*SIZES), TIMES, hard, seed=7)
    m = moments(name, h, y, s)
    d = deviation(m)
    test = wald_test(d)
    df = (2 if kind == "one" else 1 + 3 + 2) * len(name.split("+"))
    assert (test.df == df).all()
    assert abs(share(test.p_value < 0.05) - 0.05) < 0.015
    assert abs(share(test.p_value < 0.5) - 0.5) < 0.04  # noise 1 %
    beyond = share(violations(m) > group_floors(d))
    assert ((beyond - 0.05).abs() < 0.015).all()


@pytest.mark.simulation
@pytest.mark.parametrize("sizes", [(100, 150, 350), (350, 150, 100)])
def test_equal_means_are_fair_whatever_the_spreads(sizes):
    s = trait(*sizes)
    spread = Population(mean=(0.0,) * 3, sd=(2.0, 1.0, 0.3), shift=(0.0,) * 3)
    h, y = spread.draw(s, TIMES, hard=False, seed=8)
    m = moments("pr", h, y, s)
    d = deviation(m)
    assert abs(share(wald_test(d).p_value < 0.05) - 0.05) < 0.015
    beyond = share(violations(m) > group_floors(d))
    assert ((beyond - 0.05).abs() < 0.015).all()


@pytest.mark.simulation
@HARD
@pytest.mark.parametrize("name", ["pr", "tpr", "tpr+fpr"])
def test_unfair_model_is_found(name, hard):
    s = trait(*SIZES)
    unfair = Population(mean=(1.6, 0.2, 0.2), sd=(1.2,) * 3, shift=(0.1,) * 3)
    h, y = unfair.draw(s, 500, hard, seed=9)
    d = deviation(moments(name, h, y, s))
    assert share(wald_test(d).p_value < 0.05) > 0.95


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("name", "kind", "hard"),
    [("ppv", "three", True), ("tpr+fpr", "one", False)],
)
def test_fair_model_exceeds_the_noise_floor_as_often_as_said(name, kind, hard):
    s = groups_of(kind)
    h, y = FAIR.draw(trait(*SIZES), TIMES, hard, seed=10)
    m = moments(name, h, y, s)
    whole = deviation(m)
    floor = []
    for start in range(0, TIMES, 50):  # 10 000 draws for each table
        some = Deviation(*(x[start : start + 50] for x in whole))
        floor.append(noise_floor(some, 0.95))
    largest = violations(m).amax((-2, -1))
    assert abs(share(largest > torch.cat(floor)) - 0.05) < 0.015


def test_noise_floor_of_one_pair_of_groups_is_that_of_the_smaller():
    s = trait(40, 160)  # one degree of freedom: both groups depart together
    h, y = FAIR._replace(mean=(0.2,) * 2, sd=(1.2,) * 2, shift=(0.1,) * 2).draw(
        s, 3, hard=True, seed=11
    )
    d = deviation(moments("pr", h, y, s))
    smaller = group_floors(d).amax(-1)[:, 0]
    # the quantile is that of 10 000 draws: 1 % of noise
    torch.testing.assert_close(noise_floor(d, 0.95), smaller, rtol=0.03, atol=0)


@pytest.fixture
def table():
    s = overlapping(61, (3, 2), seed=12)
    people = Population(mean=(0.3,) * 5, sd=(1.3,) * 5, shift=(0.0,) * 5)
    h, y = people.draw(s, 1, hard=False, seed=13)
    return h, y, s


COLUMNS = {
    "constant": lambda s: torch.ones_like(s[:, :1]),
    "absent": lambda s: torch.zeros_like(s[:, :1]),
    "repeated": lambda s: s[:, 2:3],
    "rest": lambda s: 1 - s[:, 1:2],
    "half": lambda s: s[:, :1] / 2,
}


@HARD
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", ["pr", "ppv", "tpr+fpr"])
def test_columns_that_say_nothing_new_do_not_change_the_test(name, column, hard, table):
    h, y, s = table
    h = (h > 0.5).double() if hard else h
    before = wald_test(deviation(moments(name, h, y, s)))
    wide = torch.cat((s, COLUMNS[column](s)), 1)
    after = wald_test(deviation(moments(name, h, y, wide)))
    assert before.df.item() == 3 * len(name.split("+"))
    assert after.df.item() == before.df.item()
    # dependent columns leave eigenvalues of 1e-16 beside those of 0.1
    torch.testing.assert_close(after.statistic, before.statistic, rtol=1e-8, atol=0)
    torch.testing.assert_close(after.p_value, before.p_value, rtol=1e-8, atol=0)


def test_statistics_that_say_nothing_new_do_not_change_the_test(table):
    h, y, s = table
    alone = wald_test(deviation(moments("tpr", h, y, s)))
    twice = wald_test(deviation(moments("tpr+fnr", h, y, s)))
    assert twice.df.item() == alone.df.item() == 3
    torch.testing.assert_close(twice.statistic, alone.statistic, rtol=1e-8, atol=0)


def test_order_of_rows_and_groups_is_irrelevant_to_the_test(table):
    h, y, s = table
    before = wald_test(deviation(moments("accuracy", h, y, s)))
    rows = torch.randperm(len(s), generator=torch.Generator().manual_seed(14))
    mixed = moments("accuracy", h[:, rows], y[:, rows], s[rows][:, [3, 0, 4, 2, 1]])
    after = wald_test(deviation(mixed))
    torch.testing.assert_close(after.statistic, before.statistic, rtol=1e-9, atol=0)
