"""Decisions keep the tolerance, and the answer is the known one where there is one."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimator.conftest import SHIFT, People, Scores, quick
from fairret.control import find_rule
from fairret.estimator import ToleranceClassifier
from fairret.sensitive import Binned, Continuous

pytestmark = pytest.mark.slow  # fits many models

NOISE = 0.05  # of a violation, on 20,000 new people


@pytest.mark.parametrize(
    ("notion", "label"),
    [("demographic_parity", None), ("equal_opportunity", "yes"), ("fpr", "no")],
)
@pytest.mark.parametrize("informed", [False, True], ids=["blind", "informed"])
def test_planted_gap_is_closed_for_new_people(new, notion, label, informed):
    people = People(4000, seed=2)
    classifier = quick(notion=notion, informed=informed, max_violation=0.1)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    plain = LogisticRegression().fit(people.X, people.y).predict(new.X)
    options = {"sensitive_features": new.S} if informed else {}
    decisions = classifier.predict(new.X, **options)
    assert classifier.status_ == "met"
    assert new.violation(plain, label) > 0.15
    assert new.violation(decisions, label) <= 0.1 + NOISE


def test_blind_rule_is_as_good_as_one_that_knows_the_population(new):
    """The true score depends on skill alone; Bayes' rule gives the true groups."""
    people = People(4000, seed=2)
    classifier = ToleranceClassifier(LogisticRegression(), cv=2, random_state=0)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    skill, hobby = new.X["skill"].to_numpy(), new.X["hobby"].to_numpy()
    odds = np.log(0.6 / 0.4) + SHIFT * skill - SHIFT**2 / 2
    man = 1 / (1 + np.exp(-odds - (2 * hobby - 1) * np.log(9)))
    q = np.column_stack((1 - man, man))
    sens = np.column_stack((new.sex == "f", new.sex == "m")).astype(float)
    best = find_rule(new.eta, sens, new.y == "yes", max_violation=0.1, q=(q, q))
    assert classifier.score(new.X, new.y) == pytest.approx(best.accuracy, abs=0.01)
    assert new.violation(classifier.predict(new.X)) <= 0.1 + NOISE


def test_informed_rule_is_the_bayes_optimal_fair_one():
    """As in tests/control: scores uniform on [0, 1] and [0, 0.8], equal rates r.

    The gain of the r best of a group of width c is c r - c r^2 / 2.
    """
    n = 3000
    u = (np.arange(n) + 0.5) / n
    eta = np.concatenate((u, 0.8 * u))
    group = np.repeat(["a", "b"], n)
    classifier = ToleranceClassifier(
        Scores(), prefit=True, informed=True, max_violation=0.002, adapt=False
    )
    classifier.fit(
        np.concatenate((eta, eta))[:, None],
        np.repeat([1, 0], 2 * n),
        sensitive_features=np.concatenate((group, group)),
        sample_weight=np.concatenate((eta, 1 - eta)),
    )
    width = 1.8
    r = (width - 1) / width
    best = (1 - eta).mean() + width * r - width * r**2 / 2 - r
    yes = classifier.predict(eta[:, None], sensitive_features=group)
    accuracy = np.where(yes == 1, eta, 1 - eta).mean()
    assert accuracy == pytest.approx(best, abs=0.005)
    assert yes.mean() == pytest.approx(r, abs=0.01)


def test_weights_count_like_repeated_rows(people):
    times = np.random.default_rng(3).integers(1, 4, len(people.y))
    rows = np.repeat(np.arange(len(people.y)), times)
    fold = np.arange(len(people.y)) % 2

    def fit(own, weight):
        test = [np.flatnonzero(fold[own] == k) for k in (0, 1)]
        splits = [(test[1], test[0]), (test[0], test[1])]
        classifier = quick(cv=splits, adapt=False, group_estimator=LinearRegression())
        return classifier.fit(
            people.X.iloc[own],
            people.y[own],
            sensitive_features=people.S.iloc[own],
            sample_weight=weight,
        )

    weighted = fit(np.arange(len(people.y)), times)
    repeated = fit(rows, None)
    np.testing.assert_allclose(
        weighted.decision_function(people.X),
        repeated.decision_function(people.X),
        atol=2e-3,  # the classifiers stop at a gradient of 1e-4
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pd.DataFrame.to_numpy])
def test_every_kind_of_table_gives_the_same_decisions(people, fitted, make):
    X, S = make(people.X), people.S if make is pd.DataFrame.to_numpy else make(people.S)
    classifier = quick().fit(X, people.y, sensitive_features=S)
    np.testing.assert_array_equal(classifier.predict(X), fitted.predict(people.X))


