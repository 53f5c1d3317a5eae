"""Amounts cut in bins: one-hot, one column of S per bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairret.errors import DtypeError, RangeError
from fairret.sensitive.categorical import one_hot
from fairret.sensitive.coded import text
from fairret.sensitive.column import ColumnName
from fairret.sensitive.frame import Block, Frame
from fairret.sensitive.trait import (
    ColumnTrait,
    Encoding,
    Rules,
    check_column_name,
    finite_and_increasing,
)


@dataclass(frozen=True)
class Binned(ColumnTrait):
    """An amount that puts every row in one bin.

    Bins are closed on the left: with ``edges=[30, 50]``, 30 is in the second bin and
    50 in the third. A missing value is in no bin. Every bin becomes a column of S, even
    if it has no training row.

    Args:
        column: The name of the column.
        edges: Where to cut, in increasing order.
        labels: The names of the bins, one more than edges. By default a bin is named by
            its interval: "age<30", "30<=age<50", "age>=50".

    Raises:
        DtypeError: If ``column`` is not a name, or ``labels`` is a single text.
        RangeError: If ``edges`` are not finite and increasing, or ``labels`` are not
            one more, all different.
    """

    column: ColumnName
    edges: Sequence[float]
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_column_name(self.column)
        edges = list(self.edges)
        if not edges or not finite_and_increasing(edges):
            raise RangeError(
                "`edges` must be finite numbers that increase, at least one; got "
                f"{edges}. Sort them, and omit the two ends: the first and the last "
                "bin are open."
            )
        object.__setattr__(self, "edges", tuple(float(edge) for edge in edges))
        if self.labels is None:
            return
        if isinstance(self.labels, str):
            raise DtypeError(
                f"`labels` must be a list of {len(edges) + 1} names; got the text "
                f"{self.labels!r}. Write one name for each bin."
            )
        labels = [str(label) for label in self.labels]
        if len(labels) != len(edges) + 1 or len(set(labels)) < len(labels):
            raise RangeError(
                f"`labels` must be {len(edges) + 1} different names for "
                f"{len(edges)} edges; got {labels}. Write one name for each bin, "
                "including those below the first edge and above the last one."
            )
        object.__setattr__(self, "labels", tuple(labels))

    @property
    def kind(self) -> str:
        """The word with the edges, because a column may be cut in two ways."""
        return "binned at " + ", ".join(map(text, self.edges))

    def learn(self, frame: Frame, rules: Rules) -> FittedBinned:
        """Name the bins; nothing else depends on the training rows."""
        frame.column(self.column).check_observed()
        return FittedBinned(self._names(), self.column, tuple(self.edges))

    def _names(self) -> tuple[str, ...]:
        if self.labels is not None:
            return tuple(f"{self.column}={label}" for label in self.labels)
        cuts = [text(edge) for edge in self.edges]
        inner = (f"{left}<={self.column}<{right}" for left, right in pairwise(cuts))
        return (f"{self.column}<{cuts[0]}", *inner, f"{self.column}>={cuts[-1]}")


@dataclass(frozen=True, eq=False)
class FittedBinned(Encoding):
    """A fitted binned trait."""

    names: tuple[str, ...]
    column: ColumnName
    edges: tuple[float, ...]

    def reads(self) -> tuple[ColumnName, ...]:
        """Name the one column."""
        return (self.column,)

    def encode(self, frame: Frame) -> Block:
        """Put a 1 in the column of each row's bin."""
        x = frame.column(self.column).numbers
        codes = np.searchsorted(self.edges, x, side="right")
        return one_hot(np.where(np.isnan(x), -1, codes), len(self.names))
