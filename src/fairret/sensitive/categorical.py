"""Groups: one-hot, one column of S per category."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairret.errors import DtypeError, RangeError
from fairret.sensitive.coded import listing, sort_values, texts
from fairret.sensitive.column import Column, ColumnName
from fairret.sensitive.frame import Block, Frame
from fairret.sensitive.trait import ColumnTrait, Encoding, Rules, check_column_name


@dataclass(frozen=True)
class Categorical(ColumnTrait):
    """A trait that puts every row in one group.

    The groups are the values that occur in training, in sorted order; a pandas
    categorical keeps its own order. A missing value belongs to no group.

    Args:
        column: The name of the column.
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
        distinct = Column("categories", values).coded.categories
        if not values or len(distinct) < len(values):
            raise RangeError(
                "`categories` must hold at least one value, none missing and none "
                f"twice; got {values}. A missing value belongs to no group: to make "
                "it one, fill it in the data first."
            )
        object.__setattr__(self, "categories", tuple(values))

    def learn(self, frame: Frame, rules: Rules) -> FittedCategorical:
        """Collect the groups.

        Raises:
            RangeError: If there are more than ``rules.max_categories``, or no row is
                in one of the fixed ``categories``.
        """
        column = frame.column(self.column)
        column.check_observed()
        coded = column.coded
        values = coded.categories if coded.ordered else sort_values(coded.categories)
        if self.categories is not None:
            if not set(self.categories).intersection(values):
                raise RangeError(
                    f"`categories` must name a value that column {self.column!r} has; "
                    f"got {listing(self.categories)}, and the column has "
                    f"{listing(values)}. Write them as they are in the data."
                )
            values = tuple(self.categories)
        if len(values) > rules.max_categories:
            raise RangeError(
                f"Column {self.column!r} of `data` must have at most "
                f"{rules.max_categories} categories (`max_categories`); got "
                f"{len(values)} in {len(coded)} rows. It may be an identifier: remove "
                "it, cut numbers with `Binned`, or raise `max_categories`."
            )
        names = tuple(f"{self.column}={value}" for value in texts(values))
        return FittedCategorical(names, self.column, values, rules)


@dataclass(frozen=True, eq=False)
class FittedCategorical(Encoding):
    """A fitted categorical trait."""

    names: tuple[str, ...]
    column: ColumnName
    categories: tuple[Hashable, ...]
    rules: Rules

    def reads(self) -> tuple[ColumnName, ...]:
        """Name the one column."""
        return (self.column,)

    def encode(self, frame: Frame) -> Block:
        """Put a 1 in the column of each row's category.

        Raises:
            RangeError: If a value is unseen and ``rules.unseen`` is "error".
        """
        coded = frame.column(self.column).coded
        position = {value: k for k, value in enumerate(self.categories)}
        unseen = [value for value in coded.categories if value not in position]
        if unseen and self.rules.unseen == "error":
            raise RangeError(
                f"Column {self.column!r} of `data` must hold known categories only, "
                f"that is {listing(self.categories)}; got {listing(unseen)} too. "
                "Correct the values, name all categories with "
                f"`Categorical({self.column!r}, categories=[...])`, write "
                f"`Continuous({self.column!r})` for an amount, or put such rows in no "
                'group with `unseen="none"`.'
            )
        new_codes = np.array(
            [*(position.get(v, -1) for v in coded.categories), -1], dtype=np.intp
        )
        return one_hot(new_codes[coded.codes], len(self.categories))


def one_hot(codes: npt.NDArray[np.intp], width: int) -> Block:
    """Turn codes into one-hot rows; a negative code gives a row of zeros."""
    block = np.zeros((len(codes), width), dtype=np.float32)
    rows = np.flatnonzero(codes >= 0)
    block[rows, codes[rows]] = 1
    return block
