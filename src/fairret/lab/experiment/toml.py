"""A TOML file that can point at the line of what it says."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from fairret.errors import FairretError, did_you_mean, missing_extra

HEADER = re.compile(r"\s*\[{1,2}\s*([\w-]+)\s*\]{1,2}\s*(?:#.*)?")


class ConfigError(FairretError, ValueError):
    """An experiment's file does not say what can be run."""


class Place(NamedTuple):
    """A table of a file; "" is the top."""

    table: str
    number: int = 0  # of those with the same name


TOP = Place("")


class Document:
    """The values of a file, and its text, to point at lines.

    Args:
        path: The file.

    Raises:
        ConfigError: If it cannot be read, or is not TOML.
    """

    def __init__(self, path: Path) -> None:
        self.name, self.folder = path.name, path.parent
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"`file` must be a TOML file; {path} cannot be read "
                f"({error.strerror}). Check the path."
            ) from error
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"`file` must be TOML, which is UTF-8; {self.name} is not ({error}). "
                "Save it as UTF-8."
            ) from error
        self.table = _parse(self.name, text)
        self._lines = [line.split("#")[0] for line in text.splitlines()]
        self._places = _places(self._lines)

    def at(self, key: str, place: Place, value: str | None = None) -> str:
        """Name the line of a key, or of a value of it; else that of its table."""
        everywhere = range(len(self._lines))  # where the table is written in one line
        own = self._places.get(place, everywhere)
        pattern = re.compile(rf"""(?<![\w-])["']?{re.escape(key)}["']?\s*[=.\]]""")
        found = [k for k in own if pattern.search(self._lines[k])]
        if not found and not place.table:  # as in `[[methods]]`, a table of that name
            own = self._places.get(Place(key), range(0))
            return self._named(own.start if own else None)
        if not found:
            return self._named(own.start if place.table in self.table else None)
        if value is not None:
            word = re.compile(rf"(?<![\w-]){re.escape(value)}(?![\w-])")
            later = range(found[0], own.stop)
            found = [k for k in later if word.search(self._lines[k])] or found
        return self._named(found[0])

    def check_keys(
        self, given: Mapping[str, Any], known: Iterable[str], place: Place
    ) -> None:
        """Refuse unknown keys."""
        for key in given:
            if key not in known:
                path = f"{place.table}.{key}" if place.table else key
                raise ConfigError(
                    f"{self.at(key, place)}: unknown key `{path}`."
                    f"{did_you_mean(key, known)} Valid keys: {', '.join(known)}."
                )

    def check_known(
        self, name: str, known: Sequence[str], key: str, place: Place
    ) -> None:
        """Refuse an unknown name."""
        if name not in known:
            raise ConfigError(
                f"{self.at(key, place, name)}: `{key}` must be a known name; got "
                f"{name!r}.{did_you_mean(name, known)} Valid names: "
                f"{', '.join(known)}."
            )

    def fail(
        self,
        key: str,
        required: str,
        got: str,
        place: Place = TOP,
        advice: str = "Correct it.",
    ) -> NoReturn:
        """Say what a key must be, what it is, and where."""
        at = self.at(key, place)
        raise ConfigError(f"{at}: `{key}` must {required}; got {got}. {advice}")

    @contextmanager
    def located(self, key: str, value: str) -> Iterator[None]:
        """Add the line of a value to an error that it causes."""
        try:
            yield
        except FairretError as error:
            raise ConfigError(f"{self.at(key, TOP, value)}: {error}") from error

    def _named(self, line: int | None) -> str:
        return self.name if line is None else f"{self.name}, line {line + 1}"


def _parse(name: str, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:  # Python 3.10 has no reader of its own
        try:
            import tomli as tomllib
        except ImportError:
            raise missing_extra("Reading TOML needs", "tomli", "experiment") from None
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError as error:  # also a number with thousands of digits
        raise ConfigError(
            f"`file` must be TOML; {name} is not ({error}). Correct that line."
        ) from error
    return table


def _places(lines: list[str]) -> dict[Place, range]:
    """Find the lines of every table."""
    heads = [(TOP, 0)]
    seen: Counter[str] = Counter()
    for number, line in enumerate(lines):
        if header := HEADER.fullmatch(line):
            heads.append((Place(header[1], seen[header[1]]), number))
            seen[header[1]] += 1
    ends = [begin for _, begin in heads[1:]] + [len(lines)]
    return {
        place: range(begin, end)
        for (place, begin), end in zip(heads, ends, strict=True)
    }
