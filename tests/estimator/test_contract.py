"""scikit-learn's own checks; copies, files, pipelines and searches."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator.conftest import quick
from fairret.estimator import ToleranceClassifier, fairness_scorer

pytestmark = pytest.mark.slow  # fits many models

# The last feature is the trait. A wide tolerance, and groups of any size, let the
# checks fit ten rows.
WIDE = {
    "sensitive": -1,
    "max_violation": 0.9,
    "min_size": 1,
    "min_rate": 0.0,
    "cv": 2,
}
INFORMED = ToleranceClassifier(LogisticRegression(), informed=True, **WIDE)
BLIND = ToleranceClassifier(
    LogisticRegression(), group_estimator=LinearRegression(), **WIDE
)
WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
# A row of weight 2 is one person, and two copies are two: small groups of copies have a
# narrower tolerance. And with 15 distinct people many prices give the same decisions,
# of which the order of rows selects one. The scores agree; margins need not.
ZEROS = "weights are no numbers of people, and prices for 15 people are not unique"
DROPPED = "of the two features that the check needs, a blind classifier drops one"


def run(estimator, check):
    if check.func.__name__ == WEIGHTS:
        pytest.skip(ZEROS)
    check(estimator)


@parametrize_with_checks([INFORMED])
@pytest.mark.filterwarnings("ignore")  # of ten rows, a rule may miss its tolerance
def test_informed_classifier_passes_the_checks_of_scikit_learn(estimator, check):
    run(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(
    [BLIND],
    expected_failed_checks=lambda _: {"check_classifiers_train": DROPPED},
    xfail_strict=False,
)
@pytest.mark.filterwarnings("ignore")
def test_blind_classifier_passes_the_checks_of_scikit_learn(estimator, check):
    run(estimator, check)


def test_clone_is_unfitted_and_equal(fitted):
    again = clone(fitted)
    assert again.get_params().keys() == fitted.get_params().keys()
    assert not hasattr(again, "classes_")


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_decide_alike_and_do_not_hold_people(fitted, people, copied):
    again = copied(fitted)
    np.testing.assert_array_equal(again.predict(people.X), fitted.predict(people.X))
    assert again.certificate_ == fitted.certificate_
    assert again.groups_ == fitted.groups_
    for name in ("audit_", "tradeoff_", "solution_"):
        with pytest.raises(AttributeError, match="which copies and saved classifiers"):
            getattr(again, name)
    assert fitted.audit_ is not None  # the original still has them


def test_names_of_features_are_kept(fitted):
    assert list(fitted.feature_names_in_) == ["skill", "hobby"]
    assert fitted.n_features_in_ == 2


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("informed", [False, True], ids=["blind", "informed"])
def test_sensitive_features_are_routed(people, informed):
    model = make_pipeline(StandardScaler(), quick(informed=informed))
    given = {"sensitive_features": people.S}
    model.fit(people.X, people.y, **given)
    assert model.score(people.X, people.y, **given) > 0.6
    found = cross_validate(
        model, people.X, people.y, params=given, scoring=fairness_scorer("pr"), cv=2
    )
    assert (found["test_score"] > -0.4).all()
    search = GridSearchCV(
        quick(informed=informed),
        {"max_violation": [0.05, 0.4], "estimator__C": [1.0]},
        scoring=fairness_scorer("pr", "min_ratio"),
        cv=2,
    )
    search.fit(people.X, people.y, **given)
    assert search.best_params_["max_violation"] == 0.05
    decisions = search.best_estimator_.predict(people.X, **(given if informed else {}))
    assert set(decisions) == {"no", "yes"}


def test_traits_in_the_features_need_no_routing(people):
    X = people.X.assign(sex=people.sex)
    scoring = {
        "accuracy": "accuracy",
        "violation": fairness_scorer("pr", sensitive="sex"),
    }
    found = cross_validate(quick(sensitive="sex"), X, people.y, scoring=scoring, cv=2)
    assert (found["test_accuracy"] > 0.6).all()
    assert (found["test_violation"] > -0.4).all()


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_to_a_pipeline_that_asks_for_them(people):
    last = LogisticRegression().set_fit_request(sample_weight=True)
    scale = StandardScaler().set_fit_request(sample_weight=False)
    model = make_pipeline(scale, last)
    weight = np.where(people.y == "yes", 3.0, 1.0)
    classifier = quick(estimator=model).fit(
        people.X, people.y, sensitive_features=people.S, sample_weight=weight
    )
    plain = quick(estimator=model).fit(people.X, people.y, sensitive_features=people.S)
    more = classifier.predict_proba(people.X)[:, 1].mean()
    assert more > plain.predict_proba(people.X)[:, 1].mean() + 0.1


@pytest.mark.filterwarnings("ignore:.*people have a 'sex' that the fit did not have")
def test_groups_that_vanish_in_a_fold_are_in_no_group(people):
    """A category of three people is not in every fold of a search."""
    sex = pd.Series(people.sex, dtype=object)
    sex[[0, 1, 2]] = "x"
    X = people.X.assign(sex=sex)
    model = quick(sensitive="sex", informed=True, estimator=make_pipeline(OnlySkill()))
    found = cross_validate(model, X, people.y, cv=2, error_score="raise")
    assert (found["test_score"] > 0.6).all()


class OnlySkill(LogisticRegression):
    def fit(self, X, y):
        return super().fit(X[["skill"]], y)

    def predict_proba(self, X):
        return super().predict_proba(X[["skill"]])
