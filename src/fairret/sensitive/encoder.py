"""Encode columns of a data frame as the matrix S, with a name for each column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from fairret.errors import ArgumentError, FairretError, RangeError, ShapeError
from fairret.sensitive.coded import listing
from fairret.sensitive.column import ColumnName
from fairret.sensitive.frame import Data, Frame, read_frame
from fairret.sensitive.intersection import FittedIntersection, Intersection
from fairret.sensitive.resolve import TraitLike, choose_kind, column_names, resolve
from fairret.sensitive.trait import Encoding, Rules, Trait, Unseen, check_column_name

Missing: TypeAlias = Literal["zero", "nan"]


class NotFittedError(FairretError, RuntimeError):
    """The encoder has not been fitted."""


@dataclass(frozen=True)
class _Fit:
    """What the encoder learns."""

    columns: tuple[ColumnName, ...]
    encodings: tuple[Encoding, ...]
    traits: dict[str, tuple[int, ...]]


class SensitiveEncoder:
    """Encodes columns of a data frame as the matrix S of sensitive traits.

    ``fit`` learns categories, ranges and the intersections that are large enough from
    the training rows; ``transform`` encodes later rows with the same columns of S. A
    missing value (None, NaN, NaT, pandas.NA) belongs to no group: its row is kept, with
    zeros in all columns of that trait.

    A column given by its name is :class:`Continuous` if it holds numbers with more than
    20 distinct values, and :class:`Categorical` otherwise, as in :func:`fairret.audit`.
    In a small table, write ``Continuous("age")`` for an amount.

    Args:
        traits: Column names, :class:`Categorical`, :class:`Continuous`,
            :class:`Binned`, :class:`Soft` and :class:`Intersection` objects, in the
            order wanted. By default every column of the data is a trait.
        unseen: How to treat a category that training did not have: "error" raises,
            "none" puts the row in no group of that trait.
        max_categories: Maximum number of categories or intersections of a trait; a
            column with more may be an identifier, and raises.
        missing: How to encode a missing value: "zero" puts the row in no group of that
            trait, "nan" marks it as unknown, as :mod:`fairret.control` accepts it.

    Raises:
        ArgumentError: If ``traits`` is empty.
        DtypeError: If one of them is neither a name nor a trait.
        RangeError: If ``unseen``, ``max_categories`` or ``missing`` is out of range.

    Example:
        >>> from fairret.sensitive import Continuous
        >>> data = {"sex": ["f", "m", "m", None], "age": [20, 30, 60, 40]}
        >>> encoder = SensitiveEncoder(["sex", Continuous("age")])
        >>> encoder.fit_transform(data)
        tensor([[1.0000, 0.0000, 0.0000],
                [0.0000, 1.0000, 0.2500],
                [0.0000, 1.0000, 1.0000],
                [0.0000, 0.0000, 0.5000]])
        >>> encoder.names
        ('sex=f', 'sex=m', 'age')
        >>> encoder.traits
        {'sex': (0, 1), 'age': (2,)}
    """

    def __init__(
        self,
        traits: TraitLike | Iterable[TraitLike] | None = None,
        *,
        unseen: Unseen = "error",
        max_categories: int = 1000,
        missing: Missing = "zero",
    ) -> None:
        self._listed = None if traits is None else _checked_traits(traits)
        if unseen not in ("error", "none"):
            raise RangeError(
                f'`unseen` must be "error" or "none"; got {unseen!r}. Use "none" to '
                "put rows with an unseen category in no group."
            )
        if max_categories < 1:
            raise RangeError(
                f"`max_categories` must be at least 1; got {max_categories!r}. The "
                "default is 1000."
            )
        if missing not in ("zero", "nan"):
            raise RangeError(
                f'`missing` must be "zero" or "nan"; got {missing!r}. Losses and '
                'metrics need "zero".'
            )
        self._rules = Rules(unseen, max_categories)
        self._missing = missing
        self._fit: _Fit | None = None

    def __repr__(self) -> str:
        listed = (
            "" if self._listed is None else f"[{', '.join(map(repr, self._listed))}], "
        )
        return (
            f"SensitiveEncoder({listed}unseen={self._rules.unseen!r}, "
            f"max_categories={self._rules.max_categories})"
        )

    def fit(
        self, data: Data, *, count: Sequence[float] | None = None
    ) -> SensitiveEncoder:
        """Learn categories, ranges and intersections; an earlier fit is discarded.

        Args:
            data: The training rows: a data frame, a mapping from names to arrays of
                equal length, or for a single trait one array, list, series or tensor.
            count: How often each row occurs, for data that list distinct rows once.
                Only the sizes of intersections depend on it.

        Returns:
            The encoder itself.
        """
        self.fit_transform(data, count=count)
        return self

    def fit_transform(
        self, data: Data, *, count: Sequence[float] | None = None
    ) -> Tensor:
        """Learn from the training rows and encode them.

        Args:
            data: As for :meth:`fit`.
            count: As for :meth:`fit`.

        Returns:
            S, float32, of shape (n, d_s), with values in [0, 1]; NaN where a value is
            missing, if ``missing`` is "nan".

        Raises:
            ArgumentError: If an intersection names a column that has two traits.
            DtypeError: If the values of a column have a type that its trait rejects.
            NameNotFoundError: If a column is missing.
            RangeError: If a column has values that its trait rejects.
            ShapeError: If there are no rows, or the columns differ in length.
        """
        columns = None if self._listed is None else column_names(self._listed)
        frame = read_frame(data, columns)
        if not frame.names:
            raise ShapeError(
                "`data` must have at least one column; got none. Pass a data frame, or "
                "a mapping from names to arrays."
            )
        for name in frame.names if columns is None else columns:
            if len(frame.column(name)) == 0:
                raise ShapeError(
                    "`data` must have at least one row to learn from; got 0 rows in "
                    f"column {name!r}. Check how the rows were selected."
                )
        frame.set_count(count)
        listed = frame.names if self._listed is None else self._listed
        traits = resolve(listed, lambda name: choose_kind(frame.column(name)))
        known: dict[Trait | Intersection, Encoding] = {}
        encodings = tuple(self._learn(trait, frame, known) for trait in traits)
        _check_different([name for part in encodings for name in part.names])
        sens = self._matrix(encodings, frame)
        positions = _positions(traits, encodings)
        self._fit = _Fit(column_names(traits), encodings, positions)
        return sens

    def transform(self, data: Data) -> Tensor:
        """Encode rows as the columns of S that :meth:`fit` has fixed.

        Args:
            data: As for :meth:`fit`; columns without a trait are ignored.

        Returns:
            S, float32, of shape (n, d_s), with values in [0, 1]; NaN where a value is
            missing, if ``missing`` is "nan".

        Raises:
            NotFittedError: If the encoder has not been fitted.
            DtypeError: If the values of a column have a type that its trait rejects.
            NameNotFoundError: If a column is missing.
            RangeError: If a category is unseen, or a value is out of range.
            ShapeError: If the columns differ in length.
        """
        fit = self._fitted()
        return self._matrix(fit.encodings, read_frame(data, fit.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of S."""
        return tuple(name for part in self._fitted().encodings for name in part.names)

    @property
    def traits(self) -> dict[str, tuple[int, ...]]:
        """The columns of S that belong to each trait."""
        return dict(self._fitted().traits)

    @property
    def dropped(self) -> dict[str, float]:
        """The intersections that were too small, with their size in training.

        A size is a sum of memberships: for groups, the number of rows.
        """
        sizes: dict[str, float] = {}
        for part in self._fitted().encodings:
            if isinstance(part, FittedIntersection):
                sizes.update(part.dropped)
        return sizes

    def _fitted(self) -> _Fit:
        if self._fit is None:
            raise NotFittedError(
                "The encoder has not been fitted. Call `fit` on the training rows."
            )
        return self._fit

    def _matrix(self, encodings: tuple[Encoding, ...], frame: Frame) -> Tensor:
        blocks = [frame.encode(part) for part in encodings]
        d_s = sum(block.shape[1] for block in blocks)
        s = np.empty((len(frame), d_s), dtype=np.float32)
        np.concatenate(blocks, axis=1, out=s)
        if self._missing == "nan":
            start = 0
            for part in encodings:
                own = slice(start, start + len(part.names))
                s[part.missing(frame), own] = np.nan
                start = own.stop
        return torch.from_numpy(s)

    def _learn(
        self,
        trait: Trait | Intersection,
        frame: Frame,
        known: dict[Trait | Intersection, Encoding],
    ) -> Encoding:
        if trait not in known:  # an intersection shares the traits of the list
            if isinstance(trait, Trait):
                known[trait] = trait.learn(frame, self._rules)
            else:
                parts = [self._learn(part, frame, known) for part in trait.parts]
                known[trait] = trait.learn(parts, frame, self._rules)
        return known[trait]


