"""Estimates of memberships by boosted trees, from two folds."""

from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairret.errors import ArgumentError, missing_extra

FOLDS = 2
ITERATIONS = 100
BINS = 64
SMALLEST = 1e-6  # probability that still has a logit


class Model(Protocol):
    """A fitted tree ensemble of scikit-learn."""

    def predict(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predict numbers."""


class BoostedGroups(nn.Module):
    """Memberships by scikit-learn, with y as one more feature; two folds, averaged.

    It is not a pure torch module: `torch.compile`, `torch.export` and `state_dict`
    refuse it. Save the whole object with `torch.save`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folds: list[list[Model]] = []  # per fold, per group

    def forward(self, feat: Tensor) -> Tensor:
        """Compute logits, `(n, 2 d_s)`."""
        if torch.compiler.is_compiling():
            raise ArgumentError(REFUSAL)
        x = _as_array(feat)
        each = [_predict(models, x) for models in self.folds]
        return torch.as_tensor(np.mean(each, 0)).logit(SMALLEST).to(feat.device)

    def get_extra_state(self) -> object:
        """Refuse a `state_dict`, which would lack the trees."""
        raise ArgumentError(REFUSAL)

    def fit(
        self, feat: Tensor, sens: Tensor, label: Tensor, weight: Tensor, *, seed: int
    ) -> Tensor:
        """Fit, and return the out-of-fold logits, `(n, 2 d_s)`."""
        x, y = _as_array(feat), label.numpy().astype(np.float64)
        s, w = sens.double().numpy(), weight.double().numpy()
        deal = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
        fold = (deal % FOLDS).numpy()
        q = np.zeros((len(y), 2 * s.shape[1]))
        self.folds = []
        for k in range(FOLDS):
            own, rest = fold == k, fold != k
            models = [
                _fit_column(x[rest], y[rest], s[rest, j], w[rest], seed)
                for j in range(s.shape[1])
            ]
            self.folds.append(models)
            q[own] = _predict(models, x[own])
        return torch.as_tensor(q).logit(SMALLEST)


REFUSAL = (
    '`q="boosting"` uses scikit-learn and is not a pure torch module: it cannot be '
    "compiled, exported or put into a `state_dict`. Save the whole object with "
    '`torch.save`, or use `q="network"`.'
)


class _Constant:
    """Predicts one number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def predict(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full(len(x), self.value)


class _Probability:
    """Predicts the probability of the second class."""

    def __init__(self, classifier: object) -> None:
        self.classifier = classifier

    def predict(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.classifier.predict_proba(x)[:, 1]  # type: ignore[attr-defined]  # scikit-learn has no types
        return found


def _fit_column(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    s: NDArray[np.float64],
    w: NDArray[np.float64],
    seed: int,
) -> Model:
    """Fit one column of S: a classifier, or a regression if it is an amount."""
    try:
        from sklearn.ensemble import (
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
        )
    except ImportError:
        raise missing_extra('`q="boosting"` needs', "scikit-learn", "sklearn") from None
    known = ~np.isnan(s)
    values = np.unique(s[known])
    if len(values) < 2:
        return _Constant(float(values[0]) if len(values) else 0.0)
    options = {
        "max_iter": ITERATIONS,
        "max_bins": BINS,
        "early_stopping": True,
        "random_state": seed,
    }
    inputs = np.column_stack((x, y))[known], s[known], w[known]
    if set(values) != {0.0, 1.0}:
        found: Model = HistGradientBoostingRegressor(**options).fit(*inputs)
        return found
    return _Probability(HistGradientBoostingClassifier(**options).fit(*inputs))


def _predict(models: list[Model], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predict every column for y = 0, then for y = 1."""
    both = [np.column_stack((x, np.full(len(x), y))) for y in (0.0, 1.0)]
    columns = [model.predict(rows) for rows in both for model in models]
    return np.clip(np.column_stack(columns), 0.0, 1.0)


def _as_array(feat: Tensor) -> NDArray[np.float64]:
    array: NDArray[np.float64] = feat.detach().cpu().flatten(1).double().numpy()
    return array
