"""The biases that `synthetic_population` documents are there."""

import numpy as np
import pytest
import torch

from fairret.errors import DtypeError, RangeError
from fairret.lab.dataset import synthetic_population
from fairret.metric import LinearFractionalParity
from fairret.sensitive import SensitiveEncoder
from fairret.statistic import FalseNegativeFalsePositiveFraction, PositiveRate

N = 120_000
SHARE_AND_RATE = {  # from the documentation, not from the code
    ("sex", "woman"): (0.40, 0.28),
    ("sex", "man"): (0.60, 0.48),
    ("region", "centre"): (0.45, 0.48),
    ("region", "north"): (0.28, 0.40),
    ("region", "coast"): (0.18, 0.20),
    ("region", "islands"): (0.09, 0.40),
}
FEATURES = (
    *("assessment", "reference", "work_sample"),
    *("experience", "hours", "commute"),
)


@pytest.fixture(scope="module")
def people():
    return synthetic_population(N, seed=1)


def members(people, trait, group):
    return torch.from_numpy(people.traits[trait] == group)


def column(people, name):
    return people.feat[:, people.feature_names.index(name)].double()


def mean_within(values, rows, expected, sd):
    """Compare a mean with its expectation, up to four standard errors."""
    return (
        abs(float(values[rows].mean()) - expected) < 4 * sd / float(rows.sum()) ** 0.5
    )


def test_shapes_and_dtypes():
    people = synthetic_population(101, seed=2)
    assert len(people) == 101
    assert people.feature_names == FEATURES
    assert people.feat.shape == (101, 6)
    assert people.label.shape == people.true_prob.shape == (101,)
    for tensor in (people.feat, people.label, people.true_prob):
        assert tensor.dtype == torch.float32
    assert {name: len(column) for name, column in people.traits.items()} == {
        "sex": 101,
        "region": 101,
        "age": 101,
    }
    assert set(people.label.tolist()) == {0.0, 1.0}


def test_default_size_is_8000():
    assert len(synthetic_population()) == 8000


@pytest.mark.parametrize("seed", [0, 5])
def test_same_seed_gives_same_people(seed):
    first, second = (synthetic_population(503, seed=seed) for _ in range(2))
    assert torch.equal(first.feat, second.feat)
    assert torch.equal(first.label, second.label)
    assert torch.equal(first.true_prob, second.true_prob)
    for name, values in first.traits.items():
        np.testing.assert_array_equal(values, second.traits[name])


def test_other_seed_gives_other_people():
    first, second = (synthetic_population(503, seed=seed) for seed in (0, 1))
    assert not torch.equal(first.feat, second.feat)


def test_global_random_state_is_neither_read_nor_changed():
    first = synthetic_population(307, seed=4)
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    second = synthetic_population(307, seed=4)
    assert torch.equal(first.feat, second.feat)
    assert torch.equal(torch.get_rng_state(), torch_state)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)


@pytest.mark.parametrize("group", SHARE_AND_RATE)
def test_shares_and_base_rates_are_the_documented_ones(people, group):
    share, rate = SHARE_AND_RATE[group]
    rows = members(people, *group)
    everybody = torch.ones(N, dtype=torch.bool)
    assert mean_within(rows.double(), everybody, share, sd=0.5)
    assert mean_within(people.label, rows, rate, sd=0.5)


def test_base_rate_grows_with_age(people):
    age = torch.from_numpy(people.traits["age"])
    assert 20 <= age.min() < age.max() <= 65
    assert mean_within(people.label, age < 24.5, 0.40 - 0.06 * 0.9, sd=0.5)
    assert mean_within(people.label, age > 60.5, 0.40 + 0.06 * 0.9, sd=0.5)


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize(
    ("feature", "group", "other", "shift"),
    [  # two groups that differ in one trait only
        ("assessment", ("woman", "north"), ("man", "north"), -1.5),
        ("reference", ("woman", "north"), ("man", "north"), -1.5),
        ("work_sample", ("woman", "north"), ("man", "north"), 0.0),
        ("reference", ("man", "coast"), ("man", "centre"), 2.0),
        ("assessment", ("man", "coast"), ("man", "centre"), 0.0),
    ],
)
def test_people_of_equal_merit_are_measured_unequally(
    people, feature, group, other, shift, y
):
    values = [
        column(people, feature)[
            members(people, "sex", sex)
            & members(people, "region", region)
            & (people.label == y)
        ]
        for sex, region in (group, other)
    ]
    error = sum(float(x.var()) / len(x) for x in values) ** 0.5
    gap = float(values[0].mean() - values[1].mean())
    assert abs(gap - shift) < 4 * error


