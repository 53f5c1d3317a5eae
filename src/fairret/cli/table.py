"""A table of people as features, labels and sensitive traits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairret.auditing.files import CsvSource, open_source
from fairret.auditing.rows import NO, YES
from fairret.auditing.source import readable
from fairret.cli.cells import TEXT, is_number, settle
from fairret.cli.columns import (
    check_numbers,
    describe_columns,
    describe_gaps,
    describe_traits,
)
from fairret.errors import (
    ArgumentError,
    DataFileError,
    NameNotFoundError,
    did_you_mean,
    missing_extra,
)
from fairret.sensitive.coded import listing, plain_text


class CsvFormat(NamedTuple):
    """How a CSV file is written."""

    delimiter: str | None = None  # detected in the header line
    encoding: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] = ()  # words that mean a missing value


@dataclass(frozen=True)
class Rows:
    """What a classifier is fitted on."""

    X: Any
    y: Any
    traits: Any
    weight: Any
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A file in memory."""

    path: Path
    frame: Any  # of pandas
    decimal: str = "."

    def check(self, columns: Sequence[str], option: str) -> None:
        """Require that columns exist.

        Raises:
            NameNotFoundError: If one does not.
        """
        known = list(self.frame.columns)
        for column in columns:
            if column not in known:
                raise NameNotFoundError(
                    f"`{option}` names the column {column!r}, which {self.path.name} "
                    f"does not have. Its columns are {listing(known)}."
                    f"{did_you_mean(column, known)}"
                )

    def check_model(self, columns: Sequence[str]) -> None:
        """Require all columns that a model needs.

        Raises:
            NameNotFoundError: If one does not exist.
        """
        missing = [column for column in columns if column not in self.frame.columns]
        if missing:
            raise NameNotFoundError(
                f"The model needs columns that {self.path.name} does not have: "
                f"{listing(missing)}."
            )

    def split(
        self,
        label: str,
        sensitive: Sequence[str],
        *,
        weight: str | None,
        drop: Sequence[str],
        cuts: Sequence[str] = (),
        codes: Sequence[str] = (),
    ) -> Rows:
        """Cut features, labels and traits; rows without a label are left out.

        Args:
            label: Column of labels.
            sensitive: Columns of traits.
            weight: Column of weights.
            drop: Columns that are left out.
            cuts: Traits that are cut in bins.
            codes: Columns of codes, which are no numbers.
        """
        self.check([label], "--label")
        self.check(sensitive, "--sensitive")
        self.check([weight] if weight else [], "--weight")
        self.check(drop, "--drop")
        if label in sensitive:
            raise ArgumentError(
                f"`--label` and `--sensitive` must be different columns; got {label!r} "
                "for both."
            )
        used = [c for c in self.frame.columns if c not in {label, *drop, *codes}]
        check_numbers(self.path.name, self.frame[used], self.decimal)
        if weight is not None and not is_number(self.frame[weight]):
            raise ArgumentError(
                f"`--weight` must be a column of numbers; {weight!r} has "
                f"{listing(self.frame[weight].dropna().unique().tolist())}."
            )
        frame, notes = self.frame, []
        known = frame[label].notna()
        if not known.all():
            notes.append(
                f"Note: {int((~known).sum()):,} of {len(frame):,} rows have no label "
                "and are left out."
            )
            frame = frame[known]
        gone = {label, *sensitive, *drop, *([weight] if weight else [])}
        X = frame[[c for c in frame.columns if c not in gone]]
        if not len(X.columns):
            raise ArgumentError(
                f"{self.path.name} must have features besides {', '.join(gone)}."
            )
        notes += describe_columns(X)
        notes += describe_gaps(frame[list(dict.fromkeys(sensitive))])
        notes += describe_traits(frame[[c for c in sensitive if c not in cuts]])
        return Rows(
            X,
            self.labels(label),
            frame[list(sensitive)],
            None if weight is None else frame[weight].to_numpy(),
            tuple(notes),
        )

    def labels(self, label: str) -> Any:
        """Take the labels of the rows that have one, without the .0 of pandas."""
        self.check([label], "--label")
        known = self.frame[label].dropna().infer_objects()  # true and false with gaps
        whole = known.dtype.kind == "f" and (known % 1 == 0).all()
        return known.astype(np.int64) if whole else known

    def label_value(self, label: str, positive: str | None) -> object:
        """Find the label that is a yes: the one that is named, or spelled like one."""
        values = self.labels(label).unique().tolist()
        if positive is None:
            yes = [v for v in values if plain_text(v).lower() in YES]
            no = [v for v in values if plain_text(v).lower() in NO]
            if len(values) == 2 and not (len(yes) == len(no) == 1):
                raise ArgumentError(
                    f"`--positive` must say which label is a yes, because column "
                    f"{label!r} has {listing(values)}. Pass `--positive VALUE`."
                )
            return yes[0] if yes else None
        for value in values:
            if str(value) == positive or _same_number(value, positive):
                return value
        raise ArgumentError(
            f"`--positive` must be one of the labels; got {positive!r} and "
            f"{', '.join(map(repr, map(str, values[:5])))}."
        )


def read_table(
    path: Path, written: CsvFormat, kinds: Mapping[str, str] | None = None
) -> Table:
    """Read a CSV or Parquet file into memory.

    Args:
        path: The file.
        written: How a CSV file is written.
        kinds: Which columns are numbers or text, whatever they look like in this file.

    Raises:
        DataFileError: If the file cannot be read as a table.
        OSError: If the file may not be read.
    """
    if written.decimal not in (".", ","):
        raise ArgumentError(
            f"`--decimal` must be a point or a comma; got {written.decimal!r}."
        )
    kinds = kinds or {}
    text = [name for name, kind in kinds.items() if kind == TEXT]
    typed, frame = _read_frame(
        path,
        written,
        na_values=["", *written.missing],
        keep_default_na=False,
        decimal=written.decimal,
        dtype=dict.fromkeys(text, "str"),
        low_memory=False,
    )
    frame.columns = [str(c) for c in frame.columns]
    for name in frame.columns:
        kind = kinds.get(name)
        if kind is None and typed and not is_number(frame[name]):
            kind = TEXT
        frame[name] = settle(frame[name], kind, written.missing, written.decimal)
    if not len(frame):
        raise DataFileError(f"{path.name} has no rows.")
    return Table(path, frame, written.decimal)


def copy_table(path: Path, written: CsvFormat) -> Any:
    """Read a file again with all cells of a CSV file as they are written."""
    return _read_frame(path, written, dtype=str, na_filter=False)[1]


def _read_frame(path: Path, written: CsvFormat, **options: Any) -> tuple[bool, Any]:
    """Open a file as an audit does, and read it with pandas.

    Returns:
        Whether the file has types, and the frame.
    """
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("this command needs", "pandas", "frames") from None
    source = open_source(path, written.delimiter, written.encoding)
    names = source.names
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:  # pandas would rename them
        raise DataFileError(f"{path.name} has two columns {twice[0]!r}; rename one.")
    try:
        with readable(path):
            if not isinstance(source, CsvSource):
                return True, pd.read_parquet(path)
            with source.open() as (file, _):
                options |= {"sep": source.delimiter, "encoding": "utf-8-sig"}
                return False, pd.read_csv(file, **options)
    except DataFileError:
        raise
    except (ValueError, ImportError) as error:  # of pandas and pyarrow
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataFileError(
            f"{path.name} cannot be read as a table: {reason}."
        ) from None


def _same_number(value: object, text: str) -> bool:
    try:
        return bool(np.isclose(float(text), float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
