"""Groups: a category a column of S, one-hot."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairret.errors import DtypeError, RangeError
from fairret.sensitive.columns import Column, ColumnName, listing, text
from fairret.sensitive.frame import Block, Frame
from fairret.sensitive.trait import Encoding, Rules, Trait, check_column_name


@dataclass(frozen=True)
class Categorical(Trait):
    """A trait that puts every row in one group.

    The groups are the values that occur in training, in sorted order; a pandas
    categorical keeps its own order. A missing value belongs to no group.

    Args:
        column: The column's name.
        categories: The groups in the order wanted, whether they occur or not; any
            other value then counts as unseen.

    Raises:
        DtypeError: If an argument has the wrong type.
        RangeError: If ``categories`` is empty, repeats a value or holds a missing one.
    """

    column: ColumnName
    categories: Sequence[Hashable] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_column_name(self.column)
        if self.categories is None:
            return
        if isinstance(self.categories, str):
            raise DtypeError(
                "`categories` must be a list of values; got the text "
                f"{self.categories!r}. Write `categories=[{self.categories!r}]`."
            )
        values = list(self.categories)
        if not values or len(Column("categories", values).distinct.values) < len(
            values
        ):
            raise RangeError(
                "`categories` must hold at least one value, none missing and none "
                f"twice; got {values}. A missing value belongs to no group: to make "
                "it one, fill it in the data first."
            )
        object.__setattr__(self, "categories", tuple(values))

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        """The one column."""
        return (self.column,)

    @property
    def kind(self) -> str:
        """Always "categorical"."""
        return "categorical"

    def learn(self, frame: Frame, rules: Rules) -> OneHot:
        """Collect the groups.

        Raises:
            RangeError: If there are more than ``rules.max_categories``, or no row is
                in one of the fixed ``categories``.
        """
        column = frame.column(self.column)
        column.check_observed()
        codes, values, ordered = column.distinct
        if self.categories is not None:
            if not set(self.categories).intersection(values):
                raise RangeError(
                    f"`categories` must name a value that column {self.column!r} has; "
                    f"got {listing(self.categories)}, and the column has "
                    f"{listing(values)}. Write them as they are in the data."
                )
            values = tuple(self.categories)
        elif not ordered:
            values = _sorted(values)
        if len(values) > rules.max_categories:
            raise RangeError(
                f"Column {self.column!r} of `data` must have at most "
                f"{rules.max_categories} categories (`max_categories`); got "
                f"{len(values)} in {len(codes)} rows. It may be an identifier: leave "
                "it out, cut numbers with `Binned`, or raise `max_categories`."
            )
        names = tuple(f"{self.column}={text(value)}" for value in values)
        return OneHot(names, self.column, values, rules)


@dataclass(frozen=True, eq=False)
class OneHot(Encoding):
    """A categorical trait after training."""

    names: tuple[str, ...]
    column: ColumnName
    categories: tuple[Hashable, ...]
    rules: Rules

    def encode(self, frame: Frame) -> Block:
        """Put a 1 in the column of every row's category.

        Raises:
            RangeError: If a value is unseen and ``rules.unseen`` is "error".
        """
        codes, values, _ = frame.column(self.column).distinct
        position = {value: k for k, value in enumerate(self.categories)}
        strange = [value for value in values if value not in position]
        if strange and self.rules.unseen == "error":
            raise RangeError(
                f"Column {self.column!r} of `data` must hold known categories only, "
                f"that is {listing(self.categories)}; got {listing(strange)} too. "
                "Correct the values, name all categories with "
                f"`Categorical({self.column!r}, categories=[...])`, or put such rows "
                'in no group with `unseen="none"`.'
            )
        new_codes = np.array(
            [*(position.get(v, -1) for v in values), -1], dtype=np.intp
        )
        return one_hot(new_codes[codes], len(self.categories))


def one_hot(codes: npt.NDArray[np.intp], width: int) -> Block:
    """Spread codes over columns; a negative code gives a row of zeros."""
    block = np.zeros((len(codes), width), dtype=np.float32)
    rows = np.flatnonzero(codes >= 0)
    block[rows, codes[rows]] = 1
    return block


def _sorted(values: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    try:
        return tuple(sorted(values))  # type: ignore[type-var]  # tried, not known
    except TypeError:  # text and numbers in one column
        return tuple(sorted(values, key=lambda v: (type(v).__name__, str(v))))
