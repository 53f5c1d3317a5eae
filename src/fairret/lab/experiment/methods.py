"""The methods that experiments compare, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from fairret import loss as losses
from fairret.errors import ArgumentError
from fairret.lab import baseline
from fairret.lab.baseline import peers, released
from fairret.lab.plugins import NameTakenError, same_code
from fairret.statistic import get_statistic
from fairret.training.loop import Term


class Task(NamedTuple):
    """What a fairness term is made for."""

    statistic: str
    d_s: int  # columns of `sens`
    hidden_size: int  # width of the network's last hidden layer


@dataclass(frozen=True)
class Option:
    """The allowed values of an option of a method."""

    default: object
    accepts: Callable[[object], bool]
    words: str  # what a value must be
    later: bool = False  # added after the first runs, whose keys do not contain it


@dataclass(frozen=True)
class Method:
    """A way of training.

    Args:
        name: Its name in files and figures.
        make: Makes the fairness term for a task and options; None trains without one.
        options: Its options, each an axis of the grid.
        for_statistic: Whether a run is for one statistic, or for all alike.
        single: Whether it supports a single categorical trait only.
        fit: Has its own training loop: gets a split, a statistic, a strength, the
            settings, a seed and options.
        statistics: The statistics that it supports; None for all.
        ignores: Training settings that it ignores; an experiment that sets one of them
            is refused.
        check: Checks for the packages that it needs, and raises
            :class:`~fairret.errors.MissingExtraError` if one is missing.
        fair: Whether it has a fairness term or bound, and so a strength.
        packages: Gives the versions of the packages that its results depend on.
    """

    name: str
    make: Callable[..., Term] | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    for_statistic: bool = True
    single: bool = False
    fit: Callable[..., peers.Fitted] | None = None
    statistics: tuple[str, ...] | None = None
    ignores: tuple[str, ...] = ()
    check: Callable[[], object] | None = None
    fair: bool = True
    packages: Callable[[], Mapping[str, str]] = dict

    @property
    def trains(self) -> bool:
        """Whether it has a term or a training loop of its own."""
        return self.make is not None or self.fit is not None

    @property
    def plain(self) -> bool:
        """Whether it trains without a fairness term."""
        return not (self.trains and self.fair)


def is_amount(value: object) -> bool:
    """Whether a value is a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < math.inf


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


_VIOLATION = {
    "sharpness": Option(1.0, lambda x: is_amount(x) and x != 0, "be positive numbers"),
    "memory": Option(
        0, _is_count, "be whole numbers of rows, 0 for no memory", later=True
    ),
}
_PROJECTION = {
    **_VIOLATION,
    "gradient": Option(
        "paper", lambda x: x in ("paper", "exact"), "be 'paper' or 'exact'"
    ),
    "max_iter": Option(0, _is_count, "be whole numbers, 0 for the default limit"),
}
_BANDWIDTH = Option(
    0.5, lambda x: is_amount(x) and x != 0, "be positive numbers", later=True
)
_OUR_LOOP = ("validation", "stratified", "patience")  # of our training loop only


def _fairret(
    loss: Callable[..., Term], options: Mapping[str, Option]
) -> dict[str, Any]:
    def make(task: Task, *, max_iter: int = 0, **options: object) -> Term:
        limit = {"max_iter": max_iter} if max_iter else {}
        return loss(get_statistic(task.statistic), **options, **limit)

    return {"make": make, "options": options}


def _baseline(make: Callable[..., Any], **options: Option) -> dict[str, Any]:
    return {"make": make, "for_statistic": False, "single": True, "options": options}


def _released(loss: str, **loss_options: object) -> dict[str, Any]:
    fit = partial(released.train_released, loss, loss_options=loss_options)
    return {
        "fit": fit,
        "ignores": _OUR_LOOP,
        "check": released.install,
        "packages": released.packages,
    }


_METHODS: Mapping[str, dict[str, Any]] = {
    "Unfair": {"for_statistic": False},
    "Norm": _fairret(losses.NormLoss, _VIOLATION),
    "SmoothMax": _fairret(losses.SmoothMaxLoss, _VIOLATION),
    "KL": _fairret(losses.KLProjectionLoss, _PROJECTION),
    "JS": _fairret(losses.JensenShannonProjectionLoss, _PROJECTION),
    "SED": _fairret(losses.SquaredEuclideanProjectionLoss, _PROJECTION),
    "PRemover": _baseline(lambda task: baseline.PRemoverLoss()),
    "HSIC": _baseline(
        lambda task, bandwidth=0.5: baseline.HSICLoss(bandwidth=bandwidth),
        bandwidth=_BANDWIDTH,
    ),
    "AdvDebias": _baseline(
        lambda task: baseline.AdversarialDebiasingLoss(task.d_s, task.hidden_size)
    ),
    "SmoothMax 0.1.3": _released("LSELoss"),
    # QDLDL was SCS's default when 0.1.3 was released. MKL, the default since SCS 3.3,
    # takes twice as long, and trains the same networks.
    "KL 0.1.3": _released("KLProjectionLoss", use_indirect=False),
    "ExponentiatedGradient": {
        "fit": peers.exponentiated_gradient,
        "single": True,
        "statistics": ("pr", "tpr"),
        "ignores": _OUR_LOOP,
        "check": peers.check_fairlearn,
        "packages": partial(peers.versions, "fairlearn", "scikit-learn"),
    },
    "Unfair trees": {
        "fit": peers.boosted_trees,
        "for_statistic": False,
        "fair": False,
        "ignores": _OUR_LOOP,
        "check": peers.check_sklearn,
        "packages": partial(peers.versions, "scikit-learn"),
    },
    "OxonFair": {
        "fit": peers.oxonfair_thresholds,
        "single": True,
        "check": peers.check_oxonfair,
        "packages": partial(peers.versions, "oxonfair"),
    },
}
METHODS = {name: Method(name, **how) for name, how in _METHODS.items()}


def register_method(method: Method) -> None:
    """Register your own method, so that experiment files can name it.

    Raises:
        ArgumentError: If it is no :class:`Method`, or has neither `make` nor `fit`.
        NameTakenError: If another method has its name.
    """
    if not isinstance(method, Method):
        raise ArgumentError(
            f"`method` must be a `Method`; got {type(method).__name__}. Pass "
            "`Method(name, make)`."
        )
    if not method.name or not method.trains:
        raise ArgumentError(
            "`method` must have a name, and `make` or `fit`; got "
            f"{method.name!r} without. Pass `Method(name, make)`."
        )
    known = METHODS.get(method.name, method)
    if not (same_code(known.make, method.make) and same_code(known.fit, method.fit)):
        raise NameTakenError(
            f"A method named {method.name!r} is already registered. Choose another "
            "name."
        )
    METHODS[method.name] = method
