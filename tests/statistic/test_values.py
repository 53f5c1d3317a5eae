"""Statistics equal the plain loops, whatever the order, weight or shape of the rows."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from batches import STACKS, STATISTICS, sample
from fairret.statistic import (
    ConditionalPositiveRate,
    FScore,
    LinearFractionalStatistic,
    StackedLinearFractionalStatistic,
    equalized_odds,
    get_statistic,
)

N = 29
KINDS = ("one", "three", "continuous")


def close(actual, expected):
    expected = torch.as_tensor(np.array(expected), dtype=torch.float64)
    torch.testing.assert_close(actual.double(), expected, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STATISTICS)
def test_statistic_equals_the_plain_loop(name, kind):
    batch = sample(N, kind, seed=1)
    h, s, y = batch.numpy()
    statistic = get_statistic(name)
    prob = batch.logit.sigmoid()
    groups = [reference.gamma(name, h, y, column) for column in s.T]
    close(statistic(prob, batch.sens, batch.label), groups)
    overall = reference.gamma(name, h, y, np.ones(N))
    close(statistic.overall(prob, batch.label), overall)


@pytest.mark.parametrize("name", STATISTICS)
def test_weighted_statistic_equals_the_plain_loop(name):
    batch = sample(N, "continuous", seed=2)
    h, s, y = batch.numpy()
    w = np.random.default_rng(3).uniform(0, 2, N)
    weight = torch.as_tensor(w)
    prob = batch.logit.sigmoid()
    statistic = get_statistic(name)
    groups = [reference.gamma(name, h, y, column, w) for column in s.T]
    close(statistic(prob, batch.sens, batch.label, weight=weight), groups)
    close(
        statistic.overall(prob, batch.label, weight=weight),
        reference.gamma(name, h, y, np.ones(N), w),
    )


@pytest.mark.parametrize("stack", STACKS)
def test_stack_has_one_row_for_each_statistic(stack):
    batch = sample(N, "three", seed=3)
    prob = batch.logit.sigmoid()
    parts = [get_statistic(name) for name in stack.split("+")]
    statistic = StackedLinearFractionalStatistic(*parts)
    rows = torch.stack([part(prob, batch.sens, batch.label) for part in parts])
    got = statistic(prob, batch.sens, batch.label)
    torch.testing.assert_close(got, rows, equal_nan=True)
    whole = torch.stack([part.overall(prob, batch.label) for part in parts])
    torch.testing.assert_close(statistic.overall(prob, batch.label), whole)


def test_stack_of_stacks_is_flat():
    nested = StackedLinearFractionalStatistic(equalized_odds(), "ppv")
    assert [type(part).__name__ for part in nested.parts] == [
        "TruePositiveRate",
        "FalsePositiveRate",
        "PositivePredictiveValue",
    ]


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_f_score_is_the_weighted_mean_of_precision_and_recall(beta):
    batch = sample(N, seed=4)
    prob = batch.logit.sigmoid()
    precision = get_statistic("ppv")(prob, batch.sens, batch.label)
    recall = get_statistic("tpr")(prob, batch.sens, batch.label)
    expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    torch.testing.assert_close(FScore(beta)(prob, batch.sens, batch.label), expected)


def test_conditional_rate_counts_only_where_zeta_holds():
    batch = sample(N, seed=5)
    feat = torch.linspace(-1, 1, N * 2, dtype=torch.float64).reshape(N, 2)
    where = feat[:, 1] > 0.1
    statistic = ConditionalPositiveRate(lambda x: x[:, 1] > 0.1)
    prob = batch.logit.sigmoid()
    got = statistic(prob, feat, batch.sens, batch.label)
    expected = get_statistic("pr")(prob[where], batch.sens[where])
    torch.testing.assert_close(got, expected)
    by_name = ConditionalPositiveRate("region")
    torch.testing.assert_close(by_name(prob, batch.sens, region=where), expected)
    assert by_name.inputs == {"region"}
    assert statistic.inputs == {"feat"}


@pytest.mark.parametrize("name", STATISTICS)
def test_constant_membership_gives_the_overall_value(name):
    batch = sample(N, seed=6)
    prob = batch.logit.sigmoid()
    statistic = get_statistic(name)
    sens = torch.full((N, 2), 0.37, dtype=torch.float64)
    overall = statistic.overall(prob, batch.label)
    torch.testing.assert_close(statistic(prob, sens, batch.label), overall.expand(2))


@pytest.mark.parametrize("name", STATISTICS)
def test_gamma_equals_c_if_and_only_if_the_fixed_constraint_holds(name):
    """Prop. 1, both ways."""
    batch = sample(N, "three", seed=7)
    prob = batch.logit.sigmoid()
    statistic = get_statistic(name)
    gamma = statistic(prob, batch.sens, batch.label)
    for k, c in enumerate(gamma):
        intercept, slope = statistic.fixed_constraint(c, batch.sens, batch.label)
        left = (intercept + slope * prob[:, None]).sum(0)
        size = (intercept.abs() + slope.abs()).sum(0)
        assert left[k].abs() <= 1e-12 * size[k]
        away = (gamma - c).abs() > 1e-3
        assert (left[away].abs() > 1e-9).all()


@pytest.mark.parametrize("name", STATISTICS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_row_order_is_irrelevant(name, seed):
    batch = sample(N, "continuous", seed)
    prob = batch.logit.sigmoid()
    order = torch.randperm(N, generator=torch.Generator().manual_seed(seed))
    statistic = get_statistic(name)
    torch.testing.assert_close(
        statistic(prob[order], batch.sens[order], batch.label[order]),
        statistic(prob, batch.sens, batch.label),
        equal_nan=True,
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), name=st.sampled_from(STATISTICS))
def test_weight_two_is_the_row_twice(seed, name):
    batch = sample(N, "three", seed)
    prob = batch.logit.sigmoid()
    rng = torch.Generator().manual_seed(seed)
    times = torch.randint(0, 4, (N,), generator=rng)
    statistic = get_statistic(name)
    repeated = [x.repeat_interleave(times, 0) for x in (prob, *batch[1:])]
    torch.testing.assert_close(
        statistic(prob, batch.sens, batch.label, weight=times.double()),
        statistic(*repeated),
        equal_nan=True,
    )


def test_group_without_members_is_nan_with_gradient_zero():
    prob = torch.tensor([0.2, 0.7, 0.4], requires_grad=True)
    sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    gamma = get_statistic("pr")(prob, sens)
    assert torch.isnan(gamma[1])
    gamma[0].backward()
    torch.testing.assert_close(prob.grad, torch.full((3,), 1 / 3))


def test_hard_decisions_and_integer_columns_are_accepted():
    decision = torch.tensor([1, 0, 1, 1])
    sens = torch.tensor([[1, 0], [1, 0], [0, 1], [0, 1]])
    label = torch.tensor([True, True, False, True])
    gamma = get_statistic("tpr")(decision, sens, label)
    torch.testing.assert_close(gamma, torch.tensor([0.5, 1.0]))


def test_column_vectors_are_the_same_as_rows():
    batch = sample(N, seed=8)
    prob = batch.logit.sigmoid()
    statistic = get_statistic("ppv")
    torch.testing.assert_close(
        statistic(prob[:, None], batch.sens, batch.label[:, None]),
        statistic(prob, batch.sens, batch.label),
    )


def test_functions_may_return_numbers_columns_or_rows_and_have_defaults():
    class Costly(LinearFractionalStatistic):
        def nom_intercept(self, label, cost=3.0):
            return cost * label[:, None]

        def nom_slope(self, label):
            return torch.tensor(2.0)

        def denom_intercept(self):
            return 4

    prob = torch.tensor([0.5, 0.25])
    sens = torch.ones(2, 1)
    label = torch.tensor([1.0, 0.0])
    got = Costly()(prob, sens, label)
    torch.testing.assert_close(got, torch.tensor([(3 + 1 + 0.5) / 8]))
    got = Costly()(prob, sens, label, cost=1.0)
    torch.testing.assert_close(got, torch.tensor([(1 + 1 + 0.5) / 8]))
