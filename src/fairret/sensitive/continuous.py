"""Amounts, such as age: one column of S, scaled to [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairret.errors import RangeError
from fairret.sensitive.coded import Numbers
from fairret.sensitive.column import Column, ColumnName
from fairret.sensitive.frame import Block, Frame
from fairret.sensitive.trait import (
    ColumnTrait,
    Encoding,
    Rules,
    check_column_name,
    finite_and_increasing,
)


@dataclass(frozen=True)
class Continuous(ColumnTrait):
    """An amount, scaled so that the training rows span [0, 1].

    The smallest training value becomes 0 and the largest 1; later values outside this
    range are clipped. If all training values are equal, every row with a value gets 1:
    a constant column of S has the overall statistic, so it never contributes to a
    violation. A missing value gets 0.

    Args:
        column: The name of the column.
        low: The amount that becomes 0, instead of the smallest training value.
        high: The amount that becomes 1, instead of the largest training value.

    Raises:
        DtypeError: If ``column`` is not a name.
        RangeError: If ``low`` or ``high`` is not finite, or ``low >= high``.
    """

    column: ColumnName
    low: float | None = field(default=None, kw_only=True)
    high: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_column_name(self.column)
        given = [bound for bound in (self.low, self.high) if bound is not None]
        if not finite_and_increasing(given):
            raise RangeError(
                "`low` and `high` must be finite numbers with low < high; got "
                f"low={self.low!r} and high={self.high!r}. Omit one to take it from "
                "the training rows."
            )

    def learn(self, frame: Frame, rules: Rules) -> FittedContinuous:
        """Find the range.

        Raises:
            RangeError: If a value is infinite, or all are beyond a fixed bound.
        """
        column = frame.column(self.column)
        column.check_observed()
        x = _finite(column)
        low = float(np.nanmin(x)) if self.low is None else float(self.low)
        high = float(np.nanmax(x)) if self.high is None else float(self.high)
        flattened = low == high and np.nanmin(x) < np.nanmax(x)
        if low > high or flattened or high - low > np.finfo(np.float64).max:
            raise RangeError(
                f"Column {self.column!r} of `data` must have values above `low` and "
                f"below `high`, and a range that float64 can hold; got {low} as the "
                f"lowest and {high} as the highest. Correct the bound or the values."
            )
        return FittedContinuous((str(self.column),), self.column, low, high)


@dataclass(frozen=True, eq=False)
class FittedContinuous(Encoding):
    """A fitted continuous trait."""

    names: tuple[str, ...]
    column: ColumnName
    low: float
    high: float

    def reads(self) -> tuple[ColumnName, ...]:
        """Name the one column."""
        return (self.column,)

    def encode(self, frame: Frame) -> Block:
        r"""Compute :math:`s = (x - low) / (high - low)`, clipped to [0, 1]."""
        x = _finite(frame.column(self.column))
        if self.low == self.high:
            s = np.ones_like(x)
        else:
            s = (np.clip(x, self.low, self.high) - self.low) / (self.high - self.low)
        return np.where(np.isnan(x), 0, s).astype(np.float32)[:, None]


def _finite(column: Column) -> Numbers:
    x = column.numbers
    column.check_rows(
        ~np.isinf(x),
        required="finite numbers",
        remedy="Replace it, by NaN if it means unknown.",
    )
    return x
