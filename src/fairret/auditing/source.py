"""Where the rows come from: a data frame, a CSV file or a Parquet file, in chunks."""

from __future__ import annotations

import csv
import difflib
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from fairret.auditing.column import Values, from_arrow, from_values
from fairret.errors import (
    ArgumentError,
    DataFileError,
    DtypeError,
    MissingExtraError,
    NameNotFoundError,
    RangeError,
)
from fairret.sensitive.columns import listing

Chunk: TypeAlias = dict[str, Values]
Tick: TypeAlias = Callable[[float], object]  # gets the share of the source that is read

ROWS = 1 << 17  # of a chunk
BLOCK = 1 << 21  # bytes of a CSV file that are parsed at a time
HEAD = 1 << 16  # bytes that hold the header line
DELIMITERS = ",;\t|"


class Source(ABC):
    """A table that is read in chunks."""

    description: str
    names: tuple[str, ...]

    @abstractmethod
    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Iterator[Chunk]:
        """Give the rows of these columns, chunk by chunk.

        Args:
            columns: What to read.
            numbers: Which of these hold numbers.
            tick: Is told how much has been read.
        """

    def check_columns(self, wanted: Mapping[str, str]) -> None:
        """Require columns, by the argument that names them.

        Raises:
            NameNotFoundError: If one is missing.
            RangeError: If there are two of that name.
        """
        for column, argument in wanted.items():
            found = self.names.count(column)
            if found > 1:
                raise RangeError(
                    f"`{argument}` must name one column; got {column!r}, which "
                    f"{self.description} has {found} times. Rename them."
                )
            if not found:
                near = difflib.get_close_matches(column, self.names, n=3)
                hint = f"Did you mean {listing(near)}?" if near else "Name one of them."
                raise NameNotFoundError(
                    f"`{argument}` must name a column of {self.description}; got "
                    f"{column!r}, and there are {listing(self.names) or 'none'}. {hint}"
                )


