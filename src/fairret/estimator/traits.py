"""Sensitive features of a fit: from columns to memberships with names."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import _safe_indexing

from fairret.errors import (
    ArgumentError,
    DtypeError,
    FairretError,
    RangeError,
    ShapeError,
    did_you_mean,
)
from fairret.estimator.features import Numbers
from fairret.sensitive import Intersection, SensitiveEncoder
from fairret.sensitive.coded import listing
from fairret.sensitive.column import Column, ColumnName
from fairret.sensitive.resolve import TraitLike, column_names
from fairret.sensitive.trait import Trait

Table: TypeAlias = Mapping[ColumnName, Any]
NAME = "sensitive"  # of a trait without one


@dataclass(frozen=True)
class Traits:
    """Encoded traits of the rows that are fitted."""

    encoder: SensitiveEncoder
    sens: Numbers  # (n, d_s); NaN where a trait is missing
    table: dict[ColumnName, Any]  # the columns as given

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups."""
        return self.encoder.names

    @property
    def columns(self) -> dict[str, tuple[int, ...]]:
        """Which groups belong to the same trait."""
        return self.encoder.traits


def listed(sensitive: TraitLike | Iterable[TraitLike] | None) -> list[TraitLike]:
    """List the traits of the option `sensitive`."""
    if sensitive is None:
        return []
    if isinstance(sensitive, str | int | Trait | Intersection):
        return [sensitive]
    return list(sensitive)


def fit_traits(
    sensitive: TraitLike | Iterable[TraitLike] | None, table: Table, n: int
) -> Traits:
    """Learn the groups, and encode them.

    Raises:
        RangeError: If there are no two groups to compare.
        ShapeError: If there are not `n` rows.
    """
    names = column_names(listed(sensitive)) or tuple(table)
    for name in names:
        _check_name(name, table)
        if len(Column(name, table[name])) != n:
            raise ShapeError(
                f"`sensitive_features` must have {n} rows, as many as `X`; got "
                f"{len(Column(name, table[name]))}. Cut both from the same rows."
            )
    encoder = SensitiveEncoder(listed(sensitive) or None, unseen="none", missing="nan")
    own = {name: table[name] for name in names}
    with _own_words():
        sens = encoder.fit_transform(own).double().numpy()
    if not any(np.nanmax(s) > np.nanmin(s) for s in sens.T):
        raise RangeError(
            "`sensitive_features` must have two groups to compare; got one group, "
            f"{listing(encoder.names)}, in all rows."
        )
    return Traits(encoder, sens, own)


def known_traits(encoder: SensitiveEncoder, table: Table, n: int) -> Traits:
    """Encode the rows of another fit with the groups of an earlier one.

    Raises:
        ShapeError: If there are not `n` rows.
    """
    return Traits(encoder, read_traits(encoder, table, n), dict(table))


def read_traits(encoder: SensitiveEncoder, table: Table, n: int) -> Numbers:
    """Encode new rows.

    Raises:
        ShapeError: If there are not `n` rows.
    """
    with _own_words():
        sens = encoder.transform(dict(table)).double().numpy()
    if len(sens) != n:
        raise ShapeError(
            f"`sensitive_features` must have {n} rows, as many as `X`; got {len(sens)}."
        )
    return sens


def warn_of_strangers(
    sensitive: TraitLike | Iterable[TraitLike] | None,
    encoder: SensitiveEncoder,
    sens: Numbers,
    stacklevel: int,
) -> None:
    """Warn of people with a value that the fit did not have, such as another spelling.

    Not where the fit names its categories: other values are then meant to be left out.
    Also warn if nobody has a value.
    """
    chosen = [x for x in listed(sensitive) if getattr(x, "categories", None)]
    for trait, own in encoder.traits.items():
        if len(sens) > 1 and np.isnan(sens[:, own]).all():
            warnings.warn(
                f"None of the {len(sens):,} people has a {trait!r}: all values are "
                "missing.",
                stacklevel=stacklevel + 1,
            )
        count = int((sens[:, own] == 0).all(1).sum())
        if len(own) > 1 and count and trait not in column_names(chosen):
            warnings.warn(
                f"{count:,} of {len(sens):,} people have a {trait!r} that the fit did "
                "not have; the decision is that of people in none of its groups. The "
                f"fit had {listing([encoder.names[k] for k in own])}: write values as "
                "there.",
                stacklevel=stacklevel + 1,
            )


@contextmanager
def _own_words() -> Iterator[None]:
    """Name the arguments of a classifier in errors of the encoder."""
    try:
        yield
    except FairretError as error:
        said = str(error).replace("`data`", "`sensitive_features`")
        raise type(error)(said.replace("`traits`", "`sensitive`")) from None


def check_in_memory(argument: str, data: Any) -> None:
    """Refuse a lazy frame of polars, even to look at its columns.

    Raises:
        DtypeError: If it is lazy.
    """
    if type(data).__name__ == "LazyFrame":
        raise DtypeError(
            f"`{argument}` must be a data frame in memory; got a LazyFrame. Call "
            "`.collect()` first."
        )


