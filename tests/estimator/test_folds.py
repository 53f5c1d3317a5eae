"""Every row is scored by models that have not seen it."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimator.conftest import Scores
from fairret.errors import RangeError
from fairret.estimator.folds import (
    cross_fit,
    deal_folds,
    fit_weighted,
    positive_share,
    score_average,
    score_out_of_fold,
    weight_name,
)

N = 300


@pytest.fixture
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 2)), rng.integers(0, 2, N)


@pytest.mark.parametrize("cv", [3, KFold(4)])
def test_memory_does_not_help(noise, cv):
    """The nearest neighbour of a row that was seen is the row itself."""
    X, y = noise
    folds = deal_folds(cv, X, y, 0)
    models = cross_fit(KNeighborsClassifier(1), X, y, None, folds, None)
    apart = score_out_of_fold(models, X, folds, 1) > 0.5
    assert 0.4 < (apart == y).mean() < 0.6
    assert ((score_average(models, X, 1) > 0.5) == y).mean() > 0.9


def test_folds_have_the_classes_in_proportion_and_a_seed(noise):
    X, y = noise
    folds = deal_folds(3, X, y, 5)
    for _, test in folds:
        assert abs(y[test].mean() - y.mean()) < 0.01
    again = deal_folds(3, X, y, 5)
    np.testing.assert_array_equal(folds[0][1], again[0][1])
    assert not np.array_equal(folds[0][1], deal_folds(3, X, y, 6)[0][1])


def test_folds_must_score_every_row_once(noise):
    X, y = noise
    with pytest.raises(RangeError, match="rows that are never scored"):
        deal_folds(ShuffleSplit(2, test_size=0.4, random_state=0), X, y, None)


def test_average_is_the_mean_of_the_models(noise):
    X, y = noise
    folds = deal_folds(2, X, y, 0)
    models = cross_fit(LogisticRegression(), X, y, None, folds, None)
    each = [model.predict_proba(X)[:, 1] for model in models]
    np.testing.assert_allclose(score_average(models, X, 1), np.mean(each, axis=0))
    np.testing.assert_allclose(
        score_average(models, X, 0), 1 - score_average(models, X, 1)
    )


def test_weights_reach_the_last_step_of_a_pipeline():
    assert weight_name(LogisticRegression()) == "sample_weight"
    assert weight_name(KNeighborsClassifier()) is None
    nested = make_pipeline(StandardScaler(), make_pipeline(LogisticRegression()))
    assert weight_name(nested) == "pipeline__logisticregression__sample_weight"


def test_probabilities_of_other_classes_are_refused():
    with pytest.raises(RangeError, match="one of them 'yes'; got those of"):
        positive_share(Scores(), np.zeros((2, 1)), "yes")
    with pytest.raises(RangeError, match="finite probabilities; got NaN"):
        positive_share(Scores(), np.full((2, 1), np.nan), 1)


class Weighed(DummyClassifier):
    """Remembers the weights it was fitted with."""

    def fit(self, X, y, sample_weight=None):
        self.weight_ = sample_weight
        return super().fit(X, y, sample_weight)


def test_weights_of_one_are_left_out():
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    assert fit_weighted(Weighed(), X, y, np.ones(4)).weight_ is None
    given = np.array([1.0, 2.0, 1.0, 1.0])
    assert fit_weighted(Weighed(), X, y, given).weight_ is given


def test_generator_of_folds_is_refused_before_it_is_empty():
    X, y = np.zeros((6, 1)), np.array([0, 1] * 3)
    folds = KFold(2).split(X, y)
    with pytest.raises(RangeError, match=r"Pass `list\(…\)`"):
        deal_folds(folds, X, y, 0)
    assert len(deal_folds(list(folds), X, y, 0)) == 2


def test_labels_of_probabilities_are_those_of_the_fit():
    X, y = np.zeros((6, 1)), np.array([0, 1] * 3)
    model = DummyClassifier().fit(X, y)
    with pytest.raises(RangeError, match=r"one of them 'yes'; got those of 0, 1\. The"):
        positive_share(model, X, np.str_("yes"))
    del model.classes_
    with pytest.raises((RangeError, AttributeError), match="classes_"):
        positive_share(model, X, 1)
