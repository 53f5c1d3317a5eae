"""From what the user lists to traits of a known kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from fairret.errors import ArgumentError, DtypeError, RangeError
from fairret.sensitive.categorical import Categorical
from fairret.sensitive.columns import Column, ColumnName, is_number, listing
from fairret.sensitive.continuous import Continuous
from fairret.sensitive.frame import Frame
from fairret.sensitive.intersection import Cross, Intersection
from fairret.sensitive.soft import Soft
from fairret.sensitive.trait import Trait

TraitLike: TypeAlias = ColumnName | Trait | Intersection
MOST_CODES = 20  # whole numbers with more distinct values than this are amounts


def resolve(listed: Iterable[TraitLike], frame: Frame) -> list[Trait | Cross]:
    """Give every bare name its kind, and every intersection its traits.

    Raises:
        ArgumentError: If an intersection names a column that has two traits.
        DtypeError: If a column's dtype does not tell its kind.
        RangeError: If a column's values do not tell its kind.
    """
    known = [
        guess_kind(frame.column(trait)) if isinstance(trait, (str, int)) else trait
        for trait in listed
    ]
    plain = [trait for trait in known if isinstance(trait, Trait)]
    return [
        trait
        if isinstance(trait, Trait)
        else Cross(
            tuple(
                part if isinstance(part, Trait) else _find(part, plain, frame)
                for part in trait.traits
            ),
            trait.min_size,
        )
        for trait in known
    ]


def guess_kind(column: Column) -> Trait:
    """Pick the kind of a column that was named without one.

    Codes must not be taken for amounts. Whole numbers in a float column count as
    integers, for that is what pandas makes of integers with a gap.

    Raises:
        DtypeError: If the values are neither text nor bool nor numbers.
        RangeError: If the values may be codes as well as amounts.
    """
    name = column.name
    column.check_observed()
    if column.kind in "mMcV":
        raise DtypeError(
            f"Column {name!r} of `data` must hold text, bool or numbers to be taken by "
            f"its name alone; got {listing(column.distinct.values, 3)}. Convert it to "
            f"numbers, or take its values as groups with `Categorical({name!r})`."
        )
    if not _holds_numbers(column):
        return Categorical(name)
    x = column.numbers[~np.isnan(column.numbers)]
    if not (np.isfinite(x) & (x == np.round(x))).all():
        return Continuous(name)
    count = len(column.distinct.values)
    if count <= 2:
        return Categorical(name)
    if count > MOST_CODES:
        return Continuous(name)
    raise RangeError(
        f"Column {name!r} of `data` must have its kind in `traits`, for whole numbers "
        f"may be codes or amounts; got {count} distinct values, "
        f"{listing(column.distinct.values, 5)}. Write `Categorical({name!r})` for "
        f"codes or `Continuous({name!r})` for amounts."
    )


def _holds_numbers(column: Column) -> bool:
    if column.kind != "O":
        return column.kind in "iuf"
    values, declared = column.distinct.values, column.distinct.ordered
    return not declared and all(is_number(value) for value in values)


def _find(name: ColumnName, plain: list[Trait], frame: Frame) -> Trait:
    """Look up the trait that an intersection means by a column's name."""
    found = list(dict.fromkeys(trait for trait in plain if trait.columns == (name,)))
    if len(found) > 1:
        raise ArgumentError(
            f"`traits` of an intersection must tell which trait of {name!r} is meant; "
            f"got the name alone, and the list has {listing(found)}. Put one of these "
            "in the intersection instead of the name."
        )
    if found:
        return found[0]
    if any(isinstance(trait, Soft) and name in trait.columns for trait in plain):
        return Soft(name)
    return guess_kind(frame.column(name))
