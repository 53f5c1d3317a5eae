"""What a comparison consists of: methods, and the cases that they are tried on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fairret.errors import NameNotFoundError, did_you_mean
from fairret.lab.tolerance.people import ALL, COMPARED, Case
from fairret.lab.tolerance.results import Result

DATASETS = ("bank", "creditcard", "lawschool", "acsincome")
SEEDS = (0, 1, 2)
WIDE, SINGLE = "wide", "single"  # which of the traits in `COMPARED`


class Try(NamedTuple):
    """What a method is tried on."""

    traits: str
    notions: tuple[str, ...]
    tolerances: tuple[float, ...]


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
    tries: tuple[Try, ...]
    datasets: tuple[str, ...] | None = None
    draws: bool = False
    late: bool = False


@dataclass(frozen=True)
class Comparison:
    """Methods, and what of their cases is wanted.

    Args:
        methods: The methods by name.
        notions: Names of statistics.
        datasets: Names of datasets.
        seeds: Of the splits into fit and test rows.
        draws: Samples from each population.
    """

    methods: Mapping[str, Method]
    notions: Sequence[str]
    datasets: Sequence[str] = DATASETS
    seeds: Sequence[int] = SEEDS
    draws: int = 0

    def only(
        self,
        *,
        methods: Sequence[str] | None = None,
        notions: Sequence[str] | None = None,
        datasets: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
        draws: int | None = None,
    ) -> Comparison:
        """Restrict it to some names, in their order.

        Raises:
            NameNotFoundError: If a dataset, method or notion is unknown.
        """
        own = self
        if datasets is not None:
            _check("dataset", datasets, COMPARED)
            own = replace(own, datasets=datasets)
        if methods is not None:
            _check("method", methods, self.methods)
            own = replace(own, methods={name: self.methods[name] for name in methods})
        if notions is not None:
            _check("notion", notions, self.notions)
            own = replace(own, notions=notions)
        if seeds is not None:
            own = replace(own, seeds=seeds)
        return own if draws is None else replace(own, draws=draws)

    def list_cases(self) -> list[Case]:
        """List the cases seed by seed, so that an interrupted run is balanced.

        Draws from a population are dealt to the seeds.
        """
        cases: list[Case] = []
        for place, seed in enumerate(self.seeds):
            for late in (False, True):
                cases += self._cases(seed, late=late)
            for draw in range(place, self.draws, len(self.seeds)):
                cases += self._cases(draw, draws=True)
        return cases

    def _cases(
        self, seed: int, *, draws: bool = False, late: bool = False
    ) -> Iterator[Case]:
        for dataset in self.datasets:
            seen = set()  # a trait may be both the wide and the single one
            for name, method in self.methods.items():
                if (method.draws, method.late) != (draws, late):
                    continue
                if dataset not in (method.datasets or (dataset,)):
                    continue
                for one in method.tries:
                    for case in _tried(dataset, seed, name, one):
                        if case.notion in self.notions and case not in seen:
                            seen.add(case)
                            yield case


def _check(kind: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise NameNotFoundError(
                f"Unknown {kind} {name!r}.{did_you_mean(name, known)} Choose from "
                f"{', '.join(known)}."
            )


def _tried(dataset: str, seed: int, method: str, one: Try) -> Iterator[Case]:
    wide, single = COMPARED[dataset]
    traits = {ALL: ALL, WIDE: wide, SINGLE: single}[one.traits]
    for notion in one.notions:
        for tolerance in one.tolerances:
            yield Case(dataset, seed, traits, method, notion, tolerance)
