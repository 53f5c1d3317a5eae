"""The sums over the rows of a cell, and the thresholds that they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from fairret.sensitive.coded import Numbers

POWERS = 3  # of a score: 1, h and h²
CHANNELS = 2  # scores and decisions
MOST_NUMBERS = 20_000_000  # in the histograms of all cells
TINY = (1, 2, 5, 10)  # thousandths; and as far from 1
STEP = 20
SLOTS = 1 << 12  # more than a thousand, so that edges are in different ones


class Bins:
    """Finds the bin of a score: h is above `edges[j]` exactly if its bin is above j.

    A lookup table of `SLOTS` equal parts of [0, 1] is several times as fast as a
    binary search.

    Args:
        edges: Where the bins are cut, in increasing order.
    """

    def __init__(self, edges: Numbers) -> None:
        self.edges = edges
        self._below = np.searchsorted(edges, np.arange(SLOTS + 1) / SLOTS, side="left")
        self._next = np.append(edges, np.inf)[self._below]
        self._apart = len(np.unique(np.floor(edges * SLOTS))) == len(edges)

    def __call__(self, h: Numbers) -> npt.NDArray[np.intp]:
        """Number the bins of scores in [0, 1]."""
        if not self._apart:  # a part has two edges
            return np.searchsorted(self.edges, h, side="left")
        slot = (h * SLOTS).astype(np.intp)  # exact: a power of 2
        return self._below[slot] + (h > self._next[slot])


class Thresholds(NamedTuple):
    """Thresholds as given, and as each model's scores are compared with them.

    The number 0.3 is larger in float32 than in float64: a score is compared in its own
    dtype.
    """

    values: tuple[float, ...]  # per model
    edges: Numbers  # (B - 1,): thresholds between the bins of a histogram
    limits: Numbers  # (M,): `values` in the dtype of the scores
    cuts: tuple[Bins, ...]  # M times: `edges` in the dtype of the scores

    @property
    def bins(self) -> int:
        """The number of bins B."""
        return len(self.edges) + 1


def make_thresholds(
    values: Sequence[float], dtypes: Sequence[torch.dtype]
) -> Thresholds:
    """Make a grid of thresholds that contains those of the models."""
    inner = range(STEP, 1000, STEP)
    grid = {k / 1000 for k in (*TINY, *inner, *(1000 - k for k in TINY))}
    edges = np.array(sorted({*grid, *values}))
    pairs = list(zip(values, dtypes, strict=True))
    limits = [float(_rounded([value], dtype)[0]) for value, dtype in pairs]
    cuts = tuple(Bins(_rounded(edges, dtype)) for dtype in dtypes)
    return Thresholds(tuple(values), edges, np.array(limits), cuts)


def _rounded(x: Sequence[float] | Numbers, dtype: torch.dtype) -> Numbers:
    """Round numbers to a precision, to compare them with a column that has it."""
    rounded: Numbers = torch.tensor(x, dtype=torch.float64).to(dtype).double().numpy()
    return rounded


@dataclass(frozen=True)
class CellSums:
    """Sums over the rows of n cells, for M models and B bins of scores.

    Args:
        rows: Number of rows, `(n,)`.
        first: Sums of w x^p, p = 0, 1, 2, where x is a score or a decision:
            `(n, M, 2, 3)`.
        second: Sums of w² x^p, `(n, M, 2, 3)`.
        cross: Sums of w² x y over the scores, or decisions, of two models: `(n, 2)`;
            zeros for one model.
        histogram: Sums of w, w h and w² per bin of the scores, `(n, M, B, 3)`; None if
            there are too many cells to keep it in memory.
    """

    rows: Numbers
    first: Numbers
    second: Numbers
    cross: Numbers
    histogram: Numbers | None

    @classmethod
    def zeros(cls, n: int, models: int, bins: int) -> CellSums:
        """Create empty cells."""
        shape = (n, models, CHANNELS, POWERS)
        histogram = np.zeros((n, models, bins, 3)) if _fits(n, models, bins) else None
        return cls(
            np.zeros(n),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros((n, CHANNELS)),
            histogram,
        )

    def resized(self, n: int) -> CellSums:
        """Keep the first n cells, or add empty ones."""

        def resize(x: Numbers) -> Numbers:
            if n <= len(x):
                return x[:n]
            return np.concatenate((x, np.zeros((n - len(x), *x.shape[1:]))))

        histogram = self.histogram
        if histogram is not None and not _fits(n, *histogram.shape[1:3]):
            histogram = None
        rows, first, second, cross = map(
            resize, (self.rows, self.first, self.second, self.cross)
        )
        kept = None if histogram is None else resize(histogram)
        return CellSums(rows, first, second, cross, kept)

    def add(self, at: Sequence[int], new: CellSums) -> None:
        """Add the sums of other cells, each to a different one."""
        self.rows[at] += new.rows
        self.first[at] += new.first
        self.second[at] += new.second
        self.cross[at] += new.cross
        if self.histogram is not None and new.histogram is not None:
            self.histogram[at] += new.histogram


def _fits(n: int, models: int, bins: int) -> bool:
    return n * models * bins * 3 <= MOST_NUMBERS


def sum_rows(
    cell: npt.NDArray[np.intp],
    n: int,
    h: Sequence[Numbers],
    w: Numbers | None,
    thresholds: Thresholds,
    *,
    histogram: bool,
) -> CellSums:
    """Sum the rows of n cells.

    Args:
        cell: The cell of every row.
        n: The number of cells.
        h: The scores of every model.
        w: The weights, if they are not all 1.
        thresholds: Of decisions and of bins.
        histogram: Whether to compute histograms.
    """

    def total(values: Numbers | None) -> Numbers:
        return np.bincount(cell, values, minlength=n).astype(np.float64)

    w2 = None if w is None else w * w
    new = CellSums.zeros(n, len(h), thresholds.bins)
    decisions = [(x > limit) for x, limit in zip(h, thresholds.limits, strict=True)]
    new.rows[:] = total(None)
    for m, (x, f) in enumerate(zip(h, decisions, strict=True)):
        x2 = x * x
        for v, sums in ((w, new.first), (w2, new.second)):
            if v is None and sums is new.second:
                sums[:, m] = new.first[:, m]
                continue
            sums[:, m, :, 0] = (new.rows if v is None else total(v))[:, None]
            sums[:, m, 0, 1] = total(_times(v, x))
            sums[:, m, 0, 2] = total(_times(v, x2))
            sums[:, m, 1, 1:] = total(_times(v, f))[:, None]
        if histogram and new.histogram is not None:
            place = cell * thresholds.bins + thresholds.cuts[m](x)
            new.histogram[:, m] = _histogram(place, n, thresholds.bins, x, w)
    if len(h) == 2:
        new.cross[:, 0] = total(_times(w2, h[0] * h[1]))
        new.cross[:, 1] = total(_times(w2, decisions[0] & decisions[1]))
    return new


def _times(w: Numbers | None, x: Numbers | npt.NDArray[np.bool_]) -> Numbers:
    return np.asarray(x, dtype=np.float64) if w is None else w * x


def _histogram(
    place: npt.NDArray[np.intp], n: int, bins: int, h: Numbers, w: Numbers | None
) -> Numbers:
    """Sum w, w h and w² per cell and bin."""

    def total(values: Numbers | None) -> Numbers:
        return np.bincount(place, values, minlength=n * bins).astype(np.float64)

    if w is None:
        count = total(None)
        sums = (count, total(h), count)
    else:
        sums = (total(w), total(w * h), total(w * w))
    return np.stack(sums, -1).reshape(n, bins, 3)
