"""From the values of cells to groups: categories, bins of amounts, intersections."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from fairret.auditing.amounts import Profile
from fairret.auditing.cells import CellTable
from fairret.errors import ArgumentError, RangeError
from fairret.sensitive import (
    Binned,
    Categorical,
    Continuous,
    Intersection,
    SensitiveEncoder,
    Soft,
)
from fairret.sensitive.coded import Coded, Numbers, Values, listing, sort_values
from fairret.sensitive.column import ColumnName
from fairret.sensitive.resolve import TraitLike, column_names, resolve
from fairret.sensitive.trait import Trait

NUMERAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")


class Groups(NamedTuple):
    """The groups, and which of them each cell is in."""

    names: tuple[str, ...]
    traits: dict[str, tuple[int, ...]]
    s: Tensor  # (cells, d_s)
    missing: dict[str, int]  # rows without a value, by trait
    dropped: dict[str, float]  # intersections that are too small, with their size


def text_names(listed: Sequence[TraitLike]) -> tuple[str, ...]:
    """List the columns that traits read, as text."""
    return tuple(dict.fromkeys(map(str, column_names(listed))))


def exact_columns(listed: Sequence[TraitLike]) -> frozenset[str]:
    """List the columns whose numbers are used as they are."""
    own = [part for part in _parts(listed) if isinstance(part, Continuous | Soft)]
    return frozenset(text_names(own))


def guessed_columns(listed: Sequence[TraitLike]) -> frozenset[str]:
    """List the columns whose kind depends on their values."""
    own = [part for part in _parts(listed) if isinstance(part, str | int)]
    return frozenset(text_names(own)) - exact_columns(listed)


def all_cuts(
    listed: Sequence[TraitLike], bins: Mapping[str, Sequence[float]]
) -> dict[str, list[float]]:
    """Collect the edges of the columns that are needed in bins only."""
    edges: dict[str, set[float]] = {}
    whole: set[str] = set()
    for part in _parts(listed):
        if isinstance(part, Binned):
            edges.setdefault(str(part.column), set()).update(part.edges)
        elif isinstance(part, str | int) and str(part) in bins:
            edges.setdefault(str(part), set()).update(bins[str(part)])
        else:
            whole.update(text_names([part]))
    return {name: sorted(own) for name, own in edges.items() if name not in whole}


def _parts(listed: Sequence[TraitLike]) -> list[ColumnName | Trait]:
    return [
        part
        for trait in listed
        for part in (trait.traits if isinstance(trait, Intersection) else (trait,))
    ]


def find_groups(
    table: CellTable, listed: Sequence[TraitLike], min_size: float
) -> Groups:
    """Assign the cells to groups.

    Args:
        table: The cells.
        listed: The traits as the user named them.
        min_size: Rows that an intersection needs if there are too many to show all.

    Raises:
        ArgumentError: If an amount is crossed that is not cut in bins.
        RangeError: If a column has no values, or too many.
    """
    rows = table.sums.rows
    raw = {name: table.column(j) for j, name in enumerate(table.columns.traits, 1)}
    raw |= {name: _by_value(raw[name]) for name in table.columns.guessed}
    missing = {}
    for name, column in raw.items():
        missing[name] = int(rows[column.codes < 0].sum())
        if missing[name] == rows.sum():
            raise RangeError(
                f"`sensitive` must name columns with values; {name!r} has none in any "
                f"of the {missing[name]} rows. Remove it."
            )
    traits = resolve(
        listed, lambda name: _choose(str(name), raw[str(name)], rows, table)
    )
    _check_crossed(traits)
    numeric = set(text_names([x for x in _parts(traits) if _is_numeric(x)]))
    data: dict[str, Values] = {
        name: _as_amounts(name, column) if name in numeric else column
        for name, column in raw.items()
    }
    limit = table.layout.max_categories
    try:
        encoder, s = _encode(traits, data, rows, limit)
    except RangeError:  # perhaps because of many small combinations
        larger = [_only_large(trait, min_size) for trait in traits]
        encoder, s = _encode(larger, data, rows, limit)
    return Groups(encoder.names, encoder.traits, s, missing, encoder.dropped)


def _by_value(column: Coded) -> Coded:
    """Merge the numerals 1, 1.0 and 1.00 of a CSV file, if all values are numbers.

    Numerals such as 01 are codes, and stay as they are.
    """
    values = column.categories
    plain = all(isinstance(v, str) and NUMERAL.fullmatch(v) for v in values)
    if column.nominal or not plain:
        return column
    merged: dict[Hashable, int] = {}
    codes = [merged.setdefault(_shortest(str(v)), len(merged)) for v in values]
    return Coded(np.array([*codes, -1], dtype=np.intp)[column.codes], tuple(merged))


def _shortest(numeral: str) -> str:
    return numeral.rstrip("0").rstrip(".") if "." in numeral else numeral


def _encode(
    traits: Sequence[Trait | Intersection],
    data: Mapping[str, Values],
    rows: Numbers,
    max_categories: int,
) -> tuple[SensitiveEncoder, Tensor]:
    encoder = SensitiveEncoder(traits, unseen="none", max_categories=max_categories)
    return encoder, encoder.fit_transform(data, count=rows.tolist())


def _only_large(trait: Trait | Intersection, min_size: float) -> Trait | Intersection:
    if not isinstance(trait, Intersection):
        return trait
    return Intersection(*trait.traits, min_size=max(min_size, trait.min_size))


def _choose(name: str, column: Coded, rows: Numbers, table: CellTable) -> Trait:
    """Cut an amount in bins of about equal size; treat all else as categories."""
    if name in table.columns.bins:
        return Binned(name, table.columns.bins[name])
    if column.parsed is not None and not column.nominal:
        size = len(column.categories) + 1
        count = np.bincount(column.codes + 1, rows, size)[1:].astype(np.float64)
        edges = Profile(name, column.parsed, count).edges()
        if edges is not None:  # its numbers are those of a continuous trait, too
            return Binned(name, edges)
    values = column.categories
    return Categorical(
        name, categories=values if column.ordered else sort_values(values)
    )


def _check_crossed(traits: Sequence[Trait | Intersection]) -> None:
    for trait in traits:
        for part in trait.parts if isinstance(trait, Intersection) else ():
            if isinstance(part, Continuous):
                raise ArgumentError(
                    f"An intersection of an audit must be of groups; got {part}. Cut "
                    "the amount with `Binned`."
                )


def _is_numeric(trait: ColumnName | Trait) -> bool:
    """Tell whether a trait reads its columns as numbers."""
    return not isinstance(trait, Categorical)


def _as_amounts(name: str, column: Coded) -> Numbers:
    x = column.numbers()
    if x is None:
        raise RangeError(
            f"`sensitive` must name a column of numbers to be cut in bins; {name!r} "
            f"has {listing(column.not_numbers(), 3)}. Correct them, or omit the bins."
        )
    return x
