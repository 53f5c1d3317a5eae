"""Memberships that are given: probabilities of a group, or degrees of belonging."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairret.errors import ArgumentError
from fairret.sensitive.columns import ColumnName
from fairret.sensitive.frame import Block, Frame
from fairret.sensitive.trait import Encoding, Rules, Trait, check_column_name


@dataclass(frozen=True, init=False, repr=False)
class Soft(Trait):
    """Columns that are memberships in [0, 1] already; they enter S unchanged.

    A missing value gets 0. The memberships of a row need not add up to 1.

    Args:
        columns: The columns' names, one a group.

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

    @property
    def kind(self) -> str:
        """Always "soft"."""
        return "soft"

    def learn(self, frame: Frame, rules: Rules) -> Given:
        """Take the names; nothing else depends on the training rows."""
        for name in self.names:
            frame.column(name).check_observed()
        return Given(tuple(map(str, self.names)), self.names)


@dataclass(frozen=True, eq=False)
class Given(Encoding):
    """A soft trait after training."""

    names: tuple[str, ...]
    columns: tuple[ColumnName, ...]

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
                remedy=f"Scale it first, or take an amount as `Continuous({name!r})`.",
            )
            parts.append(np.nan_to_num(s, nan=0.0).astype(np.float32))
        return np.stack(parts, axis=1)