def test_traits_may_be_columns_of_the_features(people, fitted):
    X = people.X.assign(sex=people.sex)
    classifier = quick(sensitive="sex").fit(X, people.y)
    assert list(classifier.feature_names_in_) == ["skill", "hobby", "sex"]
    np.testing.assert_array_equal(classifier.predict(X), fitted.predict(people.X))
    informed = quick(
        estimator=RandomForestClassifier(9, max_depth=5, random_state=0),
        max_violation=0.5,
        sensitive=2,
        informed=True,
    )
    numbers = X.assign(sex=(X["sex"] == "m").astype(float)).to_numpy()
    assert informed.fit(numbers, people.y).estimators_[0].n_features_in_ == 3


def test_text_and_missing_values_need_no_preparation(people):
    X = people.X.assign(hobby=np.where(people.X["hobby"] > 0, "chess", "tennis"))
    X.loc[::7, "skill"] = np.nan
    X.loc[::11, "hobby"] = None
    classifier = ToleranceClassifier(cv=2, random_state=0)
    classifier.fit(X, people.y, sensitive_features=people.S)
    assert classifier.status_ == "met"
    assert set(classifier.predict(X)) == {"no", "yes"}


def test_missing_traits_count_for_everybody_alone(people):
    S = people.S.copy()
    S.loc[::4, "sex"] = None
    classifier = quick().fit(people.X, people.y, sensitive_features=S)
    outcome = {group.name: group for group in classifier.groups_}
    assert classifier.status_ == "met"
    assert set(outcome) == {"sex=f", "sex=m"}
    known = S["sex"].notna().to_numpy()
    assert outcome["sex=m"].counted == (people.sex[known] == "m").sum()


def test_small_group_is_named_and_left_alone(people):
    sex = people.sex.astype(object)
    sex[:12] = "x"
    classifier = quick().fit(people.X, people.y, sensitive_features={"sex": sex})
    assert "Too few rows to constrain: sex=x (12 rows)" in classifier.report_
    assert classifier.certificate_.too_few == ("sex=x",)
    classifier = quick(min_size=5, max_violation=0.9)
    classifier.fit(people.X, people.y, sensitive_features={"sex": sex})
    assert classifier.groups_[2].treatment == "constrained"


def test_groups_are_estimated_from_networks_trees_or_regressions(people, new):
    S = people.S.assign(age=np.random.default_rng(0).normal(40, 9, len(people.y)))
    traits = ["sex", Binned("age", [40])]
    for groups in (None, LogisticRegression(), LinearRegression()):
        classifier = quick(sensitive=traits, group_estimator=groups, cv=2)
        classifier.fit(people.X, people.y, sensitive_features=S)
        assert classifier.status_ == "met"
        q0, q1 = classifier.models_.read(new.X, None)[1:]
        for q in (q0, q1):  # the hobby tells the sex; nothing tells the age
            assert q.shape == (len(new.y), 4)
            assert q[new.sex == "m", 1].mean() > q[new.sex == "f", 1].mean() + 0.4
            assert q[:, 2:].std() < 0.2
    amount = quick(sensitive=[Continuous("age")], group_estimator=LinearRegression())
    amount.fit(people.X, people.y, sensitive_features=S)
    assert [group.name for group in amount.groups_] == ["age"]


def test_deployed_model_is_not_fitted_again(people):
    X = np.column_stack((people.eta, people.X))
    y = (people.y == "yes").astype(int)
    prefit = quick(estimator=Scores(), prefit=True)
    frozen = quick(estimator=FrozenEstimator(Scores()))
    for classifier in (prefit, frozen):
        classifier.fit(X, y, sensitive_features=people.S)
        assert len(classifier.estimators_) == 1
        np.testing.assert_allclose(classifier.predict_proba(X)[:, 1], people.eta)
    np.testing.assert_array_equal(prefit.predict(X), frozen.predict(X))


