r"""Estimates of memberships, :math:`q(x, y) = E[S \mid x, y]`, on the folds of scores.

A blind rule decides with them instead of the traits. By default, small networks
estimate all groups at once, so that their cost hardly depends on the number of groups.
Fitted networks are plain arrays, so that a saved classifier needs no torch objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples
from torch import Tensor, nn

from fairret.control.membership import GroupNetwork, membership_loss
from fairret.errors import RangeError
from fairret.estimator.features import Numbers, Standardiser
from fairret.estimator.folds import Folds, Rows, fit_weighted

Both: TypeAlias = tuple[Numbers, Numbers]  # for y = 0 and for y = 1, (n, d_s) each
BLOCK = 8192  # rows that go through networks at once
EPOCHS = 8
LEARNING_RATE = 0.01  # at its highest
RISE = 0.2  # share of the steps in which it rises
SMALLEST_BATCH, LARGEST_BATCH = 32, 512
BATCHES = 20  # of an epoch, if it has rows enough
Floats: TypeAlias = NDArray[np.float32]


class Memberships(ABC):
    """Fitted estimates of q, one per fold."""

    encoded: ClassVar[bool]  # whether X is a matrix of numbers, or as it was given

    @abstractmethod
    def predict_fold(self, X: Any, fold: int) -> Both:
        """Estimate with the model of one fold."""

    @abstractmethod
    def predict(self, X: Any) -> Both:
        """Estimate with the average of all folds."""

    @abstractmethod
    def first(self, count: int) -> Memberships:
        """Keep the models of the first folds."""

    def out_of_fold(self, X: Any, folds: Folds, d_s: int) -> Both:
        """Estimate for every row with the model that has not seen it."""
        n = sum(len(test) for _, test in folds)
        q0, q1 = np.empty((n, d_s)), np.empty((n, d_s))
        for k, (_, test) in enumerate(folds):
            q0[test], q1[test] = self.predict_fold(_safe_indexing(X, test), k)
        return q0, q1


class NetworkMemberships(Memberships):
    """Networks with hidden layers of 64 and 32, as arrays.

    Args:
        scale: Brings features to the scale of the networks.
        weights: Per layer, those of all folds, `(folds, in, out)`.
        biases: Per layer, `(folds, 1, out)`.
    """

    encoded = True

    def __init__(
        self, scale: Standardiser, weights: list[Floats], biases: list[Floats]
    ) -> None:
        self.scale, self.weights, self.biases = scale, weights, biases

    def predict_fold(self, X: Numbers, fold: int) -> Both:
        """Estimate with the network of one fold."""
        return self._predict(X, slice(fold, fold + 1))

    def predict(self, X: Numbers) -> Both:
        """Estimate with the average of all networks."""
        return self._predict(X, slice(None))

    def first(self, count: int) -> NetworkMemberships:
        """Keep the networks of the first folds."""
        weights = [weight[:count] for weight in self.weights]
        return NetworkMemberships(
            self.scale, weights, [bias[:count] for bias in self.biases]
        )

    def _predict(self, X: Numbers, folds: slice) -> Both:
        blocks = [
            self._forward(self.scale.transform(X[start : start + BLOCK]), folds)
            for start in range(0, max(len(X), 1), BLOCK)
        ]
        q = np.concatenate(blocks).astype(np.float64)
        half = q.shape[1] // 2
        return q[:, :half], q[:, half:]

    def _forward(self, x: Floats, folds: slice) -> Floats:
        h = x
        for place, (weight, bias) in enumerate(
            zip(self.weights, self.biases, strict=True)
        ):
            h = np.maximum(h, 0, out=h) if place else h
            h = h @ weight[folds]
            h += bias[folds]
        return np.asarray(expit(h, out=h).mean(0))


def fit_networks(
    x: Numbers, y: Numbers, sens: Numbers, weight: Numbers, folds: Folds, seed: int
) -> NetworkMemberships:
    """Train one network per fold.

    Args:
        x: Features as numbers, `(n, width)`; NaN where missing.
        y: Labels 0 and 1.
        sens: Memberships, `(n, d_s)`; NaN where missing.
        weight: Sample weights.
        folds: Rows to train on, per network.
        seed: Of the weights and of the order of rows.
    """
    scale = Standardiser().fit(x, weight)
    feat = torch.as_tensor(scale.transform(x))
    s, label, w = (torch.as_tensor(a, dtype=torch.float32) for a in (sens, y, weight))
    networks = []
    for k, (train, _) in enumerate(folds):
        rows = torch.as_tensor(train)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed + k)
            network = GroupNetwork(feat.shape[1], s.shape[1])
        loss = membership_loss(s[rows], label[rows], w[rows])
        fit_one_cycle(network, feat[rows], loss, seed=seed + k)
        networks.append([x for x in network.layers if isinstance(x, nn.Linear)])
    layers = list(zip(*networks, strict=True))
    return NetworkMemberships(
        scale,
        [np.stack([x.weight.detach().numpy().T for x in own]) for own in layers],
        [np.stack([x.bias.detach().numpy()[None] for x in own]) for own in layers],
    )


def fit_one_cycle(
    module: nn.Module,
    feat: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    seed: int,
) -> None:
    """Minimise a loss in a few epochs, with a rate that rises and falls.

    Held-out losses are those of early stopping, or lower, in a sixth of the time.

    Args:
        module: What to fit, in place.
        feat: Features of all rows.
        loss: Mean loss of outputs on the rows with given numbers.
        seed: Of the order of rows.
    """
    n, order = len(feat), torch.Generator().manual_seed(seed)
    size = max(SMALLEST_BATCH, min(LARGEST_BATCH, n // BATCHES))
    adam = torch.optim.Adam(module.parameters(), LEARNING_RATE)
    steps = EPOCHS * -(-n // size)
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        adam, LEARNING_RATE, total_steps=steps, pct_start=RISE
    )
    for _ in range(EPOCHS):
        for rows in torch.split(torch.randperm(n, generator=order), size):
            adam.zero_grad()
            torch.autograd.backward(loss(module(feat[rows]), rows))
            adam.step()
            cycle.step()


class EstimatorMemberships(Memberships):
    """Models of the user: per fold and label, one per trait or one per group."""

    encoded = False

    def __init__(self, folds: list[list[list[Any]]], traits: list[tuple[int, ...]]):
        self.folds = folds  # models by fold, label and trait
        self.traits = traits

    def predict_fold(self, X: Any, fold: int) -> Both:
        """Estimate with the models of one fold."""
        zero, one = (
            np.concatenate([model.predict(X) for model in models], axis=1)
            for models in self.folds[fold]
        )
        return zero, one

    def first(self, count: int) -> EstimatorMemberships:
        """Keep the models of the first folds."""
        return EstimatorMemberships(self.folds[:count], self.traits)

    def predict(self, X: Any) -> Both:
        """Estimate with the average of all folds."""
        each = [self.predict_fold(X, fold) for fold in range(len(self.folds))]
        zero, one = (np.mean([pair[y] for pair in each], axis=0) for y in (0, 1))
        return zero, one


def fit_estimators(
    estimator: Any,
    X: Any,
    y: Numbers,
    sens: Numbers,
    weight: Numbers,
    folds: Folds,
    traits: Sequence[Sequence[int]],
) -> EstimatorMemberships:
    """Fit copies of a classifier, per fold and label, to every trait.

    Args:
        estimator: A classifier with `predict_proba`, for groups; or a regressor, for
            groups and amounts.
        X: Features, as the estimator takes them.
        y: Labels 0 and 1.
        sens: Memberships, `(n, d_s)`; NaN where missing.
        weight: Sample weights.
        folds: Rows to fit on.
        traits: Which columns of `sens` belong to the same trait.

    Raises:
        RangeError: If a classifier is to estimate an amount.
    """
    own = [tuple(trait) for trait in traits]
    if not is_regressor(estimator):
        for trait in own:
            _check_groups(sens[:, trait])
    models = [
        [
            [
                _fit_trait(estimator, X, sens, weight, train[y[train] == label], trait)
                for trait in own
            ]
            for label in (0, 1)
        ]
        for train, _ in folds
    ]
    return EstimatorMemberships(models, own)


def _check_groups(s: Numbers) -> None:
    known = s[~np.isnan(s).any(1)]
    if not np.isin(known, (0, 1)).all() or (known.sum(1) > 1).any():
        raise RangeError(
            "`group_estimator` must be a regressor if a trait is an amount or "
            "overlapping groups; got a classifier. Cut amounts with "
            "`fairret.sensitive.Binned`, or leave `group_estimator` out."
        )


class GroupShares:
    """A fitted model of one trait: memberships, `(n, groups)`."""

    def __init__(self, models: list[Any], codes: NDArray[np.intp], mean: Numbers):
        self.models = models  # none, one classifier, or one regressor per group
        self.codes = codes  # the group of every class; -1 for people in no group
        self.mean = mean  # (groups,): the answer without a model

    def predict(self, X: Any) -> Numbers:
        """Estimate memberships."""
        q = np.tile(self.mean, (_num_samples(X), 1))
        if len(self.codes):
            p = self.models[0].predict_proba(X)
            q = np.zeros_like(q)
            for place, k in enumerate(self.codes):
                if k >= 0:
                    q[:, k] = p[:, place]
        elif self.models:
            q = np.column_stack([model.predict(X) for model in self.models])
        return np.clip(q, 0.0, 1.0)


def _fit_trait(
    estimator: Any,
    X: Any,
    sens: Numbers,
    weight: Numbers,
    rows: Rows,
    trait: tuple[int, ...],
) -> GroupShares:
    """Fit one trait on some rows."""
    rows = rows[~np.isnan(sens[rows][:, trait]).any(1)]
    s, w = sens[rows][:, trait], weight[rows]
    nobody = np.empty(0, dtype=np.intp)
    if w.sum() == 0:
        return GroupShares([], nobody, np.zeros(len(trait)))
    mean = w @ s / w.sum()
    feat = _safe_indexing(X, rows)
    if is_regressor(estimator):
        models = [fit_weighted(clone(estimator), feat, own, w) for own in s.T]
        return GroupShares(models, nobody, mean)
    code = np.where(s.any(1), s.argmax(1), -1)
    if len(np.unique(code)) < 2:
        return GroupShares([], nobody, mean)
    model = fit_weighted(clone(estimator), feat, code, w)
    return GroupShares([model], np.asarray(model.classes_, dtype=np.intp), mean)