def _checked_traits(
    traits: TraitLike | Iterable[TraitLike],
) -> tuple[TraitLike, ...]:
    if isinstance(traits, (str, int, Trait, Intersection)):
        traits = (traits,)
    if not isinstance(traits, Iterable):
        check_column_name(traits)
    listed = tuple(traits)
    if not listed:
        raise ArgumentError(
            "`traits` must name at least one trait; got an empty list. Omit it to use "
            "every column of the data."
        )
    for trait in listed:
        if not isinstance(trait, (Trait, Intersection)):
            check_column_name(trait)
    return listed


def _check_different(names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise RangeError(
            f"The columns of S must have different names; got {listing(twice)} twice. "
            "List each trait once, and rename columns or values that read the same."
        )


def _positions(
    traits: Sequence[Trait | Intersection], encodings: Iterable[Encoding]
) -> dict[str, tuple[int, ...]]:
    """Number the columns of S; two traits of one column are distinguished by kind."""
    shared = Counter(trait.label for trait in traits)
    positions: dict[str, tuple[int, ...]] = {}
    start = 0
    for trait, part in zip(traits, encodings, strict=True):
        label = trait.label if shared[trait.label] == 1 else trait.long_label
        own = range(start, start + len(part.names))
        positions[label] = (*positions.get(label, ()), *own)
        start += len(part.names)
    return positions
