"""A table that is read in chunks, from memory or from a file."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import torch

from fairret.errors import (
    ArgumentError,
    DataFileError,
    NameNotFoundError,
    RangeError,
    did_you_mean,
    missing_extra,
)
from fairret.sensitive.coded import Values, listing
from fairret.sensitive.column import Column
from fairret.sensitive.frame import Frame

Chunk: TypeAlias = dict[str, Values]
Tick: TypeAlias = Callable[[float], object]  # gets the share of the source that is read

ROWS = 1 << 17  # of a chunk


class Source(ABC):
    """A table that is read in chunks."""

    description: str
    names: tuple[str, ...]
    path: Path | None = None  # of a file
    no_number: Sequence[str] = ("",)  # text that may occur in a column of numbers
    header_hint = ""  # why the columns may not be those that were expected

    @abstractmethod
    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Generator[Chunk]:
        """Yield the rows of these columns, chunk by chunk.

        Args:
            columns: What to read.
            numbers: Which of these hold numbers.
            tick: Is called with the share that has been read.
        """

    @abstractmethod
    def precision(self, column: str) -> torch.dtype:
        """Return the dtype of a column's floats; float64 for all else."""

    @property
    def sha256(self) -> str | None:
        """The hash of a file's bytes; None for a table in memory."""
        return None

    def check_columns(self, wanted: Mapping[str, str]) -> None:
        """Require columns, given with the argument that names them.

        Raises:
            ArgumentError: If one is a list of names, joined with commas.
            NameNotFoundError: If one is missing.
            RangeError: If two have that name.
        """
        for column, argument in wanted.items():
            found = self.names.count(column)
            if found > 1:
                raise RangeError(
                    f"`{argument}` must name one column; got {column!r}, which "
                    f"{self.description} has {found} times. Rename them."
                )
            if not found:
                check_commas(argument, column, self.names)
                hint = self.header_hint or did_you_mean(column, self.names, 3)
                hint = hint or " Name one of them."
                raise NameNotFoundError(
                    f"`{argument}` must name a column of {self.description}; got "
                    f"{column!r}, and there are {listing(self.names) or 'none'}.{hint}"
                )


def check_commas(argument: str, given: str, known: Sequence[str]) -> None:
    """Refuse several names in one text, joined with commas.

    Raises:
        ArgumentError: If it is a list of known names.
    """
    pieces = [piece.strip() for piece in given.split(",")]
    words = {word for piece in pieces for word in (piece, *piece.split("+"))}
    if len(pieces) > 1 and {x for x in words if "+" not in x} <= set(known):
        option = argument.removesuffix("s")  # `--notion` is `notions` in Python
        options = " ".join(f"--{option} {piece}" for piece in pieces)
        raise ArgumentError(
            f"`{argument}` must be one name or a list of names; got the text "
            f"{given!r}. On the command line, repeat the option: `{options}`. In "
            f"Python, pass a list: `{argument}={pieces}`."
        )


class TableSource(Source):
    """A table in memory."""

    description = "`data`"

    def __init__(self, table: Any) -> None:
        names = tuple(table if isinstance(table, Mapping) else table.columns)
        self.names = tuple(map(str, names))
        self._key = dict(zip(self.names, names, strict=True))
        self._frame = Frame(names, table)  # it keeps columns, which may be read twice

    def _column(self, name: str) -> Column:
        return self._frame.column(self._key[name])

    def precision(self, column: str) -> torch.dtype:
        """Return the dtype of an array, a series or a tensor."""
        return self._column(column).precision

    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Generator[Chunk]:
        """Cut the table in chunks."""
        cells = {name: self._column(name).values for name in columns}
        n = len(self._frame)
        for start in range(0, n, ROWS):
            rows = slice(start, start + ROWS)
            yield {name: column[rows] for name, column in cells.items()}
            tick(min(1.0, (start + ROWS) / n))


class FileSource(Source):
    """A table in a file."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow  # noqa: F401 -- only tried
        except ImportError:
            raise missing_extra("Reading files needs", "pyarrow", "cli") from None
        self.path: Path = path
        self.description = path.name
        self._stamp = _stamp(path)

    @cached_property
    def sha256(self) -> str:
        """The hash of the file's bytes.

        Raises:
            DataFileError: If the file has changed since it was opened.
        """
        if _stamp(self.path) != self._stamp:
            raise DataFileError(
                f"{self.path.name} has changed since it was read, so its hash is "
                "unknown. Audit it again."
            )
        found = hashlib.sha256()
        with self.path.open("rb") as file:
            while block := file.read(1 << 20):
                found.update(block)
        return found.hexdigest()


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes with the content of a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn an error of pyarrow about a broken file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, OSError, UnicodeError) as error:
        said = str(error).split("\n")[0].strip().rstrip(".")
        advice = "Correct it, or save it again."
        if isinstance(error, UnicodeError) or "UTF8" in said:
            advice = "If it has another encoding, pass it (`--encoding latin-1`)."
        raise DataFileError(
            f"`data` must be a complete CSV (UTF-8, with a header line) or Parquet "
            f"file; {path.name} cannot be read ({said}). {advice}"
        ) from error
