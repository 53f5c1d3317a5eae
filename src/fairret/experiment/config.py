"""A TOML file that names datasets × methods × strengths × statistics × seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairret.dataset import dataset_names
from fairret.errors import FairretError
from fairret.experiment.methods import METHODS, Method
from fairret.experiment.plugins import (
    Plugin,
    PluginError,
    import_plugins,
    read_plugin,
)
from fairret.experiment.toml import ConfigError, Document, Place
from fairret.experiment.trainings import read_trainings
from fairret.statistic import get_statistic, statistic_names
from fairret.statistic.registry import name_of
from fairret.training import TrainingSettings

TOP = (
    "name",
    "plugins",
    "datasets",
    "statistics",
    "seeds",
    "traits",
    "training",
    "method",
)
TRAITS = ("all", "single")
SEEDS = 2**32  # NumPy and scikit-learn take none beyond


@dataclass(frozen=True)
class MethodGrid:
    """A method and the values of its options to try."""

    method: Method
    strengths: tuple[float, ...]
    options: Mapping[str, tuple[object, ...]]


@dataclass(frozen=True)
class Experiment:
    """What to run."""

    name: str
    datasets: tuple[str, ...]
    statistics: tuple[str, ...]
    seeds: tuple[int, ...]
    traits: tuple[str, ...]
    trainings: tuple[TrainingSettings, ...]
    methods: tuple[MethodGrid, ...]
    plugins: tuple[Plugin, ...] = ()

    @property
    def training(self) -> TrainingSettings:
        """How to train, or the first of several ways."""
        return self.trainings[0]


def read_experiment(path: str | Path) -> Experiment:
    """Read a file, and check all of it before anything is trained.

    The plugins that it names are imported.

    Raises:
        ConfigError: If a key, dataset, method or statistic is unknown, or a value is
            of the wrong type; with the line, and the nearest valid name.
    """
    return _Reader(Document(Path(path))).experiment()


class _Reader:
    """Reads one file."""

    def __init__(self, document: Document) -> None:
        self._document, self._table = document, document.table

    def experiment(self) -> Experiment:
        self._document.check_keys(self._table, TOP, Place(""))
        plugins = self._plugins()  # first: the rest may name what they bring
        trainings, methods = read_trainings(self._document), self._methods()
        seeds = self._list("seeds", int)
        if not all(0 <= seed < SEEDS for seed in seeds):
            words = f"be numbers of at least 0 and below {SEEDS}"
            self._document.fail("seeds", words, f"{list(seeds)}")
        name = self._table.get("name", self._document.name.removesuffix(".toml"))
        if not isinstance(name, str):
            self._document.fail("name", "be a text", repr(name))
        statistics = self._statistics()
        for number, grid in enumerate(methods):
            self._check_combination(grid.method, statistics, trainings, number)
        return Experiment(
            name=name,
            datasets=self._choices("datasets", dataset_names()),
            statistics=statistics,
            seeds=seeds,
            traits=self._choices("traits", TRAITS, ("all",)),
            trainings=trainings,
            methods=methods,
            plugins=plugins,
        )

    def _plugins(self) -> tuple[Plugin, ...]:
        if "plugins" not in self._table:
            return ()
        found = []
        for name in self._list("plugins", str):
            try:
                plugin = read_plugin(self._document.folder / name)
                import_plugins([plugin])
            except PluginError as error:
                at = self._document.at("plugins", Place(""), name)
                raise ConfigError(f"{at}: {error}") from error
            found.append(plugin)
        return tuple(found)

    def _statistics(self) -> tuple[str, ...]:
        names = []
        for name in self._list("statistics", str):
            for part in name.split("+"):
                known = statistic_names()
                self._document.check_known(part.strip(), known, "statistics", Place(""))
            try:
                names.append(name_of(get_statistic(name)))
            except FairretError as error:
                at = self._document.at("statistics", Place(""), name)
                raise ConfigError(f"{at}: {error}") from error
        return tuple(dict.fromkeys(names))

    def _methods(self) -> tuple[MethodGrid, ...]:
        given = self._table.get("method")
        if not isinstance(given, list) or not given:
            wanted = "be given at least once, as `[[method]]`"
            self._document.fail(
                "method", wanted, "none" if given is None else repr(given)
            )
        return tuple(self._method(one, k) for k, one in enumerate(given))

    def _method(self, given: object, number: int) -> MethodGrid:
        place = Place("method", number)
        if not isinstance(given, dict):
            self._document.fail("method", "be tables, as `[[method]]`", repr(given))
        name = given.get("name")
        if not isinstance(name, str):
            self._document.fail("name", "name the method", repr(name), place)
        self._document.check_known(name, tuple(METHODS), "name", place)
        method = METHODS[name]
        self._document.check_keys(given, ("name", "strengths", *method.options), place)
        options = {}
        for key, allowed in method.options.items():
            values = _as_list(given.get(key, allowed.default))
            if not values or not all(map(allowed.accepts, values)):
                self._document.fail(key, allowed.words, repr(given.get(key)), place)
            kind = type(allowed.default)  # so that 1 and 1.0 have the same key
            options[key] = tuple(dict.fromkeys(map(kind, values)))
        return MethodGrid(method, self._strengths(given, method, place), options)

    def _check_combination(
        self,
        method: Method,
        statistics: Sequence[str],
        trainings: Sequence[TrainingSettings],
        number: int,
    ) -> None:
        """Refuse what a method would leave out in silence."""
        able = method.statistics
        if able is not None and not set(able) & set(statistics):
            self._document.fail(
                "statistics",
                f"have one that {method.name} can be trained for: {', '.join(able)}",
                ", ".join(statistics),
                advice="Add one, or leave the method out.",
            )
        usual = TrainingSettings()
        for key in method.ignores:
            for settings in trainings:
                if getattr(settings, key) != getattr(usual, key):
                    self._document.fail(
                        "name",
                        f"be of a method that knows `{key}`",
                        f"{method.name!r}, which trains in its own way, with `{key}` "
                        f"of `[training]` at {getattr(settings, key)!r}",
                        Place("method", number),
                        f"Leave `{key}` out, or have a file for each.",
                    )

    def _strengths(
        self, given: Mapping[str, Any], method: Method, place: Place
    ) -> tuple[float, ...]:
        values = _as_list(given.get("strengths", [0.0] if method.plain else None))
        if not values or not all(map(_is_strength, values)):
            wanted = "be finite numbers of at least 0"
            self._document.fail(
                "strengths", wanted, repr(given.get("strengths")), place
            )
        if method.plain and any(values):
            wanted = f"be left out: {method.name} has no fairness term"
            self._document.fail("strengths", wanted, repr(given["strengths"]), place)
        return tuple(dict.fromkeys(map(float, values)))

    def _choices(
        self, key: str, known: Sequence[str], default: tuple[str, ...] | None = None
    ) -> tuple[str, ...]:
        if default is not None and key not in self._table:
            return default
        names = self._list(key, str)
        for name in names:
            self._document.check_known(name, known, key, Place(""))
        return names

    def _list(self, key: str, kind: type) -> tuple[Any, ...]:
        values = _as_list(self._table.get(key))
        if not values or not all(type(value) is kind for value in values):
            wanted = f"be a list of at least one {kind.__name__}"
            self._document.fail(key, wanted, repr(self._table.get(key)))
        return tuple(dict.fromkeys(values))


def _is_strength(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < math.inf


def _as_list(value: object) -> list[Any] | None:
    if value is None:
        return None
    return value if isinstance(value, list) else [value]
