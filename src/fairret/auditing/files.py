"""Tables in files, CSV and Parquet, and how the kind of a table is recognised."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import tempfile
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import torch

from fairret.auditing import source
from fairret.auditing.rows import NotNumbersError
from fairret.auditing.source import (
    Chunk,
    FileSource,
    Source,
    TableSource,
    Tick,
    readable,
)
from fairret.errors import (
    ArgumentError,
    DataFileError,
    DtypeError,
    did_you_mean,
)
from fairret.sensitive.coded import from_arrow

BLOCK = 1 << 21  # bytes that are parsed at a time
HEAD = 1 << 16  # bytes that are read first, to find the header line
LONGEST_HEAD = 1 << 26
DELIMITERS = ",;\t|"
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
SHORT_FLOATS = {"halffloat": torch.float16, "float": torch.float32}
# UTF-32 first: its mark begins with that of UTF-16
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def open_sources(
    data: object, delimiter: str | None, encoding: str | None = None
) -> tuple[Source, ...]:
    """Open one table, or two that hold the predictions of two models."""
    if isinstance(data, list | tuple) and data and all(map(_is_data, data)):
        if len(data) > 2:
            raise ArgumentError(
                "An audit takes one table, or two to compare two models; got "
                f"{len(data)}. Audit two at a time."
            )
        if len(data) == 1:
            return (open_source(data[0], delimiter, encoding),)
        sources = tuple(open_source(table, delimiter, encoding) for table in data)
        alike = sources[0].description == sources[1].description
        for k, opened in enumerate(sources):
            if isinstance(opened, TableSource):
                opened.description = f"`data[{k}]`"
            elif alike:
                opened.description = str(data[k])
        return sources
    return (open_source(data, delimiter, encoding),)


def _is_data(data: object) -> bool:
    return isinstance(data, str | Path | Mapping) or hasattr(data, "columns")


def open_source(
    data: object, delimiter: str | None, encoding: str | None = None
) -> Source:
    """Recognise the kind of a table.

    Raises:
        DataFileError: If a file is missing, empty or not a table.
        DtypeError: If the data are neither a table nor the path of one.
        MissingExtraError: If a file needs a package that is not installed.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        if not path.is_file():
            beside = path.parent.iterdir() if path.parent.is_dir() else ()
            names = [entry.name for entry in beside]
            hint = did_you_mean(path.name, names) or " Check the path."
            raise DataFileError(
                f"`data` must be the path of a CSV or Parquet file; got {str(data)!r}, "
                f"which is not a file.{hint}"
            )
        if path.stat().st_size == 0:
            raise DataFileError(
                f"`data` must hold a table; {path.name} is empty. Check how it was "
                "written."
            )
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == b"PAR1":
            return ParquetSource(path)
        return CsvSource(path, delimiter, encoding)
    if _is_data(data):
        return TableSource(data)
    raise DtypeError(
        "`data` must be a data frame, a mapping from names to arrays, or the path of a "
        f"CSV or Parquet file; got {type(data).__name__}. Convert it to a data frame."
    )


class ParquetSource(FileSource):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        from pyarrow import parquet

        with readable(path):
            self._schema = parquet.read_schema(path)
        self.names = tuple(self._schema.names)
        written = (self._schema.pandas_metadata or {}).get("columns", ())
        self._categorical = {
            column["name"]
            for column in written
            if column["pandas_type"] == "categorical"
        }

    def precision(self, column: str) -> torch.dtype:
        """Return the dtype in the schema of the file."""
        kind = str(self._schema.field(column).type)
        return SHORT_FLOATS.get(kind, torch.float64)

    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Generator[Chunk]:
        """Read one row group after the other."""
        from pyarrow import parquet

        done = 0
        with readable(self.path), parquet.ParquetFile(self.path) as file:
            rows = max(1, file.metadata.num_rows)
            for batch in file.iter_batches(source.ROWS, columns=list(columns)):
                done += batch.num_rows
                yield {
                    name: from_arrow(
                        name,
                        batch.column(name),
                        typed=True,
                        declared=name in self._categorical,
                    )
                    for name in columns
                }
                tick(done / rows)


