"""The models under all rules: one network and one set of trees per split."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairret.control import RuleModule, control_network
from fairret.control.boosting import BoostedGroups
from fairret.errors import missing_extra
from fairret.lab.tolerance.people import ALL, Case, load_people, split_of
from fairret.training import Network, TrainingSettings, score, train

FOLDS = 3
TREES: dict[str, Any] = {
    "max_iter": 30,
    "learning_rate": 0.3,
    "max_leaf_nodes": 15,
    "max_bins": 64,
    "early_stopping": False,
}
PAPER = TrainingSettings()


class Scores(NamedTuple):
    """Scores and memberships of the fit rows (out of fold) and of the test rows."""

    fit: Tensor  # (n,)
    test: Tensor
    q_fit: tuple[Tensor, Tensor]  # (n, d_s) for y = 0 and y = 1
    q_test: tuple[Tensor, Tensor]
    seconds: float


class Learned(NamedTuple):
    """A network, its scores and its time."""

    network: Network
    fit: Tensor
    test: Tensor
    seconds: float


def make_trees(seed: int) -> Any:
    """Make the learner of all methods that use trees."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise missing_extra("This comparison needs", "scikit-learn", "peers") from None
    return HistGradientBoostingClassifier(random_state=seed, **TREES)


def _case(dataset: str, seed: int, learner: str) -> Case:
    return Case(dataset, seed, ALL, learner, "", 0.0)


@lru_cache(maxsize=2)
def learn_network(dataset: str, seed: int) -> Learned:
    """Train the paper's network; validation rows choose the epoch."""
    start = time.process_time()
    case = _case(dataset, seed, "network")
    done = train(split_of(case), None, 0.0, PAPER, seed=seed)
    people = load_people(case)
    fit, test = (score(done.network, x.feat) for x in (people.fit, people.test))
    return Learned(done.network, fit, test, time.process_time() - start)


@lru_cache(maxsize=2)
def learn_groups(dataset: str, seed: int) -> RuleModule:
    """Fit a rule whose estimates of memberships serve all notions and tolerances."""
    people = load_people(_case(dataset, seed, "network"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return control_network(
            learn_network(dataset, seed).network,
            tuple(people.fit),
            max_violation=0.5,
            refit=False,
            compare=False,
            seed=seed,
        )


@lru_cache(maxsize=2)
def learn_trees(dataset: str, seed: int) -> Scores:
    """Fit trees on folds; test rows get the mean of the folds."""
    start = time.process_time()
    people = load_people(_case(dataset, seed, "boosting"))
    eta, new = cross_fit(*people.fit[::2], people.test.feat, seed=seed)
    groups = BoostedGroups()
    feat, sens, label = people.fit
    own = groups.fit(feat, sens, label, torch.ones_like(label), seed=seed)
    q_fit, q_test = (
        tuple(torch.sigmoid(x.double()).chunk(2, 1))
        for x in (own, groups(people.test.feat))
    )
    return Scores(eta, new, q_fit, q_test, time.process_time() - start)  # type: ignore[arg-type]  # chunks of two


def cross_fit(
    feat: Tensor, label: Tensor, new: Tensor, *, seed: int
) -> tuple[Tensor, Tensor]:
    """Score rows out of fold, and new rows by the mean of the folds."""
    x, y, x_new = feat.numpy(), label.numpy().astype(int), new.numpy()
    deal = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    fold = (deal % FOLDS).numpy()
    eta, each = np.zeros(len(y)), []
    for k in range(FOLDS):
        model = make_trees(seed).fit(x[fold != k], y[fold != k])
        eta[fold == k] = model.predict_proba(x[fold == k])[:, 1]
        each.append(model.predict_proba(x_new)[:, 1])
    return torch.from_numpy(eta), torch.from_numpy(np.mean(each, 0))
