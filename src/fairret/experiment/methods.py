"""The methods that experiments compare, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairret.baseline import AdversarialDebiasingLoss, HSICLoss, PRemoverLoss
from fairret.dataset.catalogue import NameTakenError, same_code
from fairret.errors import ArgumentError
from fairret.experiment.peers import (
    Fitted,
    check_fairlearn,
    check_oxonfair,
    exponentiated_gradient,
    oxonfair_thresholds,
)
from fairret.experiment.released import install, train_released
from fairret.loss import (
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    NormLoss,
    SmoothMaxLoss,
    SquaredEuclideanProjectionLoss,
)
from fairret.statistic import get_statistic
from fairret.training import Split, TrainingSettings
from fairret.training.loop import Term


class Task(NamedTuple):
    """What a fairness term is made for."""

    statistic: str
    d_s: int  # columns of `sens`
    hidden_size: int  # width of the network's last hidden layer


@dataclass(frozen=True)
class Option:
    """What an option of a method may be."""

    default: object
    accepts: Callable[[object], bool]
    words: str
    later: bool = False  # so that runs from before it have no word of it in their key


@dataclass(frozen=True)
class Method:
    """A way of training.

    Args:
        name: Its name in files and figures.
        make: Makes the fairness term for a task and options; None trains without one.
        options: Its options, each an axis of the grid.
        for_statistic: Whether a run is for one statistic, or for all alike.
        single: Whether it can see a single categorical trait only.
        fit: Trains in its own way: gets a split, a statistic, a strength, the settings,
            a seed and options.
        statistics: The statistics that it supports; None for all.
        ignores: Settings of a training that it takes no notice of; an experiment that
            sets one of them is refused.
        check: Looks for the packages that it needs, and raises
            :class:`~fairret.errors.MissingExtraError` if there are none.
    """

    name: str
    make: Callable[..., Term] | None
    options: Mapping[str, Option] = field(default_factory=dict)
    for_statistic: bool = True
    single: bool = False
    fit: Callable[..., Fitted] | None = None
    statistics: tuple[str, ...] | None = None
    ignores: tuple[str, ...] = ()
    check: Callable[[], object] | None = None

    @property
    def plain(self) -> bool:
        """Whether it trains without a fairness term."""
        return self.make is None and self.fit is None


def _positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value < math.inf


SHARPNESS = Option(1.0, _positive, "be positive numbers")
GRADIENT = Option("paper", lambda x: x in ("paper", "exact"), "be 'paper' or 'exact'")
ITERATIONS = Option(
    0,
    lambda x: type(x) is int and x >= 0,
    "be whole numbers, 0 for the usual limit",
)


MEMORY = Option(
    0,
    lambda x: type(x) is int and x >= 0,
    "be whole numbers of rows, 0 for no memory",
    later=True,
)


def _violation(loss: Callable[..., Any]) -> Callable[..., Term]:
    def make(task: Task, *, sharpness: float, memory: int = 0) -> Term:
        statistic = get_statistic(task.statistic)
        term: Term = loss(statistic, sharpness=sharpness, memory=memory)
        return term

    return make


def _projection(loss: Callable[..., Any]) -> Callable[..., Term]:
    def make(
        task: Task, *, sharpness: float, gradient: str, max_iter: int, memory: int = 0
    ) -> Term:
        limit = {"max_iter": max_iter} if max_iter else {}
        term: Term = loss(
            get_statistic(task.statistic),
            sharpness=sharpness,
            gradient=gradient,
            memory=memory,
            **limit,
        )
        return term

    return make


def _baseline(loss: Callable[[], Any]) -> Callable[..., Term]:
    def make(task: Task) -> Term:
        term: Term = loss()
        return term

    return make


def _adversary(task: Task) -> Term:
    term: Term = AdversarialDebiasingLoss(task.d_s, task.hidden_size)
    return term


def _released(loss: str) -> Callable[..., Fitted]:
    """Train with a loss of fairret 0.1.3, in its own process."""

    def fit(
        rows: Split,
        statistic: str,
        strength: float,
        settings: TrainingSettings,
        *,
        seed: int,
    ) -> Fitted:
        scores, seconds, last = train_released(
            rows, loss, statistic, strength, settings, seed=seed
        )
        return Fitted(scores, seconds, settings.epochs - 1, last)

    return fit


_OF_VIOLATIONS = {"sharpness": SHARPNESS, "memory": MEMORY}
_OUR_LOOP = ("validation", "stratified")  # settings that only our loop knows
_OF_PROJECTIONS = {**_OF_VIOLATIONS, "gradient": GRADIENT, "max_iter": ITERATIONS}

METHODS = {
    method.name: method
    for method in (
        Method("Unfair", None, for_statistic=False),
        Method("Norm", _violation(NormLoss), _OF_VIOLATIONS),
        Method("SmoothMax", _violation(SmoothMaxLoss), _OF_VIOLATIONS),
        Method("KL", _projection(KLProjectionLoss), _OF_PROJECTIONS),
        Method("JS", _projection(JensenShannonProjectionLoss), _OF_PROJECTIONS),
        Method("SED", _projection(SquaredEuclideanProjectionLoss), _OF_PROJECTIONS),
        Method("PRemover", _baseline(PRemoverLoss), for_statistic=False, single=True),
        Method("HSIC", _baseline(HSICLoss), for_statistic=False, single=True),
        Method("AdvDebias", _adversary, for_statistic=False, single=True),
        Method(
            "SmoothMax 0.1.3",
            None,
            fit=_released("LSELoss"),
            ignores=_OUR_LOOP,
            check=install,
        ),
        Method(
            "KL 0.1.3",
            None,
            fit=_released("KLProjectionLoss"),
            ignores=_OUR_LOOP,
            check=install,
        ),
        Method(
            "ExponentiatedGradient",
            None,
            fit=exponentiated_gradient,
            single=True,
            statistics=("pr", "tpr"),
            ignores=_OUR_LOOP,
            check=check_fairlearn,
        ),
        Method(
            "OxonFair",
            None,
            fit=oxonfair_thresholds,
            single=True,
            check=check_oxonfair,
        ),
    )
}


def register_method(method: Method) -> None:
    """Make a method of one's own known by its name, to experiments' files.

    Raises:
        ArgumentError: If it is no :class:`Method`, or has neither `make` nor `fit`.
        NameTakenError: If another method has its name.
    """
    if not isinstance(method, Method):
        raise ArgumentError(
            f"`method` must be a `Method`; got {type(method).__name__}. Pass "
            "`Method(name, make)`."
        )
    if not method.name or method.plain:
        raise ArgumentError(
            "`method` must have a name, and `make` or `fit`; got "
            f"{method.name!r} without. Pass `Method(name, make)`."
        )
    known = METHODS.get(method.name, method)
    if not (same_code(known.make, method.make) and same_code(known.fit, method.fit)):
        raise NameTakenError(
            f"`name` must be that of no other method; got {method.name!r}, which "
            "there is. Choose another name."
        )
    METHODS[method.name] = method
