"""Fairlearn and OxonFair on the same rows and with the same trees.

Their bound is on differences, so a tolerance is multiplied by the overall statistic of
the trees. A method that takes one trait counts people without it as one more group.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairret.lab.baseline.peers import (
    check_fairlearn,
    check_oxonfair,
    draw_decisions,
    group_numbers,
)
from fairret.lab.tolerance.learners import learn_trees, make_trees
from fairret.lab.tolerance.ours import quietly
from fairret.lab.tolerance.people import Case, People, load_people
from fairret.lab.tolerance.results import Decisions, Result, measure
from fairret.statistic import get_statistic
from fairret.training import Rows


def find_bound(case: Case, people: People) -> float:
    """Turn a relative tolerance into a difference."""
    plain = (learn_trees(case.dataset, case.seed).fit > 0.5).double()
    return as_difference(case, plain, people.fit.label)


def as_difference(case: Case, plain: Tensor, label: Tensor) -> float:
    """Multiply a tolerance by the overall statistic of decisions without one."""
    everybody = torch.ones(len(plain), 1)
    gamma = get_statistic(case.notion)(plain, everybody, label.double())
    return case.tolerance * float(gamma)


def exponentiated_gradient(case: Case) -> Result:
    """Fit Fairlearn's reduction on all fit rows, and draw its decisions."""
    check_fairlearn()
    from fairlearn.reductions import (
        DemographicParity,
        ExponentiatedGradient,
        TruePositiveRateParity,
    )

    people = load_people(case)
    constraint = {"pr": DemographicParity, "tpr": TruePositiveRateParity}[case.notion]
    bound = find_bound(case, people)
    start = time.process_time()
    mitigator = ExponentiatedGradient(
        make_trees(case.seed), constraint(difference_bound=bound)
    )
    with quietly():
        mitigator.fit(
            people.fit.feat.numpy(),
            people.fit.label.numpy().astype(int),
            sensitive_features=group_numbers(people.fit),
        )
    seconds = time.process_time() - start
    rng = torch.Generator().manual_seed(case.seed)

    def decide(rows: Rows) -> Tensor:
        p = torch.from_numpy(mitigator._pmf_predict(rows.feat.numpy())[:, 1])
        return (draw_decisions(p, rng) > 0.5).double()

    decided = Decisions(decide(people.fit), decide(people.test))
    values: dict[str, float | str] = {
        **measure(people, decided, case.notion),
        "status": "done" if mitigator.best_gap_ < mitigator.nu else "not converged",
        "gap": float(mitigator.best_gap_),
        "iterations": float(mitigator.last_iter_ + 1),
    }
    return Result(values, seconds)


def _as_classifier() -> Any:
    """Make a classifier whose only feature is its score."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Score(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types
        """Returns the scores that it gets."""

        def __sklearn_is_fitted__(self) -> bool:  # what Fairlearn asks for
            return True

        def fit(self, x: Any, y: Any) -> Score:
            return self

        def predict_proba(self, x: Any) -> Any:
            eta = np.asarray(x)[:, 0]
            return np.column_stack((1 - eta, eta))

    return Score()


def threshold_optimizer(case: Case) -> Result:
    """Fit Fairlearn's thresholds per group to out-of-fold scores."""
    check_fairlearn()
    from fairlearn.postprocessing import ThresholdOptimizer

    people, own = load_people(case), learn_trees(case.dataset, case.seed)
    words = {"pr": "demographic_parity", "tpr": "true_positive_rate_parity"}
    bound = find_bound(case, people)
    start = time.process_time()
    optimizer = ThresholdOptimizer(
        estimator=_as_classifier(),
        constraints=words[case.notion],
        prefit=True,
        predict_method="predict_proba",
        tol=bound,
    )
    with quietly():
        optimizer.fit(
            own.fit[:, None].numpy(),
            people.fit.label.numpy().astype(int),
            sensitive_features=group_numbers(people.fit),
        )
    seconds = time.process_time() - start

    def decide(rows: Rows, eta: Tensor) -> Tensor:
        found = optimizer.predict(
            eta[:, None].numpy(),
            sensitive_features=group_numbers(rows),
            random_state=case.seed,
        )
        return torch.as_tensor(np.asarray(found)).double()

    decided = Decisions(decide(people.fit, own.fit), decide(people.test, own.test))
    values = measure(people, decided, case.notion)
    return Result({**values, "status": "done"}, seconds, own.seconds)


def oxonfair(case: Case) -> Result:
    """Fit OxonFair's thresholds per group to out-of-fold scores."""
    check_oxonfair()
    from oxonfair import DeepDataDict, DeepFairPredictor, group_metrics

    people, own = load_people(case), learn_trees(case.dataset, case.seed)
    measures = {
        "pr": group_metrics.pos_pred_rate.max_diff,
        "tpr": group_metrics.recall.max_diff,
        "ppv": group_metrics.precision.max_diff,
        "fn_fp": group_metrics.error_ratio.max_diff,
    }
    bound = find_bound(case, people)

    def as_data(rows: Rows, eta: Tensor) -> tuple[Any, Any, Any]:
        logit = torch.logit(eta, eps=1e-12).numpy()
        return rows.label.numpy().astype(int), logit[:, None], group_numbers(rows)

    def decide(rows: Rows, eta: Tensor) -> Tensor:
        data = DeepDataDict(*as_data(rows, eta))
        no, yes = np.asarray(predictor.predict_proba(data)).T
        return torch.from_numpy(yes > no).double()

    start = time.process_time()
    with quietly():
        predictor = DeepFairPredictor(
            *as_data(people.fit, own.fit), use_actual_groups=True
        )
        predictor.fit(group_metrics.accuracy, measures[case.notion], bound)
        seconds = time.process_time() - start
        decided = Decisions(decide(people.fit, own.fit), decide(people.test, own.test))
    values = measure(people, decided, case.notion)
    return Result({**values, "status": "done"}, seconds, own.seconds)