class CsvSource(FileSource):
    """A text file with a header line, compressed or not."""

    def __init__(
        self, path: Path, delimiter: str | None, encoding: str | None = None
    ) -> None:
        super().__init__(path)
        if delimiter is not None and not re.fullmatch(
            r'[^"\r\n\x80-\U0010ffff]', delimiter
        ):
            raise ArgumentError(
                f"`delimiter` must be a single ASCII character, no quote or line end; "
                f"got {delimiter!r}. Omit it to detect it."
            )
        given = _known_encoding(encoding)
        self._text = path  # the file in UTF-8
        with readable(path):
            with self.open() as (file, _):
                mark = bytes(file.read(4))
            found = [name for bom, name in MARKS.items() if mark.startswith(bom)]
            for name in (given or found)[:1]:
                with self.open() as (file, _):
                    self._text = _as_utf8(file, name, self)
            with self.open() as (file, _):
                head = _head(file)
        first = re.split(r"[\r\n]", _unquoted(head), maxsplit=1)[0]
        likely = max(DELIMITERS, key=first.count)
        self.delimiter = delimiter or likely
        lines = csv.reader(io.StringIO(head, newline=""), delimiter=self.delimiter)
        with _long_fields(len(head)):
            self.names = tuple(next(lines, []))
        if len(self.names) == 1 and likely != self.delimiter and likely in first:
            self.header_hint = (
                f" The header looks separated by {likely!r}: omit `delimiter` "
                "(`--delimiter`)."
            )
        header = len("".join(self.names).encode()) + 3 * len(self.names)
        self._block = max(BLOCK, 2 * header)  # pyarrow needs it in one block

    def precision(self, column: str) -> torch.dtype:
        """Return float64: text has no dtype."""
        return torch.float64

    @contextmanager
    def open(self) -> Iterator[tuple[Any, Any]]:
        """Open the text, and the file on disk below it.

        The file belongs to pyarrow, whose readers read ahead in a thread: a Python
        object there aborts the process if the interpreter is about to exit.
        """
        import pyarrow as pa

        with ExitStack() as stack:
            raw = file = stack.enter_context(pa.OSFile(str(self._text)))
            kind = COMPRESSED.get(self._text.suffix.lower())
            if kind:
                file = stack.enter_context(pa.CompressedInputStream(raw, kind))
            yield file, raw

    def chunks(
        self, columns: Sequence[str], numbers: Sequence[str], tick: Tick
    ) -> Generator[Chunk]:
        """Parse the file block by block."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        text = pa.dictionary(pa.int32(), pa.string())
        types = {name: pa.float64() if name in numbers else text for name in columns}
        size, done = self._text.stat().st_size, 0
        with readable(self.path), self._numbers_only(), self.open() as (file, raw):
            stream = arrow_csv.open_csv(
                file,
                read_options=arrow_csv.ReadOptions(
                    block_size=self._block, use_threads=False
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=columns,
                    column_types=types,
                    null_values=self.no_number,
                    strings_can_be_null=False,  # NA may be a country
                ),
            )
            with closing(stream):
                for batch in stream:
                    yield {
                        name: from_arrow(name, column, typed=False)
                        for name, column in zip(columns, batch.columns, strict=True)
                    }
                    done += self._block
                    if file is not raw:  # compressed: what has been read, not parsed
                        done = size if raw.closed else raw.tell()
                    tick(min(1.0, done / size))

    @contextmanager
    def _numbers_only(self) -> Iterator[None]:
        """Name the column that holds text instead of numbers."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            found = re.search(r"column #(\d+): (.*) error to double: (.*)", str(error))
            if found is None:
                raise
            column = self.names[int(found[1])]
            raise NotNumbersError(
                f"Column {column!r} of {self.description} must hold "
                f"numbers; got another value ({found[2]} error: {found[3]}). Correct "
                "it, name another column, or declare the word as a missing value with "
                "`missing` (`--missing`).",
                column,
            ) from error


def _known_encoding(encoding: str | None) -> list[str]:
    """Return the encoding if it is not UTF-8, which is read as it is.

    Raises:
        ArgumentError: If it is unknown.
    """
    try:
        name = codecs.lookup(encoding or "utf-8").name
    except LookupError:
        raise ArgumentError(
            f"`encoding` must be the name of an encoding; got {encoding!r}. For "
            "example, pass 'latin-1' or 'utf-16'."
        ) from None
    return [] if name in ("utf-8", "utf-8-sig") else [name]


def _as_utf8(file: Any, encoding: str, owner: object) -> Path:
    """Copy text to a UTF-8 file, which is deleted together with its owner."""
    handle, name = tempfile.mkstemp(suffix=".csv")
    weakref.finalize(owner, os.unlink, name)
    decoder = codecs.getincrementaldecoder(encoding)()
    with open(handle, "wb") as copy:
        while block := bytes(file.read(BLOCK)):
            copy.write(decoder.decode(block).encode())
        copy.write(decoder.decode(b"", final=True).encode())
    return Path(name)


def _head(file: Any) -> str:
    """Read the first bytes of a file, at least the header line."""
    head, size = b"", HEAD
    while (block := bytes(file.read(size))) and len(head) < LONGEST_HEAD:
        head += block
        text = head.decode("utf-8-sig", "replace").lstrip("\r\n")
        if re.search(r"[\r\n]", _unquoted(text)):
            return text
        size = len(head)
    return head.decode("utf-8-sig", "replace").lstrip("\r\n")


def _unquoted(text: str) -> str:
    return re.sub(r'"[^"]*"', "", text)


@contextmanager
def _long_fields(size: int) -> Iterator[None]:
    """Allow header fields of any length, beyond the limit of the csv module."""
    before = csv.field_size_limit(max(size, 1) + csv.field_size_limit())
    try:
        yield
    finally:
        csv.field_size_limit(before)