@pytest.mark.parametrize("groups", [None, LogisticRegression()])
def test_decisions_average_as_many_models_as_asked(people, groups):
    options = {"cv": 3, "group_estimator": groups}
    every = quick(n_models=None, **options)
    every.fit(people.X, people.y, sensitive_features=people.S)
    two = quick(**options).fit(people.X, people.y, sensitive_features=people.S)
    assert (len(every.estimators_), len(two.estimators_)) == (3, 2)
    np.testing.assert_array_equal(two.rule_.one, every.rule_.one)  # the same rows
    eta, q0, _ = two.models_.read(people.X, None)
    parts = [model.predict_proba(people.X)[:, 1] for model in every.estimators_[:2]]
    np.testing.assert_allclose(eta, np.mean(parts, axis=0))
    x = every.models_.table.transform(people.X) if groups is None else people.X
    each = [every.models_.memberships.predict_fold(x, k)[0] for k in (0, 1)]
    np.testing.assert_allclose(q0, np.mean(each, axis=0), atol=1e-6)  # float32


def test_deployed_model_need_not_be_from_scikit_learn(people):
    class Service:
        classes_ = ("no", "yes")

        def fit(self, X, y):
            raise AssertionError

        def predict_proba(self, X):
            eta = 1 / (1 + np.exp(0.5 - 1.6 * X["skill"].to_numpy()))
            return np.column_stack((1 - eta, eta))

    classifier = quick(estimator=Service(), prefit=True)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    assert classifier.status_ == "met"
    assert set(classifier.predict(people.X)) == {"no", "yes"}


@pytest.mark.parametrize(
    ("notion", "informed"), [("pr", False), ("equalized_odds", True), ("ppv", False)]
)
def test_decisions_are_those_of_the_solution(people, notion, informed):
    classifier = quick(notion=notion, informed=informed, max_violation=0.2)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    eta, q0, q1 = classifier._rows.known
    options = {"sens": q0} if informed else {"q": (q0, q1)}
    rule = classifier.solution_.rule
    expected = rule.margin(torch.as_tensor(eta), **options).numpy()
    found = classifier.rule_.margin(eta, q0, q1)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_label_that_is_a_yes_changes_what_is_equal(people):
    y = np.where(people.y == "yes", "accept", "reject")
    named = quick(notion="tpr", pos_label="accept").fit(
        people.X, y, sensitive_features=people.S
    )
    usual = quick(notion="tpr").fit(people.X, people.y, sensitive_features=people.S)
    same = np.where(usual.predict(people.X) == "yes", "accept", "reject")
    np.testing.assert_array_equal(named.predict(people.X), same)
    np.testing.assert_allclose(
        named.predict_proba(people.X), usual.predict_proba(people.X)[:, ::-1]
    )
    margin = named.decision_function(people.X)
    np.testing.assert_array_equal(margin > 0, same == "reject")


def test_tolerance_changes_without_a_fit(people):
    classifier = quick(max_violation=0.3, adapt=False)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    models = classifier.models_
    direct = quick(min_ratio=0.9, adapt=False)
    direct.fit(people.X, people.y, sensitive_features=people.S)
    assert classifier.set_tolerance(min_ratio=0.9) is classifier
    assert classifier.models_ is models
    assert classifier.get_params()["min_ratio"] == 0.9
    assert classifier.get_params()["max_violation"] is None
    np.testing.assert_array_equal(
        classifier.predict(people.X), direct.predict(people.X)
    )
    assert classifier.set_tolerance(0.05).solution_.max_violation <= 0.05


def test_promise_holds_for_the_certificate():
    people = People(3000, seed=4)
    classifier = quick(informed=True, max_violation=0.2, confidence=0.9)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    assert classifier.certificate_.bound <= 0.2
    assert classifier.certificate_.confidence == 0.9
    assert classifier.certificate_.fitted


def test_another_tolerance_keeps_the_confidence():
    people = People(3000, seed=4)
    classifier = quick(informed=True, max_violation=0.2, confidence=0.9)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    classifier.set_tolerance(0.25)
    assert classifier.confidence == classifier.certificate_.confidence == 0.9
    assert classifier.certificate_.bound <= 0.25
    held_out = {"sensitive_features": people.S}
    assert classifier.certify(people.X, people.y, **held_out).confidence == 0.9
    assert classifier.set_tolerance(0.25, confidence=None).confidence is None
    assert classifier.certificate_.confidence == 0.95


def test_options_that_are_set_later_leave_the_fitted_rule_alone(people):
    classifier = quick(max_violation=0.2).fit(
        people.X, people.y, sensitive_features=people.S
    )
    decisions = classifier.predict(people.X)
    classifier.set_params(max_violation=0.5, pos_label="no", notion="tpr")
    np.testing.assert_array_equal(classifier.predict(people.X), decisions)
    assert classifier.tradeoff_.at(0.2, "blind") is classifier.solution_
    found = classifier.certify(people.X, people.y, sensitive_features=people.S)
    assert "(pr)" in str(found)


