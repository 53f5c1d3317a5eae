"""People in two groups, for tests of classifiers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from fairret.estimator import ToleranceClassifier

SHIFT = 0.9  # of the skill of men


class Scores(ClassifierMixin, BaseEstimator):
    """A deployed model: its probability is the first feature."""

    def fit(self, X, y):
        raise AssertionError("A fitted model must not be fitted again.")

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return np.array([0, 1])

    def predict_proba(self, X):
        eta = np.asarray(X, dtype=float)[:, 0]
        return np.column_stack((1 - eta, eta))


class People:
    """Skill is higher in group m, a hobby tells the group, the label needs skill."""

    def __init__(self, n=900, seed=0):
        rng = np.random.default_rng(seed)
        self.sex = np.where(rng.random(n) < 0.4, "f", "m")
        man = self.sex == "m"
        skill = rng.normal(SHIFT * man, 1)
        hobby = np.where(rng.random(n) < 0.9, man, ~man).astype(float)
        self.X = pd.DataFrame({"skill": skill, "hobby": hobby})
        self.eta = 1 / (1 + np.exp(0.5 - 1.6 * skill))
        self.y = np.where(rng.random(n) < self.eta, "yes", "no")
        self.S = pd.DataFrame({"sex": self.sex})

    def rates(self, decisions, label=None):
        """Share of yes per group, among people with a label."""
        own = np.ones(len(self.y), bool) if label is None else self.y == label
        yes = np.asarray(decisions) == "yes"
        return np.array([yes[own & (self.sex == s)].mean() for s in "fm"])

    def violation(self, decisions, label=None):
        own = np.ones(len(self.y), bool) if label is None else self.y == label
        overall = (np.asarray(decisions) == "yes")[own].mean()
        return float(np.abs(self.rates(decisions, label) / overall - 1).max())


def quick(**options):
    """A classifier without networks."""
    models = {key: LogisticRegression() for key in ("estimator", "group_estimator")}
    return ToleranceClassifier(**{**models, "random_state": 0, **options})


@pytest.fixture(scope="session")
def people():
    return People()


@pytest.fixture(scope="session")
def new():
    return People(20_000, seed=1)


@pytest.fixture(scope="session")
def fitted(people):
    return quick().fit(people.X, people.y, sensitive_features=people.S)
