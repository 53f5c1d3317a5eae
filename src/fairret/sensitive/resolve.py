"""Choose the kind of traits that are given by column name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from fairret.errors import ArgumentError, DtypeError
from fairret.sensitive.categorical import Categorical
from fairret.sensitive.coded import listing
from fairret.sensitive.column import Column, ColumnName
from fairret.sensitive.continuous import Continuous
from fairret.sensitive.intersection import Intersection
from fairret.sensitive.soft import Soft
from fairret.sensitive.trait import Trait

TraitLike: TypeAlias = ColumnName | Trait | Intersection


def resolve(
    listed: Iterable[TraitLike], choose: Callable[[ColumnName], Trait]
) -> list[Trait | Intersection]:
    """Replace column names by traits, also within intersections.

    Args:
        listed: The traits as the user named them.
        choose: Chooses the trait of a column.

    Raises:
        ArgumentError: If an intersection names a column that has two traits.
    """
    known = [
        choose(trait) if isinstance(trait, (str, int)) else trait for trait in listed
    ]
    plain = [trait for trait in known if isinstance(trait, Trait)]
    return [
        trait
        if isinstance(trait, Trait)
        else Intersection(
            *(
                part if isinstance(part, Trait) else _find(part, plain, choose)
                for part in trait.traits
            ),
            min_size=trait.min_size,
        )
        for trait in known
    ]


def choose_kind(column: Column) -> Trait:
    """Choose the kind of a column by the rule in :mod:`fairret.sensitive.coded`.

    Raises:
        DtypeError: If the values are neither text nor bool nor numbers.
    """
    name = column.name
    column.check_observed()
    if column.kind in "mMcV":
        raise DtypeError(
            f"Column {name!r} of `data` must hold text, bool or numbers to be given by "
            f"its name alone; got {listing(column.coded.categories, 3)}. Convert it to "
            f"numbers, or treat its values as groups with `Categorical({name!r})`."
        )
    return Continuous(name) if column.coded.is_amount else Categorical(name)


def column_names(traits: Iterable[TraitLike]) -> tuple[ColumnName, ...]:
    """List the columns that traits read, each once."""
    columns: dict[ColumnName, None] = {}
    for trait in traits:
        read = (trait,) if isinstance(trait, (str, int)) else trait.columns
        columns.update(dict.fromkeys(read))
    return tuple(columns)


def _find(
    name: ColumnName, plain: list[Trait], choose: Callable[[ColumnName], Trait]
) -> Trait:
    """Look up the trait that an intersection refers to by a column name."""
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
    return choose(name)
