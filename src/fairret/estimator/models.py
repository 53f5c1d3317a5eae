"""The models behind a rule: scores and memberships, fitted on the same folds."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import check_random_state

from fairret.control import Recalibration, recalibrate
from fairret.estimator.base import FitData
from fairret.estimator.features import Numbers, TableEncoder
from fairret.estimator.folds import (
    Folds,
    cross_fit,
    deal_folds,
    score_average,
    score_out_of_fold,
    weight_name,
)
from fairret.estimator.memberships import (
    Memberships,
    fit_estimators,
    fit_networks,
)


class Known(NamedTuple):
    """What a rule knows of people when it decides."""

    eta: Numbers  # (n,): P(Y = 1 | x), or P(Y = 1 | x, s) if informed
    q0: Numbers  # (n, d_s): E[S | x, Y = 0], or S itself
    q1: Numbers


class Models:
    """Fitted classifiers, and what turns their scores into knowledge of people.

    Args:
        estimators: Classifiers, one per fold.
        positive: The label that is a yes.
        table: Turns features into numbers, if a model needs them.
        encoded: Whether the classifiers take these numbers, or features as given.
        memberships: Estimates of groups, for a blind rule.
        recalibration: Weights of a recalibration given the groups, if informed.
    """

    def __init__(
        self,
        estimators: list[Any],
        positive: object,
        *,
        table: TableEncoder | None,
        encoded: bool,
        memberships: Memberships | None = None,
        recalibration: Numbers | None = None,
    ) -> None:
        self.estimators, self.positive = estimators, positive
        self.table, self.encoded = table, encoded
        self.memberships, self.recalibration = memberships, recalibration

    def keep(self, count: int | None) -> None:
        """Keep the models of the first folds, or all."""
        if count is not None:
            self.estimators = self.estimators[:count]
        if count is not None and self.memberships is not None:
            self.memberships = self.memberships.first(count)

    def read(self, X: Any, sens: Numbers | None) -> Known:
        """Score new people, and find out about their groups."""
        x = None if self.table is None else self.table.transform(X)
        eta = score_average(self.estimators, x if self.encoded else X, self.positive)
        if sens is not None:
            assert self.recalibration is not None
            return inform(eta, sens, self.recalibration)
        assert self.memberships is not None
        own = x if self.memberships.encoded else X
        return Known(eta, *self.memberships.predict(own))

    def score_alone(self, X: Any, sens: Numbers | None) -> Numbers:
        """Score new people by the classifiers alone, `(n,)`."""
        x = self.table.transform(X) if self.table is not None and self.encoded else X
        return score_average(self.estimators, x, self.positive)

    def score(self, X: Any, sens: Numbers | None) -> Numbers:
        """Score new people, `(n,)`."""
        eta = self.score_alone(X, sens)
        if sens is None:
            return eta
        assert self.recalibration is not None
        return inform(eta, sens, self.recalibration).eta


def fit_recalibration(eta: Numbers, data: FitData) -> Numbers:
    """Find the weights that recalibrate scores given the groups."""
    sens = np.nan_to_num(data.traits.sens, nan=0.0)
    arrays = eta, sens, data.labels.binary, data.weight
    return np.asarray(recalibrate(*map(torch.as_tensor, arrays)).weight.numpy())


def inform(eta: Numbers, sens: Numbers, weight: Numbers) -> Known:
    """Recalibrate scores given the groups."""
    known = np.nan_to_num(sens, nan=0.0)
    recalibration = Recalibration(torch.as_tensor(weight))
    fitted = recalibration(torch.as_tensor(eta), torch.as_tensor(known))
    return Known(fitted.numpy(), known, known)


class Plan(NamedTuple):
    """How to fit the models."""

    estimator: Any  # None for gradient boosting
    group_estimator: Any  # None for networks
    informed: bool
    prefit: bool
    cv: Any
    n_models: int | None  # to decide with; None for all
    n_jobs: int | None
    random_state: Any


def fit_models(plan: Plan, data: FitData) -> tuple[Models, Numbers, Known]:
    """Fit classifiers and memberships.

    A row is scored by the one model that has not seen it. For new people, the average
    of a few models is as good as that of all, and takes less time.

    Returns:
        The models; the scores of all rows, out of fold; and what a rule knows of them.
    """
    random = check_random_state(plan.random_state)
    seed = int(random.randint(np.iinfo(np.int32).max // 2))
    y, sens, weight = data.labels.binary, data.traits.sens, data.weight
    encoded = plan.estimator is None
    networks = not plan.informed and plan.group_estimator is None
    table = TableEncoder().fit(data.X) if encoded or networks else None
    x = None if table is None else table.transform(data.X)
    folds: Folds = []
    if not (plan.prefit and plan.informed):
        folds = deal_folds(plan.cv, data.X, data.labels.given, seed)
    positive = data.labels.classes[data.labels.positive]
    own = x if encoded else data.X
    if plan.prefit:
        estimators = [plan.estimator]
        eta = score_average(estimators, own, positive)
    else:
        base = (
            HistGradientBoostingClassifier(random_state=seed)
            if encoded
            else plan.estimator
        )
        w = _weight_for(base, data)
        estimators = cross_fit(base, own, data.labels.given, w, folds, plan.n_jobs)
        eta = score_out_of_fold(estimators, own, folds, positive)
    models = Models(estimators, positive, table=table, encoded=encoded)
    if plan.informed:
        models.recalibration = fit_recalibration(eta, data)
        models.keep(plan.n_models)
        return models, eta, inform(eta, sens, models.recalibration)
    if networks:
        assert x is not None
        models.memberships = fit_networks(x, y, sens, weight, folds, seed)
        own = x
    else:
        traits = list(data.traits.columns.values())
        models.memberships = fit_estimators(
            plan.group_estimator, data.X, y, sens, weight, folds, traits
        )
        own = data.X
    q0, q1 = models.memberships.out_of_fold(own, folds, sens.shape[1])
    models.keep(plan.n_models)
    return models, eta, Known(eta, q0, q1)


def _weight_for(base: Any, data: FitData) -> Numbers | None:
    """Give the weights to a classifier that takes them."""
    if not data.weighted:
        return None
    if weight_name(base) is None:
        warnings.warn(
            f"`estimator`, {type(base).__name__}, takes no `sample_weight`: only the "
            "rule and the estimates of groups are weighted.",
            stacklevel=4,
        )
    return data.weight
