"""Columns of a table as an audit reads them: numbers, or codes into distinct values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fairret.errors import DtypeError
from fairret.sensitive.columns import Column

Numbers: TypeAlias = npt.NDArray[np.float64]
LOWEST_PLACE = -300  # a power of ten below this one is no float any more


class Coded:
    """A column of few distinct values, the way a pandas categorical holds it.

    Args:
        codes: For every row which value it has; -1 for none.
        categories: The values.
        ordered: Whether the column itself declares their order.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.intp],
        categories: Sequence[Hashable],
        ordered: bool = False,
    ) -> None:
        self.codes = codes
        self.categories = tuple(categories)
        self.ordered = ordered

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> Coded:
        return Coded(self.codes[rows], self.categories, self.ordered)

    def to_numpy(self) -> npt.NDArray[np.object_]:
        """Write the values out, None where there is none."""
        return self.lookup([*self.categories], None)

    def lookup(
        self, table: Sequence[Any], missing: Any, dtype: Any = object
    ) -> npt.NDArray[Any]:
        """Replace every value by its entry in a table."""
        return np.array([*table, missing], dtype=dtype)[self.codes]

    def numbers(self) -> Numbers | None:
        """Read the values as numbers, NaN where missing; None if one is no number."""
        table = as_numbers(self.categories)
        return None if table is None else np.append(table, np.nan)[self.codes]

    def strange(self) -> list[Hashable]:
        """The values that are not numbers."""
        return [value for value in self.categories if as_numbers([value]) is None]

    def count(self) -> npt.NDArray[np.intp]:
        """How many rows have each value."""
        return np.bincount(self.codes + 1, minlength=len(self.categories) + 1)[1:]


Values: TypeAlias = Coded | Numbers


def from_values(name: str, values: object) -> Values:
    """Read a column of a data frame, a list or an array."""
    column = Column(name, values)
    if column.kind in "iuf":
        return column.numbers
    return Coded(*column.distinct)


def from_arrow(name: str, array: Any) -> Values:
    """Read a column of a file; text that is blank is missing.

    Raises:
        DtypeError: If the column holds lists, say.
    """
    import pyarrow as pa

    kind = array.type
    if pa.types.is_nested(kind):
        raise DtypeError(
            f"Column {name!r} of `data` must hold plain values such as text or "
            f"numbers; got {kind}. Write one value for each row."
        )
    if (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    ):
        # not safe: from 2^53 on whole numbers lose digits, as in a data frame
        amounts = array.cast(pa.float64(), safe=False)
        return np.asarray(amounts.to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(kind):
        if not pa.types.is_boolean(kind):
            array = array.cast(pa.string())
        array = array.dictionary_encode()
    codes = array.indices.to_numpy(zero_copy_only=False)
    if array.indices.null_count:  # they come as NaN; fill_null would import pandas
        codes = np.nan_to_num(codes, nan=-1)
    values = array.dictionary.to_pylist()
    blank = [v is None or (isinstance(v, str) and not v.strip()) for v in values]
    order = np.array([*(np.cumsum(np.logical_not(blank)) - 1), -1], dtype=np.intp)
    order[:-1][blank] = -1
    kept = [value for value, gone in zip(values, blank, strict=True) if not gone]
    return Coded(order[codes.astype(np.intp)], kept)


def as_coded(values: Values) -> Coded:
    """Read numbers as distinct values."""
    if isinstance(values, Coded):
        return values
    distinct, codes = np.unique(values, return_inverse=True)  # NaN comes last, once
    missing = len(distinct) > 0 and bool(np.isnan(distinct[-1]))
    if missing:
        codes = np.where(codes == len(distinct) - 1, -1, codes)
    return Coded(codes, distinct[: len(distinct) - missing].tolist())


def as_numbers(values: Sequence[Hashable]) -> Numbers | None:
    """Read values, text among them, as numbers; None if one of them is none."""
    if any(isinstance(value, str) and "_" in value for value in values):
        return None  # Python reads 20_29 as 2029
    try:
        x = np.array([float(v) for v in values])  # type: ignore[arg-type]  # tried
    except (TypeError, ValueError):
        return None
    return x if np.isfinite(x).all() else None


def on_grid(x: Numbers, digits: int) -> Numbers:
    """Round down to so many significant digits, so that few values are different.

    The result is the float that a reader of the digits gets, and never above x: a
    number is on the same side of an edge of so many digits as what it is rounded to.
    """
    size = np.where(x == 0, 1, np.abs(x))
    place = np.maximum(np.floor(np.log10(size)) - digits + 1, LOWEST_PLACE)
    up, down = 10.0 ** np.maximum(place, 0), 10.0 ** np.maximum(-place, 0)
    nearest = np.round(x / up * down)
    grid: Numbers = nearest * up / down
    return np.where(grid > x, (nearest - 1) * up / down, grid)
