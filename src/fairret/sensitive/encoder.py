"""From a data frame to the matrix S and a name for each of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairret.errors import ArgumentError, FairretError, RangeError, ShapeError
from fairret.sensitive.columns import ColumnName, listing
from fairret.sensitive.frame import Data, Frame, read_frame
from fairret.sensitive.intersection import Cross, Crossed, Intersection
from fairret.sensitive.resolve import TraitLike, resolve
from fairret.sensitive.trait import Encoding, Rules, Trait, Unseen, check_column_name


class NotFittedError(FairretError, RuntimeError):
    """The encoder has not seen training data yet."""


@dataclass(frozen=True)
class _Fit:
    """All that the encoder learns."""

    columns: tuple[ColumnName, ...]
    encodings: tuple[Encoding, ...]
    traits: dict[str, tuple[int, ...]]


class SensitiveEncoder:
    """Turns columns of a data frame into the matrix S of sensitive traits.

    ``fit`` learns categories, ranges and the intersections that are large enough from
    the training rows; ``transform`` gives later rows the same columns of S. A missing
    value (None, NaN, NaT, pandas.NA) belongs to no group: zeros in all columns of that
    trait, and the row stays.

    A bare column name picks its kind: text, bool and pandas categoricals are
    :class:`Categorical`; numbers with a fraction are :class:`Continuous`; whole
    numbers are categorical with one or two distinct values and continuous with more
    than 20, and in between they may be codes or amounts, which only you can say.

    Args:
        traits: Column names, :class:`Categorical`, :class:`Continuous`,
            :class:`Binned`, :class:`Soft` and :class:`Intersection` objects, in the
            order wanted. Without it, every column of the data is a trait.
        unseen: What a category that training did not have does: "error" raises,
            "none" puts the row in no group of that trait.
        max_categories: More categories, or more intersections, in one trait are an
            error: an identifier is no trait.

    Raises:
        ArgumentError: If ``traits`` is empty.
        DtypeError: If one of them is neither a name nor a trait.
        RangeError: If ``unseen`` or ``max_categories`` is not among the choices.

    Example:
        >>> data = {"sex": ["f", "m", "m", None], "age": [20.5, 30.5, 60.5, 40.5]}
        >>> encoder = SensitiveEncoder(["sex", "age"])
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
    ) -> None:
        self._listed = None if traits is None else _checked_traits(traits)
        if unseen not in ("error", "none"):
            raise RangeError(
                f'`unseen` must be "error" or "none"; got {unseen!r}. Use "none" to '
                "put rows with an unknown category in no group."
            )
        if max_categories < 1:
            raise RangeError(
                f"`max_categories` must be at least 1; got {max_categories!r}. Leave "
                "it out for 1000."
            )
        self._rules = Rules(unseen, max_categories)
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
        """Learn categories, ranges and intersections, and forget any earlier fit.

        Args:
            data: The training rows: a data frame, a mapping from names to arrays of
                one length, or for a single trait one array, list, series or tensor.
            count: How often each row occurs, for data that list different rows once.
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
            S, float32, of shape (n, d_s), with values in [0, 1].

        Raises:
            ArgumentError: If an intersection names a column that has two traits.
            DtypeError: If a column holds what its trait cannot take.
            NameNotFoundError: If a column is missing.
            RangeError: If a column has values that its trait must not have.
            ShapeError: If there are no rows, or the columns differ in length.
        """
        columns = None if self._listed is None else _columns(self._listed)
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
        traits = resolve(frame.names if self._listed is None else self._listed, frame)
        known: dict[Trait | Cross, Encoding] = {}
        encodings = tuple(self._learn(trait, frame, known) for trait in traits)
        _check_different([name for part in encodings for name in part.names])
        sens = _matrix(encodings, frame)
        self._fit = _Fit(_columns(traits), encodings, _positions(traits, encodings))
        return sens

    def transform(self, data: Data) -> Tensor:
        """Encode rows into the columns of S that :meth:`fit` has fixed.

        Args:
            data: As for :meth:`fit`; columns that no trait reads are ignored.

        Returns:
            S, float32, of shape (n, d_s), with values in [0, 1].

        Raises:
            NotFittedError: If the encoder has not been fitted.
            DtypeError: If a column holds what its trait cannot take.
            NameNotFoundError: If a column is missing.
            RangeError: If a category is unseen, or a value is out of range.
            ShapeError: If the columns differ in length.
        """
        fit = self._fitted()
        return _matrix(fit.encodings, read_frame(data, fit.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column of S."""
        return tuple(name for part in self._fitted().encodings for name in part.names)

    @property
    def traits(self) -> dict[str, tuple[int, ...]]:
        """For every trait, which columns of S belong to it."""
        return dict(self._fitted().traits)

    @property
    def dropped(self) -> dict[str, float]:
        """The intersections that were too small, with their size in training.

        A size is a sum of memberships: for groups, the number of rows.
        """
        sizes: dict[str, float] = {}
        for part in self._fitted().encodings:
            if isinstance(part, Crossed):
                sizes.update(part.dropped)
        return sizes

    def _fitted(self) -> _Fit:
        if self._fit is None:
            raise NotFittedError(
                "`transform` and the names of columns need an encoder that has seen "
                "training data; got one that has not. Call `fit` on the training rows "
                "first."
            )
        return self._fit

    def _learn(
        self,
        trait: Trait | Cross,
        frame: Frame,
        known: dict[Trait | Cross, Encoding],
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
            "`traits` must name at least one trait; got an empty list. Leave it out "
            "to take every column of the data."
        )
    for trait in listed:
        if not isinstance(trait, (Trait, Intersection)):
            check_column_name(trait)
    return listed


def _columns(traits: Iterable[TraitLike | Cross]) -> tuple[ColumnName, ...]:
    columns: dict[ColumnName, None] = {}
    for trait in traits:
        read = (trait,) if isinstance(trait, (str, int)) else trait.columns
        columns.update(dict.fromkeys(read))
    return tuple(columns)


def _check_different(names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise RangeError(
            f"The columns of S must have different names; got {listing(twice)} twice. "
            "List every trait once, and rename columns or values that read the same."
        )


def _positions(
    traits: Iterable[Trait | Cross], encodings: Iterable[Encoding]
) -> dict[str, tuple[int, ...]]:
    """Number the columns of S; two traits of one column are told apart by kind."""
    traits = list(traits)
    shared = Counter(trait.label for trait in traits)
    positions: dict[str, tuple[int, ...]] = {}
    start = 0
    for trait, part in zip(traits, encodings, strict=True):
        label = trait.label if shared[trait.label] == 1 else trait.long_label
        own = range(start, start + len(part.names))
        positions[label] = (*positions.get(label, ()), *own)
        start += len(part.names)
    return positions


def _matrix(encodings: tuple[Encoding, ...], frame: Frame) -> Tensor:
    blocks = [frame.encode(part) for part in encodings]
    d_s = sum(block.shape[1] for block in blocks)
    s = np.empty((len(frame), d_s), dtype=np.float32)
    return torch.from_numpy(np.concatenate(blocks, axis=1, out=s))