def check_frame(argument: str, frame: Any) -> None:
    """Require columns of different names.

    Raises:
        RangeError: If there are none, or two of one name.
    """
    names = list(frame.columns)
    if not names:
        raise RangeError(f"`{argument}` must have at least one column; got none.")
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise RangeError(
            f"`{argument}` must have columns of different names; got {twice[0]!r} "
            "several times. Rename them."
        )


def check_rows(X: Any, sensitive_features: Any) -> None:
    """Require traits of the same people as the features, in the same order.

    Rows are matched by position, as everywhere in scikit-learn. If both have an index
    of pandas with the same labels in another order, the traits would be those of other
    people.

    Raises:
        DtypeError: If names of columns are given instead of columns.
        RangeError: If the order differs.
    """
    data = sensitive_features
    check_in_memory("sensitive_features", data)
    names = [data] if isinstance(data, str) else data
    if isinstance(names, list | tuple) and names and isinstance(names[0], str):
        known = list(getattr(X, "columns", ()))
        few = len(names) <= len(known)
        if isinstance(data, str) or (few and all(name in known for name in names)):
            raise DtypeError(
                "`sensitive_features` must be columns; got the "
                f"name{'s' if len(names) > 1 else ''} {listing(names)}. Pass a data "
                "frame of these columns, or name columns of `X` with the option "
                "`sensitive`."
            )
    if hasattr(data, "columns"):
        check_frame("sensitive_features", data)
    parts = data.values() if isinstance(data, Mapping) else [data]
    if any(_is_reordered(X, part) for part in parts):
        raise RangeError(
            "`sensitive_features` has the index of `X` in another order, and rows are "
            "matched by position. Pass `sensitive_features.loc[X.index]`; or, if the "
            "rows are in the right order, call `reset_index(drop=True)` on both."
        )


def _is_reordered(X: Any, data: Any) -> bool:
    """Whether two frames have the same index of pandas in another order."""
    one: Any = getattr(X, "index", None)
    other: Any = getattr(data, "index", None)
    if not (hasattr(one, "equals") and hasattr(other, "equals")):
        return False
    if one.equals(other) or len(one) != len(other) or not one.is_unique:
        return False
    return bool(other.isin(one).all() and other.is_unique)


def as_table(sensitive_features: Any) -> Table:
    """Read a frame, a mapping, a series or an array as named columns."""
    data = sensitive_features
    if isinstance(data, Mapping):
        return data
    if hasattr(data, "columns"):
        return {name: data[name] for name in data.columns}
    name = getattr(data, "name", None) if hasattr(data, "to_numpy") else None
    if isinstance(name, str) and name:
        return {name: data}
    array = data if hasattr(data, "to_numpy") else np.asarray(data)
    if getattr(array, "ndim", 1) != 2:
        return {NAME: array}
    if array.shape[1] == 1:
        return {NAME: array[:, 0]}
    return {f"{NAME} {j}": array[:, j] for j in range(array.shape[1])}


def find_table(
    X: Any,
    sensitive_features: Any,
    sensitive: TraitLike | Iterable[TraitLike] | None,
    *,
    missing: str,
) -> Table:
    """Find the columns of traits, in `sensitive_features` or in `X`.

    Raises:
        ArgumentError: If they are in neither; `missing` is what it says.
    """
    if sensitive_features is not None:
        check_rows(X, sensitive_features)
        return as_table(sensitive_features)
    if sensitive is None:
        raise ArgumentError(missing)
    return take_columns(X, column_names(listed(sensitive)))


def take_columns(X: Any, columns: Iterable[ColumnName]) -> Table:
    """Take the columns of traits from the features.

    Raises:
        RangeError: If there is no such column.
    """
    if hasattr(X, "columns"):
        return {name: X[X.columns[_place(X, name)]] for name in columns}
    return {name: np.asarray(X)[:, _place(X, name)] for name in columns}


def drop_columns(X: Any, columns: Iterable[ColumnName]) -> Any:
    """Remove the columns of traits from the features."""
    gone = {_place(X, name) for name in columns}
    width = len(X.columns) if hasattr(X, "columns") else X.shape[1]
    kept = [place for place in range(width) if place not in gone]
    if not kept:
        raise RangeError(
            f"`X` must have features besides the {len(gone)} column(s) of traits; got "
            f"{width} feature(s)."
        )
    return _safe_indexing(X, kept, axis=1)


def _place(X: Any, name: ColumnName) -> int:
    """Find the position of a column, given by its name or by its position."""
    known = list(X.columns) if hasattr(X, "columns") else []
    if name in known:
        return known.index(name)
    width = len(known) or (X.shape[1] if getattr(X, "ndim", 1) == 2 else 0)
    if isinstance(name, int) and -width <= name < width:
        return name % width
    if known:
        _check_name(name, known)
    raise RangeError(
        f"`sensitive` must number columns of `X`, from 0 to {width - 1}, because `X` "
        f"is an array; got {name!r}. Pass a data frame to use names, or pass "
        "`sensitive_features` to `fit`."
    )


def _check_name(name: ColumnName, known: Iterable[Hashable]) -> None:
    names = list(known)
    if name not in names:
        raise RangeError(
            f"`sensitive` names the column {name!r}, which does not exist; there are "
            f"{listing(names)}.{did_you_mean(name, names)}"
        )
