"""Cross-fitting: every row is scored by models that have not seen it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from fairret.errors import RangeError
from fairret.estimator.features import Numbers
from fairret.sensitive.coded import listing

Rows: TypeAlias = NDArray[np.intp]
Folds: TypeAlias = list[tuple[Rows, Rows]]  # to fit on, to score


def deal_folds(cv: Any, X: Any, y: NDArray[np.generic], random_state: Any) -> Folds:
    """Split the rows so that each is scored once.

    Args:
        cv: A number of folds, a splitter, or an iterable of row numbers.
        X: Features.
        y: Labels.
        random_state: For the shuffle of folds given by number.

    Raises:
        RangeError: If a row is scored never, or twice.
    """
    if hasattr(cv, "__next__"):
        raise RangeError(
            "`cv` must be usable more than once; got a generator, which the first fit "
            "empties. Pass `list(…)` of it."
        )
    if isinstance(cv, int):
        cv = StratifiedKFold(cv, shuffle=True, random_state=random_state)
    folds = [
        (np.asarray(train), np.asarray(test))
        for train, test in check_cv(cv, y, classifier=True).split(X, y)
    ]
    count = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(y))
    if (count != 1).any():
        raise RangeError(
            "`cv` must score every row once; got "
            f"{int((count == 0).sum())} rows that are never scored and "
            f"{int((count > 1).sum())} that are scored several times. Pass a number "
            "of folds."
        )
    return folds


def cross_fit(
    estimator: Any,
    X: Any,
    y: NDArray[np.generic],
    weight: Numbers | None,
    folds: Folds,
    n_jobs: int | None,
) -> list[Any]:
    """Fit one copy of a classifier per fold."""
    found: list[Any] = Parallel(n_jobs=n_jobs)(
        delayed(_fit_one)(clone(estimator), X, y, weight, train) for train, _ in folds
    )
    return found


def _fit_one(
    model: Any, X: Any, y: NDArray[np.generic], weight: Numbers | None, rows: Rows
) -> Any:
    own = None if weight is None else weight[rows]
    return fit_weighted(model, _safe_indexing(X, rows), y[rows], own)


def fit_weighted(
    model: Any, X: Any, y: NDArray[np.generic], weight: Numbers | None
) -> Any:
    """Fit a model, with weights if it takes them.

    Weights of 1 say nothing, and make histogram boosting five times slower.
    """
    useful = weight is not None and bool((weight != 1).any())
    name = weight_name(model) if useful else None
    return model.fit(X, y) if name is None else model.fit(X, y, **{name: weight})


def weight_name(model: Any) -> str | None:
    """What the weights are called in `fit`; None if it has none."""
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    if not isinstance(model, Pipeline):
        return None
    if get_config()["enable_metadata_routing"]:
        steps = model.get_metadata_routing().consumes("fit", ["sample_weight"])
        return "sample_weight" if steps else None
    name, last = model.steps[-1]
    inner = weight_name(last)
    return None if inner is None else f"{name}__{inner}"


def positive_share(model: Any, X: Any, positive: object) -> Numbers:
    """Read the probability of a class, `(n,)`.

    Raises:
        RangeError: If the model has not seen both classes, or gives no probabilities.
    """
    p = np.asarray(model.predict_proba(X), dtype=np.float64)
    known = getattr(model, "classes_", None)
    if known is None:
        raise RangeError(
            "`estimator` must have `classes_`, the labels that its probabilities "
            f"belong to; got {type(model).__name__} without. Set them after fitting."
        )
    classes = list(known)
    if positive not in classes or p.ndim != 2 or p.shape[1] != 2:
        raise RangeError(
            "`estimator` must have probabilities of two classes, one of them "
            f"{listing([positive])}; got those of {listing(classes)}. The labels must "
            "be those that it was fitted with, and every fold needs rows of both."
        )
    eta = p[:, classes.index(positive)]
    if not np.isfinite(eta).all():
        raise RangeError("`estimator` must give finite probabilities; got NaN.")
    return np.clip(eta, 0.0, 1.0)


def score_out_of_fold(
    models: list[Any], X: Any, folds: Folds, positive: object
) -> Numbers:
    """Score every row by the model that has not seen it, `(n,)`."""
    eta = np.empty(sum(len(test) for _, test in folds))
    for model, (_, test) in zip(models, folds, strict=True):
        eta[test] = positive_share(model, _safe_indexing(X, test), positive)
    return eta


def score_average(models: list[Any], X: Any, positive: object) -> Numbers:
    """Average the probabilities of all models, `(n,)`."""
    each = [positive_share(model, X, positive) for model in models]
    return np.asarray(np.mean(each, axis=0))
