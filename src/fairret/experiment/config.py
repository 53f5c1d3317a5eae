"""A TOML file that names datasets × methods × strengths × statistics × seeds."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fairret.dataset import dataset_names
from fairret.errors import FairretError
from fairret.experiment.methods import METHODS, Method
from fairret.statistic import get_statistic, statistic_names
from fairret.training import TrainingSettings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # Python 3.10 has no reader of its own

TOP = ("name", "datasets", "statistics", "seeds", "traits", "training", "method")
TRAITS = ("all", "single")


class ConfigError(FairretError, ValueError):
    """An experiment's file does not say what can be run."""


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
    training: TrainingSettings
    methods: tuple[MethodGrid, ...]


def read_experiment(path: Path) -> Experiment:
    """Read a file, and check all of it before anything is trained.

    Raises:
        ConfigError: If a key, dataset, method or statistic is unknown, or a value is
            of the wrong type; with the line, and the nearest valid name.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"`file` must be a TOML file; {path} cannot be read ({error.strerror}). "
            "Check the path."
        ) from error
    return _Reader(path.name, text).experiment()


class _Reader:
    """Reads one file; knows its text, to point at lines."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._lines = name, text.splitlines()
        try:
            self._table: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(
                f"`file` must be TOML; {name} is not ({error}). Correct that line."
            ) from error

    def experiment(self) -> Experiment:
        self._check_keys(self._table, TOP, "")
        seeds = self._list("seeds", int)
        if any(seed < 0 for seed in seeds):
            self._fail("seeds", "be numbers of at least 0", f"{list(seeds)}")
        methods = self._table.get("method")
        if not isinstance(methods, list) or not methods:
            self._fail("method", "be given at least once, as `[[method]]`", "none")
        traits = self._choices("traits", TRAITS, ("all",))
        return Experiment(
            name=str(self._table.get("name", self._name.removesuffix(".toml"))),
            datasets=self._choices("datasets", dataset_names()),
            statistics=self._statistics(),
            seeds=seeds,
            traits=traits,
            training=self._training(),
            methods=tuple(map(self._method, methods or ())),
        )

    def _statistics(self) -> tuple[str, ...]:
        names = self._list("statistics", str)
        for name in names:
            for part in name.split("+"):
                self._check_known(part.strip(), statistic_names(), "statistics")
            get_statistic(name)
        return names

    def _training(self) -> TrainingSettings:
        given = self._table.get("training", {})
        known = {field.name: field for field in fields(TrainingSettings)}
        self._check_keys(given, known, "training.")
        usual = TrainingSettings()
        for key, value in given.items():
            kind = type(getattr(usual, key))
            wanted: Any = {tuple: list, float: (int, float)}.get(kind, kind)
            if isinstance(value, bool) or not isinstance(value, wanted):
                self._fail(key, f"be of type {kind.__name__}", repr(value))
        hidden = tuple(given.get("hidden", usual.hidden))
        return TrainingSettings(**{**given, "hidden": hidden})

    def _method(self, given: Mapping[str, Any]) -> MethodGrid:
        name = given.get("name")
        if not isinstance(name, str):
            self._fail("name", "name the method", repr(name))
        self._check_known(str(name), tuple(METHODS), "name")
        method = METHODS[str(name)]
        self._check_keys(given, ("name", "strengths", *method.options), "method.")
        strengths = _as_list(given.get("strengths", [0.0] if method.plain else None))
        numbers = [isinstance(x, int | float) and x >= 0 for x in strengths or ()]
        if not numbers or not all(numbers):
            self._fail("strengths", "be numbers of at least 0", repr(strengths))
        options = {}
        for key, allowed in method.options.items():
            values = _as_list(given.get(key, allowed.default))
            assert values is not None  # a default is not None
            if not all(map(allowed.accepts, values)):
                self._fail(key, allowed.words, repr(given.get(key)))
            options[key] = tuple(values)
        return MethodGrid(method, tuple(map(float, strengths or ())), options)

    def _choices(
        self, key: str, known: Sequence[str], default: tuple[str, ...] | None = None
    ) -> tuple[str, ...]:
        if default is not None and key not in self._table:
            return default
        names = self._list(key, str)
        for name in names:
            self._check_known(name, known, key)
        return names

    def _list(self, key: str, kind: type) -> tuple[Any, ...]:
        values = _as_list(self._table.get(key))
        if not values or not all(type(value) is kind for value in values):
            wanted = f"be a list of at least one {kind.__name__}"
            self._fail(key, wanted, repr(self._table.get(key)))
        return tuple(dict.fromkeys(values or ()))

    def _check_keys(
        self,
        given: Mapping[str, Any],
        known: Iterable[str],
        of: str,
    ) -> None:
        for key in given:
            if key not in known:
                raise ConfigError(
                    f"{self._at(key)}: `{of}{key}` must be a known key; it is not."
                    f"{_nearest(key, known)} Known are {', '.join(known)}."
                )

    def _check_known(self, name: str, known: Sequence[str], key: str) -> None:
        if name not in known:
            raise ConfigError(
                f"{self._at(name)}: `{key}` must name what there is; got {name!r}."
                f"{_nearest(name, known)} Known are {', '.join(known)}."
            )

    def _fail(self, key: str, required: str, got: str) -> None:
        raise ConfigError(
            f"{self._at(key)}: `{key}` must {required}; got {got}. Correct it."
        )

    def _at(self, word: str) -> str:
        """Point at the first line that has a word."""
        pattern = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-])")
        for number, line in enumerate(self._lines, start=1):
            if pattern.search(line.split("#")[0]):
                return f"{self._name}, line {number}"
        return self._name


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word.lower(), {x.lower(): x for x in known}, n=1)
    found = [x for x in known if near and x.lower() == near[0]]
    return f" Did you mean {found[0]!r}?" if found else ""


def _as_list(value: object) -> list[Any] | None:
    if value is None:
        return None
    return value if isinstance(value, list) else [value]
