"""Rows added up in cells: those with the same traits and the same label.

A cell keeps sums of powers of the scores. All statistics of the label follow from them,
with their covariances. A file of any length becomes a table of a few thousand cells in
one pass, and traits can be binned and crossed afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairret.auditing.column import (
    Coded,
    Numbers,
    Values,
    as_coded,
    as_numbers,
    on_grid,
)
from fairret.auditing.source import Chunk
from fairret.errors import DtypeError, RangeError
from fairret.sensitive.columns import listing

MANY = 2000  # distinct numbers in a chunk; more are rounded down to DIGITS
DIGITS = 4
MOST_VALUES = 100_000  # distinct values of a column
MOST_LABELS = 50
DENSE = 1 << 20  # combinations that are counted without being sorted first
# per cell: rows; w h^p of the scores and of the decisions; the same with w²
SUMS = ("rows", "w", "wh", "whh", "wf", "ww", "wwh", "wwhh", "wwf")


class Columns(NamedTuple):
    """Which columns hold what."""

    score: str
    label: str | None
    weight: str | None
    traits: tuple[str, ...]
    exact: frozenset[str]  # traits whose numbers must not be rounded
    bins: Mapping[str, Sequence[float]]  # where the user wants traits to be cut


@dataclass
class Left:
    """Rows that had to be left out."""

    score: int = 0
    label: int = 0
    weight: int = 0


@dataclass
class CellTable:
    """The cells of all rows seen so far.

    Args:
        columns: Which columns hold what.
        threshold: Where scores become decisions.
        logits: Whether the scores are logits.
        max_categories: Distinct values that a trait of text may have.
    """

    columns: Columns
    threshold: float
    logits: bool
    max_categories: int
    left: Left = field(default_factory=Left)
    rounded: set[str] = field(default_factory=set)  # traits
    ordered: set[str] = field(default_factory=set)  # traits that declare an order
    points: dict[Hashable, Numbers] = field(default_factory=dict)  # of scores, by label
    _known: list[dict[Hashable, int]] = field(init=False)
    _place: dict[tuple[int, ...], int] = field(default_factory=dict)
    _sums: Numbers = field(default_factory=lambda: np.zeros((1024, len(SUMS))))

    def __post_init__(self) -> None:
        self._known = [{} for _ in (None, *self.columns.traits)]  # the label first

    @property
    def sums(self) -> dict[str, Numbers]:
        """The sums of every cell."""
        return dict(zip(SUMS, self._sums[: len(self._place)].T, strict=True))

    def column(self, j: int) -> Coded:
        """The value of every cell: the label for 0, then the traits."""
        codes = np.array([key[j] for key in self._place], dtype=np.intp)
        return Coded(codes, tuple(self._known[j]))

    def add(self, chunk: Chunk) -> None:
        """Add the rows of a chunk.

        Raises:
            RangeError: If a score or a weight is out of range, or a column has too
                many values.
        """
        score = _numbers("score", self.columns.score, chunk)
        weight = None
        known = ~np.isnan(score)
        self.left.score += int((~known).sum())
        label = Coded(np.zeros(len(score), dtype=np.intp), [0])
        if self.columns.label is not None:
            label = as_coded(chunk[self.columns.label])
            self.left.label += int((known & (label.codes < 0)).sum())
            known &= label.codes >= 0
        if self.columns.weight is not None:
            weight = _numbers("weight", self.columns.weight, chunk)
            self.left.weight += int((known & np.isnan(weight)).sum())
            known &= ~np.isnan(weight)
        coded = [
            label,
            *(self._trait(name, chunk[name]) for name in self.columns.traits),
        ]
        codes = [column.codes for column in coded]
        if not known.all():
            score, codes = score[known], [own[known] for own in codes]
            weight = None if weight is None else weight[known]
        if len(score):
            self._add_rows(self._checked(score), _checked_weight(weight), coded, codes)

    def _add_rows(
        self,
        h: Numbers,
        w: Numbers | None,
        coded: Sequence[Coded],
        codes: Sequence[npt.NDArray[np.intp]],
    ) -> None:
        f = (h > self.threshold).astype(np.float64)
        cell, first = _cells(codes, [len(column.categories) + 1 for column in coded])

        def total(values: Numbers | None) -> Numbers:
            return np.bincount(cell, values, minlength=len(first)).astype(np.float64)

        h2 = h * h
        if w is None:
            rows = total(None)
            sums = (rows, total(h), total(h2), total(f))
            new = np.stack((rows, *sums, *sums), 1)
        else:
            w2 = w * w
            new = np.stack(
                [total(x) for x in (None, w, w * h, w * h2, w * f)]
                + [total(x) for x in (w2, w2 * h, w2 * h2, w2 * f)],
                1,
            )
        self._note_points(h, coded[0], codes[0])
        tables = [
            self._translate(j, column.categories) for j, column in enumerate(coded)
        ]
        keys = [table[own[first]] for table, own in zip(tables, codes, strict=True)]
        self._merge(list(zip(*(key.tolist() for key in keys), strict=True)), new)

    def _merge(self, keys: list[tuple[int, ...]], new: Numbers) -> None:
        at = [self._place.setdefault(key, len(self._place)) for key in keys]
        while len(self._place) > len(self._sums):
            self._sums = np.concatenate((self._sums, np.zeros_like(self._sums)))
        self._sums[at] += new  # keys of one chunk are different

    def _translate(self, j: int, values: Sequence[Hashable]) -> npt.NDArray[np.intp]:
        """Number the values of a chunk as in all chunks; the last entry is missing."""
        known = self._known[j]
        numbers = [known.setdefault(value, len(known)) for value in values]
        if len(known) > MOST_VALUES:
            name = self.columns.traits[j - 1]
            raise _too_many(name, len(known), MOST_VALUES)
        return np.array([*numbers, -1], dtype=np.intp)

    def _trait(self, name: str, values: Values) -> Coded:
        """Code a trait; of many different numbers, their first digits are enough."""
        coded = as_coded(values)
        if coded.ordered:
            self.ordered.add(name)
        if name in self.columns.exact or len(coded.categories) <= self.max_categories:
            return coded
        x = as_numbers(coded.categories)
        if x is None:
            raise _too_many(name, len(coded.categories), self.max_categories)
        if name in self.columns.bins:
            grid = as_coded(_lower_ends(x, self.columns.bins[name]))
        elif len(x) <= MANY:
            return coded
        else:
            self.rounded.add(name)
            grid = as_coded(on_grid(x, DIGITS))
        return Coded(np.append(grid.codes, -1)[coded.codes], grid.categories)

    def _checked(self, h: Numbers) -> Numbers:
        low, high = float(h.min()), float(h.max())
        if self.logits:
            if not np.isfinite((low, high)).all():
                raise RangeError(
                    f"`score` must be finite; column {self.columns.score!r} has values "
                    f"from {low:g} to {high:g}. Look for a division by zero."
                )
            return np.exp(-np.logaddexp(0, -h))  # 1 / (1 + exp(-h)) may overflow
        if low < 0 or high > 1:
            raise RangeError(
                f"`score` must lie in [0, 1]; column {self.columns.score!r} has values "
                f"from {low:.9g} to {high:.9g}. Scale them, or say with `logits` "
                "(`--logits`) that they are logits."
            )
        return h

    def _note_points(
        self, h: Numbers, label: Coded, codes: npt.NDArray[np.intp]
    ) -> None:
        """Keep the lowest, the middlemost and the highest score of each label."""
        if len(label.categories) > MOST_LABELS:
            raise RangeError(
                f"`label` must have two values; column {self.columns.label!r} has more "
                f"than {MOST_LABELS}: {listing(label.categories, 5)}. Name the column "
                "that tells what really happened, 0 or 1."
            )
        for code, value in enumerate(label.categories):
            own = h[codes == code]
            if value in self.points:
                own = np.append(own, self.points[value])
            if len(own):
                middle = own[np.abs(own - 0.5).argmin()]
                self.points[value] = np.array([own.min(), middle, own.max()])


def _cells(
    codes: Sequence[npt.NDArray[np.intp]], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Number the combinations that occur; give each row's, and each one's first row."""
    cell = np.zeros(len(codes[0]), dtype=np.intp)
    count = 1
    for own, size in zip(codes, sizes, strict=True):
        cell = cell * size + own + 1
        count *= size
        if count > DENSE:
            values, cell = np.unique(cell, return_inverse=True)
            count = len(values)
    first = np.full(count, -1, dtype=np.intp)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    occurs = first >= 0
    return (np.cumsum(occurs) - 1)[cell], first[occurs]


def _lower_ends(x: Numbers, edges: Sequence[float]) -> Numbers:
    """Replace every number by one that stands for its bin."""
    ends = np.array([np.nextafter(edges[0], -np.inf), *edges])
    return ends[np.searchsorted(edges, x, side="right")]


def _numbers(argument: str, name: str, chunk: Chunk) -> Numbers:
    values = chunk[name]
    if not isinstance(values, Coded):
        return values
    x = values.numbers()
    if x is None:
        raise DtypeError(
            f"`{argument}` must hold numbers; column {name!r} has "
            f"{listing(values.strange(), 3)}. Correct them, or name another column."
        )
    return x


def _checked_weight(w: Numbers | None) -> Numbers | None:
    if w is not None and not (np.isfinite(w).all() and (w >= 0).all()):
        raise RangeError(
            "`weight` must be finite and at least 0; got values from "
            f"{w.min():g} to {w.max():g}. Check how the weights were made."
        )
    return w


def _too_many(name: str, count: int, limit: int) -> RangeError:
    return RangeError(
        f"`sensitive` must name columns with at most {limit} categories "
        f"(`max_categories`); {name!r} has {count} or more. It may be an identifier: "
        "leave it out, or merge its values first."
    )
