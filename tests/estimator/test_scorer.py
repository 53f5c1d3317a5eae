"""The scorer measures decisions as the formula says."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_validate

from fairret.estimator import fairness_scorer

N = 400


class Decides(ClassifierMixin, BaseEstimator):
    """Decides as the first column says."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return X["f"].to_numpy()


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])
    rate = pd.Series(group).map({"a": 0.6, "b": 0.4, "c": 0.3}).to_numpy()
    return pd.DataFrame(
        {
            "f": (rng.random(N) < rate).astype(int),
            "y": rng.integers(0, 2, N),
            "group": group,
            "w": rng.integers(1, 4, N),
        }
    )


def rates(table, notion):
    own = table if notion == "pr" else table[table["y"] == 1]
    by = own.groupby("group")
    each = by.apply(lambda x: np.average(x["f"], weights=x["w"]))
    return each.to_numpy(), np.average(own["f"], weights=own["w"])


@pytest.mark.parametrize("notion", ["pr", "tpr"])
def test_scores_are_those_of_the_formulas(table, notion):
    each, overall = rates(table, notion)
    expected = {
        "max_violation": -np.abs(each / overall - 1).max(),
        "max_difference": each.min() - each.max(),
        "min_ratio": each.min() / each.max(),
    }
    for measure, value in expected.items():
        found = fairness_scorer(notion, measure)(
            Decides(),
            table,
            table["y"],
            sensitive_features=table[["group"]],
            sample_weight=table["w"],
        )
        assert found == pytest.approx(value)


def test_bound_is_further_from_parity_than_the_estimate(table):
    call = (Decides(), table, table["y"])
    plain = fairness_scorer("pr", sensitive="group")(*call)
    assert fairness_scorer("pr", sensitive="group", confidence=0.9)(*call) < plain


def test_groups_without_enough_rows_do_not_count(table):
    rare = table.assign(group=np.where(np.arange(N) < 20, "rare", "most"))
    rare.loc[:19, "f"] = 0
    both = fairness_scorer("pr", "max_difference", sensitive="group")
    assert np.isnan(both(Decides(), rare, rare["y"]))


def test_bad_names_are_refused():
    with pytest.raises(ValueError, match="mean 'equal_opportunity'"):
        fairness_scorer("equal_oportunity")
    with pytest.raises(ValueError, match="mean 'max_violation'"):
        fairness_scorer("pr", "max_violations")


def test_search_without_routing_is_told_what_to_do(table):
    with pytest.raises(TypeError, match="enable_metadata_routing=True"):
        fairness_scorer("pr")(Decides(), table, table["y"])


def test_any_classifier_can_be_scored_with_routing(table):
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            Decides(),
            table,
            table["y"],
            scoring={
                "accuracy": "accuracy",
                "ratio": fairness_scorer("pr", "min_ratio"),
            },
            params={"sensitive_features": table["group"]},
            cv=2,
        )
    assert (found["test_ratio"] < 0.8).all()


def test_what_is_no_fitted_classifier_of_two_classes_is_refused(table):
    X, y = table[["f", "w"]], table["y"]
    given = {"sensitive_features": table["group"]}
    score = fairness_scorer()
    with pytest.raises(TypeError, match="two classes; got LinearRegression with no"):
        score(LinearRegression().fit(X, y), X, y, **given)
    three = LogisticRegression().fit(X, np.arange(N) % 3)
    with pytest.raises(TypeError, match="got LogisticRegression with 3 classes"):
        score(three, X, y, **given)
    with pytest.raises(NotFittedError):
        score(LogisticRegression(), X, y, **given)
    two = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="the index of `X` in another order"):
        score(two, X, y, sensitive_features=table["group"][::-1])
