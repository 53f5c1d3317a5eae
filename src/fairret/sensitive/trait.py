"""What a kind of trait owes: how it learns from training rows, how it encodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fairret.errors import DtypeError
from fairret.sensitive.columns import ColumnName, is_number
from fairret.sensitive.frame import Block, Frame

Unseen: TypeAlias = Literal["error", "none"]


@dataclass(frozen=True)
class Rules:
    """The encoder's settings that a trait needs to know."""

    unseen: Unseen
    max_categories: int


class Encoding(ABC):
    """A trait after training: its columns of S are fixed."""

    names: tuple[str, ...]

    @abstractmethod
    def encode(self, frame: Frame) -> Block:
        """Compute the columns of S for these rows, zeros where missing."""


class Trait(ABC):
    """A kind of trait, and the columns of the data that it is read from."""

    @property
    @abstractmethod
    def columns(self) -> tuple[ColumnName, ...]:
        """The columns of the data that the trait reads."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind in words, to tell two traits of one column apart."""

    @abstractmethod
    def learn(self, frame: Frame, rules: Rules) -> Encoding:
        """Fix the columns of S from the training rows."""

    @property
    def label(self) -> str:
        """The trait's name: that of its column."""
        return ", ".join(str(column) for column in self.columns)

    @property
    def long_label(self) -> str:
        """The trait's name with its kind."""
        return f"{self.label} ({self.kind})"


def check_column_name(column: object) -> None:
    """Require a name that can stand in front of a group's name.

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
