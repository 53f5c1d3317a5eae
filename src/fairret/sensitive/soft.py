"""Given memberships: probabilities of a group, or degrees of belonging."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairret.errors import ArgumentError
from fairret.sensitive.column import ColumnName
from fairret.sensitive.frame import Block, Frame
from fairret.sensitive.trait import Encoding, Rules, Trait, check_column_name


@dataclass(frozen=True, init=False, repr=False)
class Soft(Trait):
    """Columns of memberships in [0, 1], which enter S unchanged.

    A missing value gets 0. The memberships of a row need not sum to 1.

    Args:
        columns: The names of the columns, one per group.

    Raises:
        ArgumentError: If no column is named.
        DtypeError: If one is not a name.
    """

    names: tuple[ColumnName, ...]

    def __init__(self, *columns: ColumnName) -> None:
        if not columns:
            raise ArgumentError(
                "`columns` must name at least one column of memberships; got none. "
                'Write `Soft("p_woman")`.'
            )
        for column in columns:
            check_column_name(column)
        object.__setattr__(self, "names", columns)

    def __repr__(self) -> str:
        return f"Soft({', '.join(map(repr, self.names))})"

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        """The columns as given."""
        return self.names

    def learn(self, frame: Frame, rules: Rules) -> FittedSoft:
        """Keep the names; nothing else depends on the training rows."""
        for name in self.names:
            frame.column(name).check_observed()
        return FittedSoft(tuple(map(str, self.names)), self.names)


@dataclass(frozen=True, eq=False)
class FittedSoft(Encoding):
    """A fitted soft trait."""

    names: tuple[str, ...]
    columns: tuple[ColumnName, ...]

    def reads(self) -> tuple[ColumnName, ...]:
        """Name the columns as given."""
        return self.columns

    def encode(self, frame: Frame) -> Block:
        """Copy the memberships.

        Raises:
            RangeError: If one is outside [0, 1].
        """
        parts = []
        for name in self.columns:
            column = frame.column(name)
            s = column.numbers
            column.check_rows(
                np.isnan(s) | ((s >= 0) & (s <= 1)),
                required="memberships in [0, 1]",
                remedy=f"Scale it first, or use `Continuous({name!r})` for an amount.",
            )
            parts.append(np.nan_to_num(s, nan=0.0).astype(np.float32))
        return np.stack(parts, axis=1)