@pytest.mark.parametrize("informed", [False, True], ids=["blind", "informed"])
def test_fitted_rule_is_the_one_on_the_curve(informed):
    people = People(1000, seed=4)
    classifier = quick(informed=informed, max_violation=0.13)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    curve = classifier.tradeoff_
    mode = "informed" if informed else "blind"
    assert curve.at(0.13, mode) is classifier.solution_
    own = [x for x in curve.points if x.mode == mode]
    assert [x.tolerance for x in own] == sorted(
        (x.tolerance for x in own), reverse=True
    )
    (point,) = (x for x in own if x.tolerance == 0.13)
    found = classifier.certificate_
    assert (point.value, point.low, point.high) == (
        *(found.estimate, found.low, found.high),
    )


def test_assured_rule_is_not_on_the_curve():
    people = People(2000, seed=4)
    classifier = quick(max_violation=0.3, confidence=0.9)
    classifier.fit(people.X, people.y, sensitive_features=people.S)
    assert classifier.tradeoff_.at(0.3) is not classifier.solution_


def test_curve_and_audit_are_about_rows_out_of_fold(fitted, people):
    curve = fitted.tradeoff_
    assert {point.mode for point in curve.points} == {"plain", "blind", "informed"}
    audit = fitted.audit_
    before, after = (m.decisions for m in audit.sections[0].measured)
    assert before.max_violation > 0.2
    assert float(after.max_violation) == pytest.approx(
        fitted.solution_.max_violation, abs=1e-9
    )
    assert audit.settings.rows == len(people.y)
    assert "From without the rule to with the rule" in str(audit)


def test_pipelines_get_features_as_they_are(people):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    classifier = quick(estimator=model)
    weight = np.linspace(0.5, 1.5, len(people.y))
    classifier.fit(
        people.X, people.y, sensitive_features=people.S, sample_weight=weight
    )
    inner = classifier.estimators_[0]
    assert list(inner.feature_names_in_) == ["skill", "hobby"]
    plain = quick(estimator=model).fit(people.X, people.y, sensitive_features=people.S)
    assert not np.allclose(inner[-1].coef_, plain.estimators_[0][-1].coef_, rtol=1e-4)


def test_classifier_without_weights_is_a_warning(people):
    classifier = quick(estimator=KNeighborsClassifier(30))
    with pytest.warns(UserWarning, match="KNeighborsClassifier, takes no `sample_we"):
        classifier.fit(
            people.X,
            people.y,
            sensitive_features=people.S,
            sample_weight=np.ones(len(people.y)),
        )


def test_tolerance_that_is_missed_is_a_warning(people):
    """Scores of 0 and 1 leave a rule no choice."""
    y = np.where(np.random.default_rng(0).random(len(people.y)) < 0.5, "yes", "no")
    classifier = quick(estimator=KNeighborsClassifier(1), adapt=False)
    with pytest.warns(ConvergenceWarning, match="was not met on the fit rows"):
        classifier.fit(people.X, y, sensitive_features=people.S)
    assert classifier.status_ == "missed"


@pytest.mark.parametrize("informed", [False, True], ids=["blind", "informed"])
def test_new_people_are_audited_and_certified(people, new, informed):
    classifier = quick(informed=informed, sensitive=0)
    numbers = np.column_stack((people.sex == "m", people.X)).astype(float)
    others = np.column_stack((new.sex == "m", new.X)).astype(float)
    classifier.fit(numbers, people.y)
    decisions = classifier.predict(others)
    audit = classifier.audit(others, new.y)
    after = audit.sections[0].measured[1].decisions
    assert float(after.max_violation) == pytest.approx(new.violation(decisions))
    found = classifier.certify(others, new.y, sample_weight=np.ones(len(new.y)))
    assert found.estimate == pytest.approx(new.violation(decisions))
    assert found.low < found.estimate < found.bound
    assert not found.fitted


def test_audit_without_the_rule_is_that_of_the_scores(people):
    """Informed rules recalibrate scores; the model before them does not."""
    X, y = people.eta[:, None], (people.y == "yes").astype(int)
    classifier = ToleranceClassifier(Scores(), prefit=True, informed=True)
    classifier.fit(X, y, sensitive_features=people.S)
    before = classifier.audit_.sections[0].measured[0].decisions
    plain = np.where(people.eta > 0.5, "yes", "no")
    assert float(before.max_violation) == pytest.approx(people.violation(plain))
