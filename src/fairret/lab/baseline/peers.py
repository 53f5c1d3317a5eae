"""Methods of other packages, for one categorical trait: Fairlearn's and OxonFair's.

Their strength is a bound on the difference between the groups' rates: smaller is
fairer.
"""

from __future__ import annotations

import math
import time
import warnings
from functools import lru_cache, partial
from importlib import import_module, metadata
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairret.errors import ArgumentError, missing_extra
from fairret.training import Rows, Split, Trained, TrainingSettings, score, train

VALIDATION = 0.2  # of the training rows, where a method is fitted on held-out ones


class Fitted(NamedTuple):
    """What a method with its own training loop returns."""

    scores: dict[str, Tensor]  # of the training and the test rows
    seconds: float
    epoch: int  # the one that was kept
    loss: float  # of the last epoch


def versions(*names: str) -> dict[str, str]:
    """Versions of installed packages."""
    return {name: metadata.version(name) for name in names}


def group_numbers(rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Number the groups; people in none of them form one more."""
    if not bool(((rows.sens == 0) | (rows.sens == 1)).all()):
        raise ArgumentError(
            "`traits` must be 'single' for a method that takes one categorical trait; "
            'got memberships between 0 and 1. Set `traits = "single"`.'
        )
    nobody = rows.sens.sum(1) == 0
    return rows.sens.argmax(1).masked_fill(nobody, rows.sens.shape[1]).numpy()


def _check_import(method: str, *modules: str) -> None:
    try:
        for name in modules:
            import_module(name)
    except ImportError as error:
        raise missing_extra(
            f"The method {method!r} needs", str(error.name), "peers"
        ) from None


check_fairlearn = partial(
    _check_import, "ExponentiatedGradient", "fairlearn.reductions", "sklearn.ensemble"
)
check_sklearn = partial(_check_import, "Unfair trees", "sklearn.ensemble")
check_oxonfair = partial(_check_import, "OxonFair", "oxonfair")


def exponentiated_gradient(
    rows: Split,
    statistic: str,
    strength: float,
    settings: TrainingSettings,
    *,
    seed: int,
) -> Fitted:
    """Fairlearn's reduction, with gradient-boosted trees.

    Its decisions are random, with probabilities that satisfy the bound. A score is
    above ½ where a yes was drawn, so judge it by its decisions.
    """
    check_fairlearn()
    from fairlearn.reductions import (
        DemographicParity,
        ExponentiatedGradient,
        TruePositiveRateParity,
    )
    from sklearn.ensemble import HistGradientBoostingClassifier

    constraint = {"pr": DemographicParity, "tpr": TruePositiveRateParity}[statistic]
    mitigator = ExponentiatedGradient(
        HistGradientBoostingClassifier(random_state=seed),
        constraint(difference_bound=strength),
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mitigator.fit(
            rows.train.feat.numpy(),
            rows.train.label.numpy().astype(int),
            sensitive_features=group_numbers(rows.train),
        )
    seconds = time.perf_counter() - start
    rng = torch.Generator().manual_seed(seed)

    def decide(people: Rows) -> Tensor:
        p = torch.from_numpy(mitigator._pmf_predict(people.feat.numpy())[:, 1])
        return draw_decisions(p, rng)

    scores = {"train": decide(rows.train), "test": decide(rows.test)}
    return Fitted(scores, seconds, 0, math.nan)


def boosted_trees(
    rows: Split,
    statistic: str,
    strength: float,
    settings: TrainingSettings,
    *,
    seed: int,
) -> Fitted:
    """The trees of :func:`exponentiated_gradient` without a bound: a reference."""
    check_sklearn()
    from sklearn.ensemble import HistGradientBoostingClassifier

    start = time.perf_counter()
    trees = HistGradientBoostingClassifier(random_state=seed)
    trees.fit(rows.train.feat.numpy(), rows.train.label.numpy().astype(int))
    seconds = time.perf_counter() - start

    def score_of(people: Rows) -> Tensor:
        return torch.from_numpy(trees.predict_proba(people.feat.numpy())[:, 1])

    scores = {"train": score_of(rows.train), "test": score_of(rows.test)}
    return Fitted(scores, seconds, 0, math.nan)


def draw_decisions(p: Tensor, rng: torch.Generator) -> Tensor:
    """Draw a yes with probability `p`, and give it a score above ½."""
    p = p.clamp(0, 1)  # the weights of a mixture sum to 1 + 1e-16 at times
    return ((torch.rand(p.shape, generator=rng, dtype=p.dtype) < p) + p) / 2


def oxonfair_thresholds(
    rows: Split,
    statistic: str,
    strength: float,
    settings: TrainingSettings,
    *,
    seed: int,
) -> Fitted:
    """OxonFair's thresholds per group, on the paper's network.

    Unlike the other methods here, it uses the groups when it predicts.
    """
    check_oxonfair()
    from oxonfair import DeepDataDict, DeepFairPredictor, group_metrics

    measures = {
        "pr": group_metrics.demographic_parity,
        "tpr": group_metrics.equal_opportunity,
        "ppv": group_metrics.predictive_parity,
        "fn_fp": group_metrics.treatment_equality,
    }
    kept, done = _network(rows, settings, seed)
    start = time.perf_counter()

    def as_data(people: Rows) -> tuple[Any, Any, Any]:
        logit = torch.logit(score(done.network, people.feat), eps=1e-12).numpy()
        label = people.label.numpy().astype(int)
        return label, logit[:, None], group_numbers(people)

    def decide(people: Rows) -> Tensor:
        no, yes = np.asarray(predictor.predict_proba(DeepDataDict(*as_data(people)))).T
        return torch.sigmoid(torch.from_numpy(yes - no).double())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictor = DeepFairPredictor(*as_data(kept), use_actual_groups=True)
        predictor.fit(group_metrics.accuracy, measures[statistic], strength)
        scores = {"train": decide(rows.train), "test": decide(rows.test)}
    seconds = done.seconds + time.perf_counter() - start
    return Fitted(scores, seconds, done.epoch, done.losses[-1])


@lru_cache(maxsize=1)
def _network(
    rows: Split, settings: TrainingSettings, seed: int
) -> tuple[Rows, Trained]:
    """Train once for all bounds; also return the rows that were held out."""
    order = torch.randperm(
        len(rows.train.label), generator=torch.Generator().manual_seed(seed)
    )
    cut = round(VALIDATION * len(order))
    kept, rest = rows.train.take(order[:cut]), rows.train.take(order[cut:])
    return kept, train(rows._replace(train=rest), None, 0.0, settings, seed=seed)
