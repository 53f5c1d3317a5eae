"""The methods that are compared, and the cases that they are tried on."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from fairret.errors import NameNotFoundError, did_you_mean
from fairret.lab.tolerance import grid, ours, peers, promise
from fairret.lab.tolerance.people import ALL, COMPARED, Case
from fairret.lab.tolerance.results import Result

DATASETS = ("bank", "creditcard", "lawschool", "acsincome")
POPULATIONS = ("lawschool", "acsincome", "synthetic")
NOTIONS = ("pr", "tpr", "ppv", "fn_fp")
RATES = ("pr", "tpr")  # what Fairlearn supports
TOLERANCES = (0.05, 0.1, 0.2)
STRICT = (0.02, *TOLERANCES)  # one more, so that peers are not below our curve
NONE = (math.inf,)
SEEDS = (0, 1, 2)
DRAWS = 21  # of rows from a population
WIDE, SINGLE = "wide", "single"  # which of the traits in `COMPARED`


class Try(NamedTuple):
    """What a method is tried on."""

    traits: str = ALL
    notions: tuple[str, ...] = NOTIONS
    tolerances: tuple[float, ...] = TOLERANCES


@dataclass(frozen=True)
class Method:
    """A way to decisions.

    Args:
        fit: Decides and measures.
        tries: What it is tried on.
        datasets: Those that it supports.
        draws: Whether a seed is that of a sample from a population.
        late: Whether to try it after the others, on all datasets.
    """

    fit: Callable[[Case], Result]
    tries: tuple[Try, ...] = (Try(),)
    datasets: tuple[str, ...] | None = None
    draws: bool = False
    late: bool = False


_PLAIN = (Try(tolerances=NONE), Try(WIDE, RATES, NONE), Try(SINGLE, tolerances=NONE))
_BLIND = (Try(), Try(WIDE, RATES, STRICT))
_INFORMED = (*_BLIND, Try(SINGLE, tolerances=STRICT))
_SLOW = (Try(WIDE, RATES, (0.05, 0.2)),)  # dozens of fits each
_CERTIFIED = (Try(tolerances=(0.1,)),)
_ASSURED = (Try(notions=("pr", "tpr", "ppv"), tolerances=(0.2,)),)
_exact_blind = partial(ours.blind_boosting, adapt=False)
_exact_informed = partial(ours.informed_boosting, adapt=False)
_blind_network = partial(ours.control, informed=False, adapt=False)
_informed_network = partial(ours.control, informed=True, adapt=False)
# An exact rule has the stated tolerance; the default allows two standard errors.
METHODS = {
    "boosting": Method(ours.plain_boosting, _PLAIN),
    "exact blind boosting": Method(_exact_blind, _BLIND),
    "exact informed boosting": Method(_exact_informed, _INFORMED),
    "blind boosting": Method(ours.blind_boosting),
    "informed boosting": Method(ours.informed_boosting),
    "ThresholdOptimizer": Method(peers.threshold_optimizer, (Try(WIDE, RATES),)),
    "OxonFair": Method(peers.oxonfair, (Try(SINGLE),)),
    "ExponentiatedGradient": Method(peers.exponentiated_gradient, _SLOW),
    "grid": Method(grid.choose, datasets=grid.DATASETS),
    "network": Method(ours.plain_network, _PLAIN[:1], late=True),
    "exact informed network": Method(_informed_network, late=True),
    "exact blind network": Method(_blind_network, late=True),
    "held-out certificate": Method(promise.held_out, _CERTIFIED, POPULATIONS, True),
    "fitted certificate": Method(promise.fitted, _CERTIFIED, POPULATIONS, True),
    "assured rule": Method(promise.assured, _ASSURED, POPULATIONS, True),
}
DEFAULT = ("blind boosting", "informed boosting")
EXACT = (
    *("exact blind boosting", "exact informed boosting"),
    *("exact blind network", "exact informed network"),
)


class Wanted(NamedTuple):
    """Which of the cases to run."""

    datasets: Sequence[str] = DATASETS
    seeds: Sequence[int] = SEEDS
    methods: Sequence[str] = tuple(METHODS)
    notions: Sequence[str] = NOTIONS
    draws: int = DRAWS


def list_cases(wanted: Wanted) -> list[Case]:
    """List the cases seed by seed, so that an interrupted run is balanced.

    Draws from a population are dealt to the seeds.

    Raises:
        NameNotFoundError: If a dataset, method or notion is unknown.
    """
    _check("dataset", wanted.datasets, COMPARED)
    _check("method", wanted.methods, METHODS)
    _check("notion", wanted.notions, NOTIONS)
    cases: list[Case] = []
    for place, seed in enumerate(wanted.seeds):
        for late in (False, True):
            cases += _cases(wanted, seed, late=late)
        for draw in range(place, wanted.draws, len(wanted.seeds)):
            cases += _cases(wanted, draw, draws=True)
    return cases


def _check(kind: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise NameNotFoundError(
                f"Unknown {kind} {name!r}.{did_you_mean(name, known)} Choose from "
                f"{', '.join(known)}."
            )


def _cases(
    wanted: Wanted, seed: int, *, draws: bool = False, late: bool = False
) -> Iterator[Case]:
    for dataset in wanted.datasets:
        seen = set()  # a trait may be both the wide and the single one
        for name in wanted.methods:
            method = METHODS[name]
            if (method.draws, method.late) != (draws, late):
                continue
            if dataset not in (method.datasets or (dataset,)):
                continue
            for one in method.tries:
                for case in _tried(dataset, seed, name, one):
                    if case.notion in wanted.notions and case not in seen:
                        seen.add(case)
                        yield case


def _tried(dataset: str, seed: int, method: str, one: Try) -> Iterator[Case]:
    wide, single = COMPARED[dataset]
    traits = {ALL: ALL, WIDE: wide, SINGLE: single}[one.traits]
    for notion in one.notions:
        for tolerance in one.tolerances:
            yield Case(dataset, seed, traits, method, notion, tolerance)
