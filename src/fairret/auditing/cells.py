"""Rows summed in cells: a cell has all rows with the same traits and the same label.

A cell keeps sums of powers of the scores, from which all statistics of the label and
their covariances follow. Amounts are cut in bins first, so a file of any length has at
most as many cells as there are combinations of groups. Only continuous and soft traits
keep their distinct values.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fairret.auditing import amounts
from fairret.auditing.rows import Columns, Left, Rows, checked_score, checked_weight
from fairret.auditing.sums import CellSums, Thresholds, sum_rows
from fairret.errors import RangeError
from fairret.sensitive.coded import (
    MOST_CODES,
    Coded,
    Numbers,
    Values,
    as_coded,
    listing,
)

MOST_LABELS = 50
DENSE = 1 << 20  # combinations that are counted without sorting them first


class AmountsError(Exception):
    """A column of many numbers was found: learn its distribution first."""


@dataclass(frozen=True)
class Layout:
    """How rows become cells.

    Args:
        columns: The columns by their role.
        thresholds: Of decisions and of histograms.
        logits: Whether the scores are logits.
        max_categories: Maximum number of categories of a trait.
        cuts: The edges of bins, by column.
        settled: Traits that are known to be amounts or not.
    """

    columns: Columns
    thresholds: Thresholds
    logits: bool
    max_categories: int
    cuts: Mapping[str, Sequence[float]] = field(default_factory=dict)
    settled: frozenset[str] = frozenset()


class CellTable:
    """The cells of all rows seen so far.

    Args:
        layout: How rows become cells.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.columns = layout.columns
        models, bins = len(self.columns.scores), layout.thresholds.bins
        self.left = Left()
        self._kinds: dict[str, Coded] = {}  # ordered and nominal traits
        # the lowest score, the one nearest to 1/2 and the highest, per model and label
        self.points: list[dict[Hashable, Numbers]] = [{} for _ in range(models)]
        self.heaviest: dict[Hashable, float] = {}  # weight of a row, per label
        self._known: list[dict[Hashable, int]] = [{} for _ in (0, *self.columns.traits)]
        self._place: dict[tuple[int, ...], int] = {}
        self._sums = CellSums.zeros(256, models, bins)

    def __len__(self) -> int:
        return len(self._place)

    @property
    def sums(self) -> CellSums:
        """The sums of every cell."""
        return self._sums.resized(len(self))

    def column(self, j: int) -> Coded:
        """Return the value of each cell: the label for 0, then the traits."""
        codes = np.array([key[j] for key in self._place], dtype=np.intp)
        like = self._kinds.get(("", *self.columns.traits)[j])
        return Coded(
            codes,
            tuple(self._known[j]),
            ordered=like is not None and like.ordered,
            nominal=like is not None and like.nominal,
        )

    def add(self, rows: Rows) -> None:
        """Add the rows of a chunk.

        Raises:
            AmountsError: If an amount is found whose bins are not known yet.
            RangeError: If a score or a weight is out of range, or a column has too
                many values.
        """
        coded = [rows.label, *(self._trait(*item) for item in rows.traits.items())]
        self._check_amounts(coded)
        for name, count in vars(rows.left).items():
            setattr(self.left, name, getattr(self.left, name) + count)
        scores, weight = rows.scores, rows.weight
        codes = [column.codes for column in coded]
        if not rows.known.all():
            scores = tuple(score[rows.known] for score in scores)
            codes = [own[rows.known] for own in codes]
            weight = None if weight is None else weight[rows.known]
        if len(codes[0]):
            names = zip(scores, self.columns.scores, strict=True)
            h = [checked_score(x, name, self.layout.logits) for x, name in names]
            self._add_rows(h, checked_weight(weight), coded, codes)

    def _add_rows(
        self,
        h: Sequence[Numbers],
        w: Numbers | None,
        coded: Sequence[Coded],
        codes: Sequence[npt.NDArray[np.intp]],
    ) -> None:
        cell, first = _cells(codes, [len(column.categories) + 1 for column in coded])
        wanted = self._sums.histogram is not None
        thresholds = self.layout.thresholds
        new = sum_rows(cell, len(first), h, w, thresholds, histogram=wanted)
        for model, x in enumerate(h):
            self._note_points(model, x, coded[0], codes[0])
        self._note_weights(w, coded[0], codes[0])
        tables = [
            self._translate(j, column.categories) for j, column in enumerate(coded)
        ]
        keys = [table[own[first]] for table, own in zip(tables, codes, strict=True)]
        self._merge(list(zip(*(key.tolist() for key in keys), strict=True)), new)

    def _merge(self, keys: list[tuple[int, ...]], new: CellSums) -> None:
        at = [self._place.setdefault(key, len(self._place)) for key in keys]
        if len(self._place) > len(self._sums.rows):
            room = max(len(self._place), 2 * len(self._sums.rows))
            self._sums = self._sums.resized(room)
        self._sums.add(at, new)  # keys of one chunk are different

    def _translate(self, j: int, values: Sequence[Hashable]) -> npt.NDArray[np.intp]:
        """Map the codes of a chunk to those of all chunks; the last is for missing."""
        known = self._known[j]
        numbers = [known.setdefault(value, len(known)) for value in values]
        if len(known) > amounts.MOST_VALUES:
            name = self.columns.traits[j - 1]
            raise _too_many(name, len(known), amounts.MOST_VALUES)
        return np.array([*numbers, -1], dtype=np.intp)

    def _trait(self, name: str, values: Values) -> Coded:
        """Encode a trait, in bins if it is cut."""
        if name in self.layout.cuts:
            return self._cut(name, values, self.layout.cuts[name])
        coded = as_coded(values)
        self._kinds[name] = coded[:0]
        if name not in self.columns.exact:
            self._check_categories(name, coded)
        return coded

    def _cut(self, name: str, values: Values, edges: Sequence[float]) -> Coded:
        """Replace each number by one that represents its bin."""
        ends = [float(np.nextafter(edges[0], -np.inf)), *edges]
        if not isinstance(values, Coded):
            code = np.searchsorted(edges, values, side="right")
            return Coded(np.where(np.isnan(values), -1, code), ends)
        if values.parsed is None:  # refused later, with its values
            self._check_categories(name, values)
            return values
        code = np.append(np.searchsorted(edges, values.parsed, side="right"), -1)
        return Coded(code[values.codes], ends)

    def _check_categories(self, name: str, coded: Coded) -> None:
        count = len(coded.categories)
        if count <= self.layout.max_categories:
            return
        if all(isinstance(value, float) for value in coded.categories):
            amounts.check_finite(name, np.array(coded.categories))
        if coded.nominal or coded.parsed is None:
            raise _too_many(name, count, self.layout.max_categories)

    def _check_amounts(self, coded: Sequence[Coded]) -> None:
        """Find amounts whose bins are not known yet."""
        settled = self.layout.settled | self.layout.cuts.keys()
        for j, name in enumerate(self.columns.traits, 1):
            known, new = self._known[j], coded[j].categories
            if len(known) + len(new) <= MOST_CODES or name in settled:
                continue
            every = [*{**known, **dict.fromkeys(new)}]
            both = Coded(coded[j].codes, every, nominal=coded[j].nominal)
            if name in self.columns.guessed and both.is_amount:
                raise AmountsError

    def _note_points(
        self, model: int, h: Numbers, label: Coded, codes: npt.NDArray[np.intp]
    ) -> None:
        """Keep the lowest score, the one nearest to 1/2 and the highest per label."""
        if len(label.categories) > MOST_LABELS:
            raise RangeError(
                f"`label` must have two values; column {self.columns.label!r} has more "
                f"than {MOST_LABELS}: {listing(label.categories, 5)}. Name the column "
                "of true outcomes, 0 or 1."
            )
        points = self.points[model]
        best = three_points(h)
        for code, value in enumerate(label.categories):
            before = points.get(value, h[:0])
            if len(before) and (three_points(before, best) == before).all():
                continue  # nothing new, whatever the label of these rows
            own = h[codes == code]
            if len(own):
                points[value] = three_points(before, own)

    def _note_weights(
        self, w: Numbers | None, label: Coded, codes: npt.NDArray[np.intp]
    ) -> None:
        """Keep the largest weight of each label."""
        for code, value in enumerate(label.categories):
            own = codes == code
            if own.any():
                most = 1.0 if w is None else float(w[own].max())
                self.heaviest[value] = max(self.heaviest.get(value, 0.0), most)


def three_points(*h: Numbers) -> Numbers:
    """Return the lowest score, the one nearest to 1/2, and the highest."""
    x = np.concatenate(h) if len(h) > 1 else h[0]
    return np.array([x.min(), x[np.abs(x - 0.5).argmin()], x.max()])


def _cells(
    codes: Sequence[npt.NDArray[np.intp]], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Number the combinations that occur: that of each row, and their first rows."""
    cell = np.zeros(len(codes[0]), dtype=np.intp)
    count = 1
    for own, size in zip(codes, sizes, strict=True):
        cell *= size
        cell += own
        cell += 1  # a missing value is -1
        count *= size
        if count > DENSE:
            values, cell = np.unique(cell, return_inverse=True)
            count = len(values)
    first = np.full(count, -1, dtype=np.intp)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    occurs = first >= 0
    return (np.cumsum(occurs) - 1)[cell], first[occurs]


def _too_many(name: str, count: int, limit: int) -> RangeError:
    return RangeError(
        f"`sensitive` must name columns with at most {limit} categories "
        f"(`max_categories`); {name!r} has {count} or more. It may be an identifier: "
        "remove it, or merge its values first."
    )
