"""The base classes of traits: before and after fitting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fairret.errors import DtypeError
from fairret.sensitive.coded import Mask, is_number
from fairret.sensitive.column import ColumnName
from fairret.sensitive.frame import Block, Frame

Unseen: TypeAlias = Literal["error", "none"]


@dataclass(frozen=True)
class Rules:
    """The settings of the encoder that traits use."""

    unseen: Unseen
    max_categories: int


class Encoding(ABC):
    """A fitted trait: its columns of S are fixed."""

    names: tuple[str, ...]

    @abstractmethod
    def encode(self, frame: Frame) -> Block:
        """Compute the columns of S for these rows, zeros where values are missing."""

    @abstractmethod
    def reads(self) -> tuple[ColumnName, ...]:
        """Name the columns of the data that it reads."""

    def missing(self, frame: Frame) -> Mask:
        """Tell which rows lack a value in one of these columns, `(n,)`."""
        each = [frame.column(name).missing for name in self.reads()]
        return np.asarray(np.any(each, axis=0))


class Trait(ABC):
    """A kind of trait, and the columns of the data that it reads."""

    @property
    @abstractmethod
    def columns(self) -> tuple[ColumnName, ...]:
        """The columns of the data that the trait reads."""

    @property
    def kind(self) -> str:
        """The kind in words, which distinguishes two traits of one column."""
        return type(self).__name__.lower()

    @abstractmethod
    def learn(self, frame: Frame, rules: Rules) -> Encoding:
        """Fix the columns of S from the training rows."""

    @property
    def label(self) -> str:
        """The name of the trait: that of its column."""
        return ", ".join(str(column) for column in self.columns)

    @property
    def long_label(self) -> str:
        """The name of the trait with its kind."""
        return f"{self.label} ({self.kind})"


class ColumnTrait(Trait):
    """A trait of a single column."""

    column: ColumnName

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        """The one column."""
        return (self.column,)


def check_column_name(column: object) -> None:
    """Require a column name.

    Raises:
        DtypeError: If it is neither text nor an integer.
    """
    if not isinstance(column, (str, int)):
        raise DtypeError(
            "`column` must be the name of a column, text or an integer; got "
            f"{column!r}. Pass the values themselves to `fit`."
        )


def finite_and_increasing(values: Sequence[object]) -> bool:
    """Tell whether these are finite numbers, each larger than the one before."""
    if not all(is_number(value) for value in values):
        return False
    x = np.array(values, dtype=np.float64)
    return bool(np.isfinite(x).all() and (np.diff(x) > 0).all())