def test_islands_are_assessed_with_twice_the_noise(people):
    positive_men = (people.label == 1) & members(people, "sex", "man")
    spread = {
        region: float(
            column(people, "assessment")[
                positive_men & members(people, "region", region)
            ].std()
        )
        for region in ("islands", "centre")
    }
    assert spread["islands"] == pytest.approx(2, rel=0.05)  # 2 600 men: sd of sd 1.4 %
    assert spread["centre"] == pytest.approx(1, rel=0.05)


def test_noise_costs_the_islands_accuracy(people):
    right = ((people.true_prob > 0.5) == people.label).double()
    islands, north = (members(people, "region", r) for r in ("islands", "north"))
    assert right[islands].mean() < right[north].mean() - 0.01


def test_no_feature_is_a_trait_but_three_are_proxies(people):
    sens = SensitiveEncoder().fit_transform(people.traits).double()
    table = torch.cat((people.feat.double(), sens), 1).T
    correlation = torch.corrcoef(table)[:6, 6:].abs()
    assert correlation.max() < 0.8
    strongest = dict(zip(FEATURES, correlation.amax(1).tolist(), strict=True))
    for proxy in ("hours", "commute", "experience"):
        assert strongest[proxy] > 0.5


def test_true_prob_is_calibrated(people):
    for low in (0.05, 0.25, 0.45, 0.65, 0.85):
        rows = (people.true_prob > low) & (people.true_prob < low + 0.1)
        expected = float(people.true_prob[rows].mean())
        assert mean_within(people.label, rows, expected, sd=0.5)


def test_true_prob_violates_parity_as_documented(people):
    sens = SensitiveEncoder().fit_transform(people.traits)
    metric = LinearFractionalParity(PositiveRate(), sens.shape[1])
    metric.update(people.true_prob, sens)
    assert float(metric.compute()) == pytest.approx(0.50, abs=0.02)  # the coast
    errors = FalseNegativeFalsePositiveFraction()(people.true_prob, sens, people.label)
    # The islands have the fewest errors to count, some 1 900 of either kind.
    torch.testing.assert_close(errors, torch.ones_like(errors), atol=0.1, rtol=0)


def test_true_prob_predicts_better_than_any_feature(people):
    y = people.label == 1

    def auroc(x):
        rank = x.argsort().argsort().double()
        n1, n0 = y.sum(), (~y).sum()
        return float((rank[y].sum() - n1 * (n1 - 1) / 2) / (n1 * n0))

    assert auroc(people.true_prob) > 0.85
    assert max(auroc(column(people, name)) for name in FEATURES) < 0.82


@pytest.mark.parametrize("argument", ["n", "seed"])
@pytest.mark.parametrize("value", [2.0, "3", None])
def test_numbers_that_are_not_whole_are_refused(argument, value):
    with pytest.raises(DtypeError, match=f"`{argument}` must be a whole number"):
        synthetic_population(**{argument: value})


@pytest.mark.parametrize(("argument", "value"), [("n", 0), ("seed", -1)])
def test_numbers_below_the_range_are_refused(argument, value):
    with pytest.raises(RangeError, match=rf"`{argument}` must be at least \d; got"):
        synthetic_population(**{argument: value})


def test_numpy_integers_are_whole_numbers():
    assert len(synthetic_population(np.int64(7), seed=np.int32(0))) == 7
