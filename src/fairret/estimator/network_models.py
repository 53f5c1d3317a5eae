"""Fitted networks behind a rule, or alone; they are saved as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from fairret.estimator.base import FitData, ParameterError
from fairret.estimator.features import Numbers
from fairret.estimator.folds import Folds
from fairret.estimator.memberships import Memberships, fit_networks
from fairret.estimator.models import Known, fit_recalibration, inform
from fairret.estimator.networks import Inputs, Recipe, Trained, score, train_network
from fairret.training import Network, WarmUp


class NetworkModels:
    """Trained networks, and what turns their scores into knowledge of people.

    Args:
        inputs: Turns features into inputs of the networks.
        trained: One network, or one per fold.
        memberships: Estimates of groups, for a blind rule.
        recalibration: Weights of a recalibration given the groups, for an informed one.
    """

    def __init__(
        self,
        inputs: Inputs,
        trained: list[Trained],
        memberships: Memberships | None = None,
        recalibration: Numbers | None = None,
    ) -> None:
        self.inputs, self.trained = inputs, trained
        self.memberships, self.recalibration = memberships, recalibration

    @property
    def networks(self) -> list[nn.Module]:
        """The networks, in evaluation mode."""
        return [own.module for own in self.trained]

    def read(self, X: Any, sens: Numbers | None) -> Known:
        """Score new people, and find out about their groups, if the rule needs them."""
        x = self.inputs.numbers(X, sens)
        eta = score(self.networks, self.inputs.scaled(x))
        if self.recalibration is not None and sens is not None:
            return inform(eta, sens, self.recalibration)
        if self.memberships is None:
            nothing = np.empty((len(eta), 0))
            return Known(eta, nothing, nothing)
        return Known(eta, *self.memberships.predict(x))

    def score_alone(self, X: Any, sens: Numbers | None) -> Numbers:
        """Score new people by the networks alone, `(n,)`."""
        return score(self.networks, self.inputs.scaled(self.inputs.numbers(X, sens)))

    def score(self, X: Any, sens: Numbers | None) -> Numbers:
        """Score new people, `(n,)`."""
        eta = self.score_alone(X, sens)
        if self.recalibration is None or sens is None:
            return eta
        return inform(eta, sens, self.recalibration).eta

    def __getstate__(self) -> dict[str, Any]:
        saved = [
            (_describe(own.module), tuple(own.state), own.term, own.history)
            for own in self.trained
        ]
        return {**vars(self), "trained": tree_map(_as_array, saved)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.trained = []
        for saved in state["trained"]:
            sizes, course, term, history = tree_map(_as_tensor, saved)
            known = WarmUp(*course)
            module = _rebuild(sizes, known.network)
            self.trained.append(Trained(module, known, term, history))


def fit_alone(
    recipe: Recipe,
    data: FitData,
    seed: int,
    *,
    traits: bool,
    earlier: NetworkModels | None = None,
) -> NetworkModels:
    """Train one network on all rows, or train an earlier one further.

    Args:
        recipe: How to train.
        data: All rows.
        seed: Of the training.
        traits: Whether the traits are inputs.
        earlier: What to start from.

    Raises:
        ParameterError: If the earlier network has other inputs.
    """
    if earlier is None:
        inputs, before = Inputs.fit(data, traits=traits), None
    elif earlier.inputs.traits != traits:
        was = "has" if earlier.inputs.traits else "does not have"
        raise ParameterError(
            f"`informed` must stay as it was when a network is trained further: the "
            f"fitted one {was} the traits among its inputs. Fit a new classifier, for "
            "example a `clone`."
        )
    else:
        inputs, before = earlier.inputs, earlier.trained[0]
    feat = inputs.scaled(inputs.numbers(data.X, data.traits.sens))
    rows = np.arange(len(data))
    found = train_network(recipe, feat, data, rows, seed, earlier=before)
    return NetworkModels(inputs, [found])


def fit_folds(
    recipe: Recipe,
    data: FitData,
    folds: Folds,
    seed: int,
    *,
    informed: bool,
    traits: bool,
) -> tuple[NetworkModels, Numbers, Known]:
    """Train one network per fold.

    Returns:
        The models; the scores of all rows, out of fold; and what a rule knows of them.
    """
    inputs = Inputs.fit(data, traits=traits)
    x = inputs.numbers(data.X, data.traits.sens)
    feat = inputs.scaled(x)
    trained, eta = [], np.empty(len(data))
    for k, (train, test) in enumerate(folds):
        name = f"Fold {k + 1} of {len(folds)}"
        found = train_network(recipe, feat, data, train, seed + k, name=name)
        eta[test] = score([found.module], feat[torch.as_tensor(test)])
        trained.append(found)
    models = NetworkModels(inputs, trained)
    y, sens, weight = data.labels.binary, data.traits.sens, data.weight
    if informed:
        models.recalibration = fit_recalibration(eta, data)
        return models, eta, inform(eta, sens, models.recalibration)
    models.memberships = fit_networks(x, y, sens, weight, folds, seed)
    q0, q1 = models.memberships.out_of_fold(x, folds, sens.shape[1])
    return models, eta, Known(eta, q0, q1)


def _describe(module: nn.Module) -> object:
    """The sizes of a network of ours, whose weights are in its state."""
    if type(module) is not Network:
        return module
    linear = [x for x in module.modules() if isinstance(x, nn.Linear)]
    return [x.in_features for x in linear]


def _rebuild(saved: Any, state: dict[str, Tensor]) -> nn.Module:
    if isinstance(saved, nn.Module):
        return saved
    with torch.random.fork_rng(devices=[]):
        module = Network(saved[0], saved[1:])
    module.load_state_dict(state)
    return module.eval()


def _as_array(x: object) -> object:
    return x.numpy() if isinstance(x, Tensor) else x


def _as_tensor(x: object) -> object:
    return torch.as_tensor(x) if isinstance(x, np.ndarray) else x