def open_source(data: object, delimiter: str | None = None) -> Source:
    """Recognise what the rows come in.

    Raises:
        DataFileError: If a file is missing, empty or not a table.
        DtypeError: If the data are neither a table nor the path of one.
        MissingExtraError: If a file needs a package that is not installed.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        if not path.is_file():
            near = difflib.get_close_matches(path.name, _names_beside(path), n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "Check the path."
            raise DataFileError(
                f"`data` must be the path of a CSV or Parquet file; got {str(data)!r}, "
                f"which is not a file. {hint}"
            )
        if path.stat().st_size == 0:
            raise DataFileError(
                f"`data` must hold a table; {path.name} is empty. Check how it was "
                "written."
            )
        with path.open("rb") as file:
            magic = file.read(4)
        return ParquetSource(path) if magic == b"PAR1" else CsvSource(path, delimiter)
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        return TableSource(data)
    raise DtypeError(
        "`data` must be a data frame, a mapping from names to arrays, or the path of a "
        f"CSV or Parquet file; got {type(data).__name__}. Make a data frame of it."
    )


def _names_beside(path: Path) -> list[str]:
    folder = path.parent
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


class TableSource(Source):
    """A table in memory."""

    description = "`data`"

    def __init__(self, table: Any) -> None:
        self._table = table
        names = list(table if isinstance(table, Mapping) else table.columns)
        self.names = tuple(map(str, names))
        self._key = dict(zip(self.names, names, strict=True))

    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Iterator[Chunk]:
        """Cut the table in pieces."""
        cells = {
            name: from_values(name, self._table[self._key[name]]) for name in columns
        }
        lengths = {len(column) for column in cells.values()}
        if len(lengths) > 1:
            raise RangeError(
                f"The columns of `data` must have the same length; got {lengths}. Cut "
                "them from the same rows."
            )
        n = max(lengths, default=0)
        for start in range(0, n, ROWS):
            rows = slice(start, start + ROWS)
            yield {name: column[rows] for name, column in cells.items()}
            tick(min(1.0, (start + ROWS) / n))


class _Counted(io.RawIOBase):
    """A file that tells how much of it has been read."""

    def __init__(self, path: Path, tick: Tick) -> None:
        self._file = path.open("rb")
        self._size = path.stat().st_size
        self._tick = tick

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self._tick(min(1.0, self._file.tell() / self._size))
        return block

    def close(self) -> None:
        self._file.close()
        super().close()


class CsvSource(Source):
    """A text file with a header line, compressed or not."""

    def __init__(self, path: Path, delimiter: str | None) -> None:
        _require_pyarrow()
        if delimiter is not None and not re.fullmatch(
            r'[^"\r\n\x80-\U0010ffff]', delimiter
        ):
            raise ArgumentError(
                f"`delimiter` must be a single character of ASCII, no quote or line "
                f"end; got {delimiter!r}. Leave it out to have it found."
            )
        self.description = path.name
        self._path = path
        with _readable(path), self._open(lambda share: None) as file:
            head = bytes(file.read(HEAD)).decode("utf-8-sig", "replace")
        head = head.lstrip("\r\n")  # pyarrow, too, begins where something is
        first = re.split(r"[\r\n]", re.sub(r'"[^"]*"', "", head), maxsplit=1)[0]
        self._delimiter = delimiter or max(DELIMITERS, key=first.count)
        lines = csv.reader(io.StringIO(head, newline=""), delimiter=self._delimiter)
        self.names = tuple(next(lines, []))

    def _open(self, tick: Tick) -> Any:
        import pyarrow as pa

        file = pa.PythonFile(_Counted(self._path, tick), mode="r")
        kinds = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
        kind = kinds.get(self._path.suffix.lower())
        return pa.CompressedInputStream(file, kind) if kind else file

    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Iterator[Chunk]:
        """Parse the file block by block."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        text = pa.dictionary(pa.int32(), pa.string())
        with _readable(self._path), self._numbers_only():
            stream = arrow_csv.open_csv(
                self._open(tick),
                read_options=arrow_csv.ReadOptions(block_size=BLOCK, use_threads=False),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=columns,
                    column_types={
                        name: pa.float64() if name in numbers else text
                        for name in columns
                    },
                    strings_can_be_null=True,
                ),
            )
            for batch in stream:
                yield {
                    name: from_arrow(name, column)
                    for name, column in zip(columns, batch.columns, strict=True)
                }

    @contextmanager
    def _numbers_only(self) -> Iterator[None]:
        """Name the column that holds text where numbers should be."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            found = re.search(r"column #(\d+): (.*) error to double: (.*)", str(error))
            if found is None:
                raise
            raise DtypeError(
                f"Column {self.names[int(found[1])]!r} of {self.description} must hold "
                f"numbers; got one that is none ({found[2]} error: {found[3]}). Write "
                "it anew, or name another column."
            ) from error


class ParquetSource(Source):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        _require_pyarrow()
        from pyarrow import parquet

        self.description = path.name
        self._path = path
        with _readable(path):
            self._file = parquet.ParquetFile(path)
        self.names = tuple(self._file.schema_arrow.names)

    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Iterator[Chunk]:
        """Read the row groups one after the other."""
        rows = self._file.metadata.num_rows
        done = 0
        with _readable(self._path):
            for batch in self._file.iter_batches(ROWS, columns=list(columns)):
                done += batch.num_rows
                yield {name: from_arrow(name, batch.column(name)) for name in columns}
                tick(done / max(1, rows))


def _require_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401 -- only tried
    except ImportError:
        raise MissingExtraError(
            "`data` must be a data frame where pyarrow, which reads files, is not "
            "installed. Run `pip install 'fairret[cli]'`."
        ) from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a broken file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        said = str(error).split("\n")[0].strip().rstrip(".")
        raise DataFileError(
            f"`data` must be a complete CSV (UTF-8, with a header line) or Parquet "
            f"file; {path.name} cannot be read ({said}). Write it anew, or correct it."
        ) from error
