"""From the cells' values to groups: categories, bins of amounts, intersections."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from fairret.auditing.cells import DIGITS, CellTable
from fairret.auditing.column import Coded, Numbers, Values, as_numbers, on_grid
from fairret.errors import ArgumentError, RangeError
from fairret.sensitive import (
    Binned,
    Categorical,
    Continuous,
    Intersection,
    SensitiveEncoder,
    Soft,
)
from fairret.sensitive.resolve import TraitLike
from fairret.sensitive.trait import Trait

FEW = 20  # whole numbers with more distinct values than this are amounts
BINS = 4


class Groups(NamedTuple):
    """The groups, and which of them each cell is in."""

    names: tuple[str, ...]
    traits: dict[str, tuple[int, ...]]
    s: Tensor  # (cells, d_s)
    missing: dict[str, int]  # rows without a value, by trait
    dropped: dict[str, float]  # intersections that were too small, with their size


def columns_of(listed: Sequence[TraitLike]) -> tuple[str, ...]:
    """Name the columns that the traits read."""
    columns: dict[str, None] = {}
    for trait in listed:
        own = (trait,) if isinstance(trait, str | int) else trait.columns
        columns.update(dict.fromkeys(map(str, own)))
    return tuple(columns)


def exact_columns(listed: Sequence[TraitLike]) -> frozenset[str]:
    """Name the columns whose numbers count as they are."""
    parts = [
        part
        for trait in listed
        for part in (trait.traits if isinstance(trait, Intersection) else (trait,))
    ]
    own = [part for part in parts if isinstance(part, Continuous | Soft | Binned)]
    return frozenset(columns_of(own))


def find_groups(table: CellTable, listed: Sequence[TraitLike]) -> Groups:
    """Make groups of the cells.

    Args:
        table: The cells.
        listed: The traits as the user named them.

    Raises:
        RangeError: If a column has no values, or too many.
    """
    rows = table.sums["rows"]
    raw = {name: table.column(j) for j, name in enumerate(table.columns.traits, 1)}
    missing = {}
    for name, column in raw.items():
        missing[name] = int(rows[column.codes < 0].sum())
        if missing[name] == rows.sum():
            raise RangeError(
                f"`sensitive` must name columns with values; {name!r} has none in any "
                f"of the {missing[name]} rows. Leave it out."
            )
    guess = {name: _guess(name, column, rows, table) for name, column in raw.items()}
    traits = [_resolved(trait, guess) for trait in listed]
    numeric = _numeric_columns(traits)
    data: dict[str, Values] = {
        name: _as_amounts(name, column) if name in numeric else column
        for name, column in raw.items()
    }
    encoder = SensitiveEncoder(
        traits, unseen="none", max_categories=table.max_categories
    )
    s = encoder.fit_transform(data, count=rows.tolist())
    return Groups(encoder.names, encoder.traits, s, missing, encoder.dropped)


def _guess(name: str, column: Coded, rows: Numbers, table: CellTable) -> Trait:
    """Amounts are cut in bins of about equal size; all else are categories."""
    if name in table.columns.bins:
        return Binned(name, table.columns.bins[name])
    size = len(column.categories) + 1
    count = np.bincount(column.codes + 1, rows, size)[1:].astype(np.float64)
    x = as_numbers(column.categories)
    if x is None:
        kept = name in table.ordered
        values = column.categories if kept else _in_order(column.categories)
        return Categorical(name, categories=values)
    order = np.argsort(x, kind="stable")
    if name in table.rounded:
        x = on_grid(x, DIGITS)  # another chunk may have had few enough to keep them
        if x.min() == x.max():
            raise RangeError(
                "`sensitive` must name columns of text, or of numbers that differ in "
                f"their first {DIGITS} digits; all of {name!r} begin like {x[0]:.12g}. "
                "Say with `bins` (`--bins`) where to cut them."
            )
    if len(x) > FEW:
        return Binned(name, _equal_bins(x[order], count[order]))
    return Categorical(name, categories=[column.categories[k] for k in order])


def _equal_bins(x: Numbers, count: Numbers) -> list[float]:
    """Cut sorted numbers in bins of about equal size, at round numbers if possible."""
    below = np.cumsum(count) / count.sum()
    cuts = np.searchsorted(below, np.arange(1, BINS) / BINS, side="right")
    edges = np.unique(x[np.minimum(cuts, len(x) - 1)])
    edges = edges[edges > x[0]]
    if not len(edges):  # most rows have the lowest number
        edges = np.unique(x)[1:2]
    for digits in range(2, DIGITS + 1):
        rounded = np.unique(on_grid(edges, digits))
        if len(rounded) == len(edges) and (rounded > x[0]).all():
            return [float(edge) for edge in rounded]
    return [float(edge) for edge in edges]


def _in_order(values: Sequence[Hashable]) -> list[Hashable]:
    return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _resolved(trait: TraitLike, guess: Mapping[str, Trait]) -> Trait | Intersection:
    if isinstance(trait, str | int):
        return guess[str(trait)]
    if not isinstance(trait, Intersection):
        return trait
    parts = [
        guess[str(part)] if isinstance(part, str | int) else part
        for part in trait.traits
    ]
    amounts = [part for part in parts if isinstance(part, Continuous)]
    if amounts:
        raise ArgumentError(
            f"An intersection of an audit must be one of groups; got {amounts[0]}. Cut "
            "the amount with `Binned`."
        )
    return Intersection(*parts, min_size=trait.min_size)


def _numeric_columns(traits: Sequence[Trait | Intersection]) -> set[str]:
    """Name the columns that are read as numbers."""
    names: set[str] = set()
    for trait in traits:
        if isinstance(trait, Intersection):
            parts = [part for part in trait.traits if isinstance(part, Trait)]
            names |= _numeric_columns(parts)
        elif not isinstance(trait, Categorical):
            names |= set(map(str, trait.columns))
    return names


def _as_amounts(name: str, column: Coded) -> Numbers:
    x = column.numbers()
    if x is None:
        raise RangeError(
            f"`sensitive` must name a column of numbers to be cut in bins; {name!r} "
            f"has {column.strange()[:3]}. Correct them, or leave the bins out."
        )
    return x
