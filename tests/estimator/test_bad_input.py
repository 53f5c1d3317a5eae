"""Mistakes raise scikit-learn's types with our sentences, and leave nothing behind."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from estimator.conftest import Scores, quick
from fairret.errors import FairretError, MissingExtraError
from fairret.estimator import ToleranceClassifier
from fairret.statistic import ConditionalPositiveRate


def is_unfitted(classifier):
    return set(vars(classifier)) == set(classifier.get_params(deep=False))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"notion": "equal_oportunity"}, ValueError, "mean 'equal_opportunity'"),
        ({"notion": ["tpr", "fqr"]}, ValueError, "Unknown notion 'fqr'"),
        (
            {"notion": ConditionalPositiveRate("region")},
            ValueError,
            "asks for region too",
        ),
        ({"estimator": LinearSVC()}, TypeError, "with `predict_proba`; got LinearSVC"),
        ({"estimator": LogisticRegression}, TypeError, "Call it: `LogisticRegression"),
        ({"estimator": None, "prefit": True}, ValueError, "needs a fitted `estimator`"),
        ({"n_models": 0}, ValueError, "`n_models` must be a whole number of at least"),
        ({"n_models": "all"}, TypeError, "`n_models` must be a whole number"),
        ({"informed": "no"}, ValueError, "`informed` must be True or False; got 'no'"),
        ({"prefit": 1}, ValueError, "`prefit` must be True or False; got 1"),
        ({"notion": None}, ValueError, "`notion` must be a name, a list of names"),
        ({"group_estimator": "net"}, ValueError, "must be a classifier or a regressor"),
        ({"group_estimator": LogisticRegression}, TypeError, "or None for small netw"),
        ({"max_violation": 10}, ValueError, "Did you mean 0.10"),
        ({"max_violation": 0.1, "min_ratio": 0.8}, TypeError, "got max_violation and"),
        ({"threshold": 2}, ValueError, "`threshold` must be between 0 and 1"),
        ({"min_rate": 2}, ValueError, "`min_rate` must be between 0 and 1"),
        ({"min_size": 0}, ValueError, "`min_size` must be positive"),
        ({"min_size": 10_000}, ValueError, "No group has the 10000 counted rows"),
        ({"confidence": 0.2}, ValueError, "`confidence` must be at least 0.5"),
        ({"confidence": 0.99, "max_violation": 0.02}, ValueError, "rows, and about"),
        ({"pos_label": "maybe"}, ValueError, "`pos_label` must be one of the labels"),
        ({"sensitive": "sx"}, ValueError, "names the column 'sx'"),
        ({"threshold": 1.0}, ValueError, "the rule refuses everybody"),
    ],
)
def test_bad_options_are_refused(people, options, error, said):
    classifier = quick(**options)
    with pytest.raises(error, match=said) as caught:
        classifier.fit(people.X, people.y, sensitive_features=people.S)
    assert isinstance(caught.value, FairretError)
    assert is_unfitted(classifier)


def test_fit_needs_sensitive_features(people):
    classifier = quick()
    with pytest.raises(TypeError, match="pass `sensitive_features`, a data frame"):
        classifier.fit(people.X, people.y)
    assert is_unfitted(classifier)


def test_bad_data_are_refused(people):
    X, y, S = people.X, people.y, people.S
    classifier = quick()
    for bad, said in [
        ((X, y, {"sex": ["f"] * len(y)}), "two groups to compare; got one group"),
        ((X, np.arange(len(y)) % 3, S), "Only binary classification is supported"),
        ((X, ["yes"] * len(y), S), "must have two classes; got one class"),
        ((X[1:], y, S), "the same number of rows; got 899 and 900"),
        ((X, y, S[1:]), "must have 900 rows, as many as `X`; got 899"),
    ]:
        with pytest.raises(ValueError, match=said):
            classifier.fit(bad[0], bad[1], sensitive_features=bad[2])
    twice = pd.concat([X, X], axis=1)
    unlabelled = np.where(np.arange(len(y)) < 3, None, y)
    for bad, said in [
        ((X[:0], y[:0], S[:0]), "`y` must have at least one row"),
        ((X[[]], y, S), "`X` must have at least one column"),
        ((twice, y, S), "`X` must have columns of different names; got 'skill'"),
        ((X, y, S[[]]), "`sensitive_features` must have at least one column"),
        ((X, unlabelled, S), "a label in every row; got none in 3 of 900 rows"),
        ((X, y, S.assign(sex=None)), "`sensitive_features` must have a value in at"),
        ((X, y, S[::-1]), "the index of `X` in another order"),
    ]:
        with pytest.raises(ValueError, match=said) as caught:
            classifier.fit(bad[0], bad[1], sensitive_features=bad[2])
        assert isinstance(caught.value, FairretError)
    for named in ("sex", ["skill", "hobby"]):
        with pytest.raises(TypeError, match=r"columns; got the names? '\w+'"):
            classifier.fit(X, y, sensitive_features=named)
    lazy = pl.from_pandas(X).lazy()
    for bad in ((lazy, S), (X, lazy)):
        with pytest.raises(TypeError, match=r"got a LazyFrame. Call `.collect\(\)`"):
            classifier.fit(bad[0], y, sensitive_features=bad[1])
    with pytest.raises(ValueError, match="`sample_weight` must be numbers; got 'a'"):
        classifier.fit(X, y, sensitive_features=S, sample_weight=["a"] * len(y))
    with pytest.raises(TypeError, match="sparse input is not supported"):
        quick(group_estimator=None).fit(csr_array(X), y, sensitive_features=S)
    assert is_unfitted(classifier)


def test_amount_needs_a_regressor(people):
    S = {"age": np.linspace(20, 60, len(people.y))}
    with pytest.raises(ValueError, match="`group_estimator` must be a regressor"):
        quick().fit(people.X, people.y, sensitive_features=S)


def test_unfitted_classifier_does_not_decide(people):
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(quick(), method)(people.X)
    with pytest.raises(NotFittedError):
        quick().set_tolerance(0.1)


def test_deployed_model_must_be_fitted(people):
    with pytest.raises(NotFittedError):
        quick(prefit=True).fit(people.X, people.y, sensitive_features=people.S)


def test_other_columns_are_refused(people, fitted):
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(people.X.rename(columns={"hobby": "sport"}))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(people.X.assign(more=1.0))
    numbers = quick().fit(people.X.to_numpy(), people.y, sensitive_features=people.S)
    with pytest.raises(ValueError, match="expecting 2 features"):
        numbers.predict(people.X.to_numpy()[:, :1])


def test_traits_are_given_if_and_only_if_informed(people, fitted):
    with pytest.raises(TypeError, match="leave `sensitive_features` out"):
        fitted.predict(people.X, sensitive_features=people.S)
    informed = quick(informed=True).fit(people.X, people.y, sensitive_features=people.S)
    with pytest.raises(TypeError, match="decides with the groups of a person"):
        informed.predict(people.X)
    with pytest.raises(ValueError, match="must have 900 rows"):
        informed.predict(people.X, sensitive_features=people.S[:3])
    with pytest.raises(KeyError, match="must have the column 'sex'"):
        informed.predict(people.X, sensitive_features={"sx": people.sex})


@pytest.mark.slow
def test_tolerance_out_of_reach_is_an_error_and_the_fit_before_remains():
    """Yes equally often, and as often right, where no scores of the groups overlap."""
    n = 300
    u = (np.arange(n) + 0.5) / n
    eta = np.concatenate((0.45 + 0.2 * u, 0.8 + 0.2 * u))
    y = (np.random.default_rng(0).random(2 * n) < eta).astype(int)
    group = np.repeat(["a", "b"], n)
    classifier = ToleranceClassifier(
        Scores(), ["pr", "ppv"], max_violation=0.9, prefit=True, informed=True
    )
    classifier.fit(eta[:, None], y, sensitive_features=group)
    before = dict(vars(classifier))
    classifier.set_params(max_violation=0.02)
    with pytest.raises(ValueError, match=r"No decisions can meet.*smallest tolerance"):
        classifier.fit(eta[:, None], y, sensitive_features=group)
    assert vars(classifier) == {**before, "max_violation": 0.02}


def test_rows_are_matched_by_position_if_their_index_does_not_contradict(people):
    """A new index, or one with other labels, says nothing about the order."""
    decided = [
        quick().fit(people.X, people.y, sensitive_features=S).predict(people.X)
        for S in (people.S, people.S.set_axis(range(5, 905)), people.S["sex"].array)
    ]
    assert (decided[0] == decided[1]).all()
    assert (decided[0] == decided[2]).all()


def test_new_people_have_the_labels_of_the_fit(people, fitted):
    given = {"sensitive_features": people.S}
    with pytest.raises(ValueError, match="`y` must have the classes 'no', 'yes'; got"):
        fitted.certify(people.X, people.y == "yes", **given)
    yes = people.y == "yes"  # those of one class can be certified
    own = {"sensitive_features": people.S[yes]}
    found = fitted.certify(people.X[yes], people.y[yes], **own)
    assert found.n == yes.sum()
    with pytest.raises(TypeError, match="`fit`, `audit` and `certify` need"):
        fitted.audit(people.X, people.y)


def test_one_group_alone_may_have_a_tolerance(people):
    model = quick(max_violation={"sex=f": 0.1}, adapt=False)
    model.fit(people.X, people.y, sensitive_features=people.S)
    assert [group.treatment for group in model.groups_] == ["constrained", "free"]
    assert model.groups_[0].violation <= 0.1
    assert "at most: sex=f 10%" in model.audit_.promise.outcome


def test_numbers_of_numpy_are_tolerances(people, fitted):
    model = quick(max_violation=np.float32(0.2))
    assert model.fit(people.X, people.y, sensitive_features=people.S).status_ == "met"


def test_tolerance_that_cannot_be_set_leaves_the_rule_as_it_was(people, fitted):
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="cannot be assured"):
        fitted.set_tolerance(0.02, confidence=0.99)
    with pytest.raises(TypeError, match="Pass one of"):
        fitted.set_tolerance()
    assert vars(fitted) == before


def test_missing_extra_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("fairret.estimator")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fairret\[sklearn\]'"):
        __import__("fairret.estimator")


def test_constant_scores_are_refused(people):
    X, y = np.full((len(people.y), 1), 0.3), (people.y == "yes").astype(int)
    with pytest.raises(ValueError, match="`eta` must vary"):
        quick(estimator=Scores(), prefit=True).fit(X, y, sensitive_features=people.S)
