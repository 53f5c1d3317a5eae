"""A table of people as features, labels and sensitive traits."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairret.auditing.measure import NO, YES
from fairret.errors import (
    ArgumentError,
    DataFileError,
    NameNotFoundError,
    did_you_mean,
    missing_extra,
)
from fairret.sensitive.coded import listing, plain_text

TEXT, NUMBER = "text", "number"
SEPARATORS = ",;\t|"


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
    ) -> Rows:
        """Cut features, labels and traits; rows without a label are left out."""
        self.check([label], "--label")
        self.check(sensitive, "--sensitive")
        self.check([weight] if weight else [], "--weight")
        self.check(drop, "--drop")
        if label in sensitive:
            raise ArgumentError(
                f"`--label` and `--sensitive` must be different columns; got {label!r} "
                "for both."
            )
        if weight is not None and not _is_number(self.frame[weight]):
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
        notes += [
            f"Note: every row has another {c!r}. If it identifies people, pass "
            f"`--drop {c}`."
            for c in X.columns
            if len(X) > 1 and not _is_number(X[c]) and X[c].nunique() == len(X)
        ]
        return Rows(
            X,
            frame[label],
            frame[list(sensitive)],
            None if weight is None else frame[weight].to_numpy(),
            tuple(notes),
        )

    def label_value(self, label: str, positive: str | None) -> object:
        """Find the label that is a yes: the one that is named, or spelled like one."""
        self.check([label], "--label")
        values = self.frame[label].dropna().unique().tolist()
        if positive is None:
            yes = [v for v in values if plain_text(v).lower() in YES]
            no = [v for v in values if plain_text(v).lower() in NO]
            if len(values) == 2 and not (len(yes) == len(no) == 1):
                raise ArgumentError(
                    f"`--positive` must say which label is a yes, because column "
                    f"{label!r} has {listing(values)}. For example, pass "
                    f"`--positive {values[0]}`."
                )
            return yes[0] if yes else None
        for value in values:
            if str(value) == positive or _same_number(value, positive):
                return value
        raise ArgumentError(
            f"`--positive` must be one of the labels; got {positive!r} and "
            f"{', '.join(map(repr, map(str, values[:5])))}."
        )

    def kinds(self, columns: Any) -> dict[str, str]:
        """Tell columns of numbers from columns of text."""
        return {str(c): NUMBER if _is_number(columns[c]) else TEXT for c in columns}


def read_table(
    path: Path,
    delimiter: str | None,
    missing: Sequence[str],
    kinds: Mapping[str, str] | None = None,
) -> Table:
    """Read a CSV or Parquet file into memory.

    Args:
        path: The file.
        delimiter: Of a CSV file; detected in the header line if None.
        missing: Words that mean a missing value.
        kinds: Which columns are text, whatever they look like in this file.

    Raises:
        DataFileError: If the file cannot be read as a table.
        OSError: If the file does not exist or may not be read.
    """
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("this command needs", "pandas", "frames") from None
    with path.open("rb") as file:
        start = file.read(1 << 16)
    text = [c for c, kind in (kinds or {}).items() if kind == TEXT]
    try:
        if start.startswith(b"PAR1"):
            frame = pd.read_parquet(path)
        else:
            header = start.decode("utf-8-sig", "replace").splitlines()[:1]
            _check_header(path, "".join(header), _delimiter(delimiter))
            frame = pd.read_csv(
                path,
                sep=_delimiter(delimiter) or _separator("".join(header)),
                na_values=list(missing),
                dtype=dict.fromkeys(text, "str"),
                encoding="utf-8-sig",
                low_memory=False,
            )
    except UnicodeDecodeError:
        raise DataFileError(
            f"{path.name} is not encoded in UTF-8. Save it as UTF-8 first."
        ) from None
    except (ValueError, ImportError) as error:  # of pandas and pyarrow
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataFileError(
            f"{path.name} cannot be read as a table: {reason}."
        ) from None
    frame.columns = [str(c) for c in frame.columns]
    if not len(frame):
        raise DataFileError(f"{path.name} has no rows.")
    return Table(path, frame)


def _check_header(path: Path, header: str, delimiter: str | None) -> None:
    """Refuse two columns of the same name, which pandas would rename."""
    (names,) = csv.reader([header], delimiter=delimiter or _separator(header))
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise DataFileError(f"{path.name} has two columns {twice[0]!r}; rename one.")


def copy_table(path: Path, delimiter: str | None) -> Any:
    """Read a file again with all cells of a CSV file as they are written."""
    import pandas as pd

    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return pd.read_parquet(path)
        file.seek(0)
        header = file.readline().decode("utf-8-sig", "replace")
    return pd.read_csv(
        path,
        sep=_delimiter(delimiter) or _separator(header),
        dtype=str,
        na_filter=False,
        encoding="utf-8-sig",
    )


def _delimiter(given: str | None) -> str | None:
    if given is not None and given not in ("\\t", "tab") and len(given) != 1:
        raise ArgumentError(
            f"`--delimiter` must be one character, or tab; got {given!r}."
        )
    return {"\\t": "\t", "tab": "\t"}.get(given or "", given)


def _separator(header: str) -> str:
    return max(SEPARATORS, key=header.count)


def _is_number(column: Any) -> bool:
    return column.dtype.kind in "biuf"


def _same_number(value: object, text: str) -> bool:
    try:
        return bool(np.isclose(float(text), float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
