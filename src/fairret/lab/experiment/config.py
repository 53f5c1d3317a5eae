"""A TOML file that names datasets × methods × strengths × statistics × seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from fairret.lab.dataset import dataset_names
from fairret.lab.experiment.methods import METHODS, Method, Option, is_amount
from fairret.lab.experiment.toml import TOP, ConfigError, Document, Place
from fairret.lab.plugins import Plugin, import_plugins, read_plugin
from fairret.statistic import get_statistic, statistic_names
from fairret.statistic.registry import get_name
from fairret.training import TrainingSettings

KEYS = (
    *("name", "plugins", "datasets", "statistics", "seeds", "traits"),
    *("training", "method"),
)
Name = TypeVar("Name", str, int)
TRAITS = ("all", "single")
SEEDS = 2**32  # NumPy and scikit-learn accept smaller ones only
PAPER = TrainingSettings()
TRAINING: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "epochs": (lambda x: x >= 1, "be at least 1"),
    "warm_up": (lambda x: x >= 0, "be at least 0"),
    "batch": (lambda x: x >= 1, "be at least 1"),
    "learning_rate": (lambda x: 0 < x < math.inf, "be a positive number"),
    "hidden": (
        lambda x: all(type(width) is int and width >= 1 for width in x),
        "be a list of whole numbers of at least 1",
    ),
    "validation": (lambda x: 0 <= x < 1, "be at least 0 and below 1"),
    "stratified": (lambda x: True, ""),
    "patience": (lambda x: x >= 0, "be at least 0"),
}


def check_setting(name: str, value: object) -> str | None:
    """Say what a training setting must be; None if `value` is that."""
    kind = type(getattr(PAPER, name))
    wanted: Any = {tuple: list, float: (int, float)}.get(kind, kind)
    if isinstance(value, bool) != (kind is bool) or not isinstance(value, wanted):
        return f"be of type {'list' if kind is tuple else kind.__name__}"
    allowed, words = TRAINING[name]
    return None if allowed(value) else words


def make_training(settings: Mapping[str, Any]) -> TrainingSettings:
    """Convert checked settings, so that 1 and 1.0 have the same key."""
    return TrainingSettings(
        **{name: type(getattr(PAPER, name))(x) for name, x in settings.items()}
    )


STRENGTHS = Option(0.0, is_amount, "be finite numbers of at least 0")


@dataclass(frozen=True)
class MethodGrid:
    """A method and the values of its options to try."""

    method: Method
    datasets: tuple[str, ...]
    statistics: tuple[str, ...]  # those that it is trained for; () if for none
    seeds: tuple[int, ...]
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
    try:
        return _Reader(Document(Path(path))).experiment()
    except RecursionError:  # of the parser, or of a message that shows the value
        raise ConfigError(
            f"`file` must not nest values this deep; {Path(path).name} nests them "
            "hundreds of levels deep. Use tables and lists of single values."
        ) from None


class _Reader:
    """Reads one file."""

    def __init__(self, document: Document) -> None:
        self._document, self._table = document, document.table
        self._fail = document.fail

    def experiment(self) -> Experiment:
        self._document.check_keys(self._table, KEYS, TOP)
        plugins = self._plugins()  # first: they may register what the rest names
        datasets = self._names("datasets", dataset_names())
        statistics, trainings = self._statistics(), self._trainings()
        seeds = self._list("seeds", int)
        if not all(0 <= seed < SEEDS for seed in seeds):
            words = f"be numbers of at least 0 and below {SEEDS}"
            self._fail("seeds", words, f"{list(seeds)}")
        methods = self._methods(datasets, statistics, seeds)
        name = self._table.get("name", self._document.name.removesuffix(".toml"))
        if not isinstance(name, str):
            self._fail("name", "be a text", repr(name))
        for number, grid in enumerate(methods):
            self._check_loop(grid.method, trainings, number)
        traits = self._names("traits", TRAITS) if "traits" in self._table else ("all",)
        return Experiment(
            *(name, datasets, statistics, seeds, traits, trainings, methods, plugins)
        )

    def _plugins(self) -> tuple[Plugin, ...]:
        found = []
        for name in self._list("plugins", str) if "plugins" in self._table else ():
            with self._document.located("plugins", name):
                found.append(read_plugin(self._document.folder / name))
                import_plugins(found[-1:])
        return tuple(found)

    def _trainings(self) -> tuple[TrainingSettings, ...]:
        """Read the settings; lists of them are axes of the grid."""
        place = Place("training")
        given = self._table.get("training", {})
        if not isinstance(given, dict):
            self._fail("training", "be a table, as `[training]`", repr(given))
        self._document.check_keys(given, [x.name for x in fields(PAPER)], place)
        axes = {key: self._setting(key, value, place) for key, value in given.items()}
        found = [
            make_training(dict(zip(axes, values, strict=True)))
            for values in product(*axes.values())
        ]
        for one in found:
            if one.epochs <= one.warm_up:
                words = f"be above `warm_up`, {one.warm_up}, or no fairness term counts"
                self._fail("epochs", words, repr(one.epochs), place)
            if one.patience and not one.validation:
                words = "be left out without `validation`, whose rows it waits for"
                self._fail("patience", words, repr(one.patience), place)
        return tuple(dict.fromkeys(found))

    def _setting(self, key: str, given: Any, place: Place) -> list[object]:
        values = _as_list(given)
        if key == "hidden" and not _is_nested(given):
            values = [given]  # one network; a list of lists has several
        for value in values:
            if words := check_setting(key, value):
                self._fail(key, words, repr(value), place)
        if not values:
            self._fail(key, "have at least one value", repr(given), place)
        return values

    def _statistics(self) -> tuple[str, ...]:
        return self._read_statistics(self._list("statistics", str), TOP)

    def _read_statistics(self, given: Sequence[str], place: Place) -> tuple[str, ...]:
        names = []
        for name in given:
            for part in name.split("+"):
                known = statistic_names()
                self._document.check_known(part.strip(), known, "statistics", place)
            with self._document.located("statistics", name):
                names.append(get_name(get_statistic(name)))
        return tuple(dict.fromkeys(names))

    def _methods(
        self,
        datasets: tuple[str, ...],
        statistics: tuple[str, ...],
        seeds: tuple[int, ...],
    ) -> tuple[MethodGrid, ...]:
        given = self._table.get("method")
        if not isinstance(given, list) or not given:
            wanted = "be given at least once, as `[[method]]`"
            self._fail("method", wanted, "none" if given is None else repr(given))
        axes = (datasets, statistics, seeds)
        return tuple(self._method(one, k, *axes) for k, one in enumerate(given))

    def _method(
        self,
        given: object,
        number: int,
        datasets: tuple[str, ...],
        statistics: tuple[str, ...],
        seeds: tuple[int, ...],
    ) -> MethodGrid:
        place = Place("method", number)
        if not isinstance(given, dict):
            self._fail("method", "be tables, as `[[method]]`", repr(given))
        name = given.get("name")
        if not isinstance(name, str):
            self._fail("name", "name the method", repr(name), place)
        self._document.check_known(name, tuple(METHODS), "name", place)
        method = METHODS[name]
        known = ("name", "datasets", "statistics", "seeds", "strengths")
        self._document.check_keys(given, (*known, *method.options), place)
        own = self._own_statistics(method, given, statistics, place)
        where = self._some_of(given, "datasets", datasets, place)
        when = self._some_of(given, "seeds", seeds, place)
        default = 0.0 if method.plain else None
        strengths = self._axis(given, "strengths", STRENGTHS, default, place)
        if method.plain and any(strengths):
            wanted = f"be left out: {method.name} has no fairness term"
            self._fail("strengths", wanted, repr(given["strengths"]), place)
        options = {
            key: self._axis(given, key, option, option.default, place)
            for key, option in method.options.items()
        }
        return MethodGrid(method, where, own, when, strengths, options)

    def _some_of(
        self,
        given: Mapping[str, Any],
        key: str,
        of_file: tuple[Name, ...],
        place: Place,
    ) -> tuple[Name, ...]:
        """Read which datasets, statistics or seeds of the file a method is for."""
        if key not in given:
            return of_file
        values, kind = _as_list(given[key]), type(of_file[0])
        if not values or not all(type(value) is kind for value in values):
            words = {str: "texts", int: "whole numbers"}[kind]
            self._fail(key, f"be a list of {words}", repr(values), place)
        if key == "statistics":
            values = list(self._read_statistics(values, place))
        if not set(values) <= set(of_file):
            words = f"be among those of the file: {', '.join(map(str, of_file))}"
            self._fail(key, words, ", ".join(map(str, values)), place)
        return tuple(dict.fromkeys(values))

    def _own_statistics(
        self,
        method: Method,
        given: Mapping[str, Any],
        of_file: tuple[str, ...],
        place: Place,
    ) -> tuple[str, ...]:
        """Select the statistics of the file that a method is trained for."""
        if not method.for_statistic:
            if "statistics" in given:
                words = f"be left out: {method.name} has no statistic"
                self._fail("statistics", words, repr(given["statistics"]), place)
            return ()
        wanted = self._some_of(given, "statistics", of_file, place)
        supported = method.statistics
        if supported is None or set(supported) & set(wanted):
            return tuple(x for x in wanted if supported is None or x in supported)
        self._fail(
            "statistics",
            f"have one that {method.name} can be trained for: {', '.join(supported)}",
            ", ".join(wanted),
            place if "statistics" in given else TOP,
            "Add one, or leave the method out.",
        )

    def _axis(
        self,
        given: Mapping[str, Any],
        key: str,
        option: Option,
        default: object,
        place: Place,
    ) -> tuple[Any, ...]:
        values = _as_list(given.get(key, default))
        if not values or not all(map(option.accepts, values)):
            self._fail(key, option.words, repr(given.get(key)), place)
        kind = type(option.default)  # so that 1 and 1.0 have the same key
        return tuple(dict.fromkeys(map(kind, values)))

    def _check_loop(
        self, method: Method, trainings: Sequence[TrainingSettings], number: int
    ) -> None:
        """Refuse settings that a method would silently ignore."""
        for key, settings in product(method.ignores, trainings):
            value = getattr(settings, key)
            if value != getattr(PAPER, key):
                self._fail(
                    "name",
                    f"be of a method that knows `{key}`",
                    f"{method.name!r}, which has its own training loop, with `{key}` "
                    f"of `[training]` at {value!r}",
                    Place("method", number),
                    f"Leave `{key}` out, or use two files.",
                )

    def _names(self, key: str, known: Sequence[str]) -> tuple[str, ...]:
        names = self._list(key, str)
        for name in names:
            self._document.check_known(name, known, key, TOP)
        return names

    def _list(self, key: str, kind: type) -> tuple[Any, ...]:
        values = _as_list(self._table.get(key))
        if not values or not all(type(value) is kind for value in values):
            wanted = f"be a list of at least one {kind.__name__}"
            self._fail(key, wanted, repr(self._table.get(key)))
        return tuple(dict.fromkeys(values))


def _is_nested(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(one, list) for one in value)


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
