"""The distribution of an amount, in little memory, and the bins that it is cut in."""

from __future__ import annotations

import numpy as np

from fairret.errors import RangeError
from fairret.sensitive.coded import MOST_CODES, Coded, Mask, Numbers, Values

MANY = 2000  # more distinct numbers are rounded down to DIGITS
DIGITS = 4
MOST_VALUES = 100_000  # distinct values of a column
BINS = 4
DISTINCT = 0.99  # share of distinct whole numbers from which they may be identifiers
LOWEST_PLACE = -300  # powers of ten below this are no floats


class Profile:
    """The distinct numbers of a column, and how many rows have each.

    If there are more than `MANY`, they are rounded to `DIGITS` digits, so that memory
    does not grow with the number of rows.

    Args:
        name: The column.
        x: Numbers to start with.
        count: How many rows have each.
    """

    def __init__(
        self, name: str, x: Numbers | None = None, count: Numbers | None = None
    ) -> None:
        self.name = name
        self.nominal = False  # whether the column holds categories
        self.x: Numbers = np.zeros(0)
        self.count: Numbers = np.zeros(0)
        self.digits: int | None = None  # of rounded numbers
        self.identifies: bool | None = None  # by the first chunk
        if x is not None and count is not None:
            self._merge(x, count)

    def add(self, values: Values, known: Mask) -> None:
        """Add the rows of a chunk that are known."""
        if isinstance(values, Coded):
            x = values.parsed
            if x is None or values.nominal:
                self.nominal = True
                return
            count = np.bincount(values.codes + 1, known, len(x) + 1)[1:].astype(float)
        else:
            there = ~np.isnan(values)
            x, code = np.unique(values[there], return_inverse=True)
            count = np.bincount(code, known[there], len(x)).astype(float)
            check_finite(self.name, x)
        if self.identifies is None and count.any():
            self.identifies = _are_identifiers(x[count > 0], count.sum())
        self._merge(x, count)

    def _merge(self, x: Numbers, count: Numbers) -> None:
        if self.digits is not None:
            x, count = _counted(round_down(x, self.digits), count)
        both = np.concatenate((self.x, x)), np.concatenate((self.count, count))
        self.x, self.count = _counted(*both)
        while len(self.x) > (MANY if self.digits is None else MOST_VALUES):
            self.digits = DIGITS if self.digits is None else self.digits - 1
            self.x, self.count = _counted(round_down(self.x, self.digits), self.count)

    def edges(self) -> list[float] | None:
        """Return the edges of bins of about equal size; None if this is no amount.

        Raises:
            RangeError: If the numbers do not differ in their first digits.
        """
        if self.digits is not None and len(self.x) == 1:
            raise RangeError(
                "`sensitive` must name columns of text, or of numbers that differ in "
                f"their first {DIGITS} digits; all of {self.name!r} begin like "
                f"{self.x[0]:.12g}. Pass `bins` (`--bins`) to cut them."
            )
        few = self.digits is None and len(self.x) <= MOST_CODES
        if self.nominal or few or not self.count.any():
            return None
        return equal_bins(self.x, self.count)


def check_finite(name: str, x: Numbers) -> None:
    """Require numbers that can be cut in bins.

    Raises:
        RangeError: If one is infinite.
    """
    if not np.isfinite(x).all():
        raise RangeError(
            f"`sensitive` must name columns of finite numbers; {name!r} has values "
            f"from {x.min():g} to {x.max():g}. Correct them, or declare them "
            "as missing with `missing` (`--missing`)."
        )


def _are_identifiers(x: Numbers, rows: float) -> bool:
    """Tell whether nearly every row has a whole number of its own."""
    return len(x) >= DISTINCT * rows and bool((x == np.floor(x)).all())


def _counted(x: Numbers, count: Numbers) -> tuple[Numbers, Numbers]:
    distinct, code = np.unique(x, return_inverse=True)
    return distinct, np.bincount(code, count, len(distinct)).astype(float)


def equal_bins(x: Numbers, count: Numbers) -> list[float]:
    """Cut sorted numbers in bins of about equal size, at round numbers if possible."""
    below = np.cumsum(count) / count.sum()
    cuts = np.searchsorted(below, np.arange(1, BINS) / BINS, side="right")
    edges = np.unique(x[np.minimum(cuts, len(x) - 1)])
    edges = edges[edges > x[0]]
    if not len(edges):  # most rows have the lowest number
        edges = np.unique(x)[1:2]
    for digits in range(2, DIGITS + 1):
        rounded = np.unique(round_down(edges, digits))
        if len(rounded) == len(edges) and (rounded > x[0]).all():
            return [float(edge) for edge in rounded]
    return [float(edge) for edge in edges]


def round_down(x: Numbers, digits: int) -> Numbers:
    """Round down to significant digits.

    The result is the float that a reader of the digits gets, and never above x: x and
    its rounded value are on the same side of any edge with that many digits.
    """
    size = np.where(x == 0, 1, np.abs(x))
    place = np.maximum(np.floor(np.log10(size)) - digits + 1, LOWEST_PLACE)
    up, down = 10.0 ** np.maximum(place, 0), 10.0 ** np.maximum(-place, 0)
    nearest = np.round(x / up * down)
    grid: Numbers = nearest * up / down
    return np.where(grid > x, (nearest - 1) * up / down, grid)
