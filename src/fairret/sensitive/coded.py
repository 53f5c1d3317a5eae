"""The distinct values of a column, and the rule that tells amounts from codes.

**The rule.** Numbers with more than 20 distinct values are an amount. All other columns
hold categories: fewer numbers, text, bool, and whatever is declared as categorical. The
type of a column decides what a number is; in a CSV file, which has no types, a column
holds numbers if every value can be read as one.

:class:`fairret.sensitive.SensitiveEncoder` scales an amount to [0, 1], and
:func:`fairret.audit` cuts it in bins.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fairret.errors import DtypeError

Numbers: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]

MOST_CODES = 20  # numbers with more distinct values are an amount
LARGEST_WHOLE = 2**53  # float64 merges whole numbers beyond it
POINT_ZERO = re.compile(r"-?(0|[1-9]\d*)\.0")


class Coded:
    """A column as codes into its distinct values, like a pandas categorical.

    Args:
        codes: The position of each row's value in `categories`; -1 if it is missing.
        categories: The distinct values.
        ordered: Whether the column declares their order.
        nominal: Whether the column's type says that these are categories, even if
            they look like numbers.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.intp],
        categories: Sequence[Hashable],
        *,
        ordered: bool = False,
        nominal: bool = False,
    ) -> None:
        self.codes = codes
        self.categories = tuple(categories)
        self.ordered = ordered
        self.nominal = nominal

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> Coded:
        return self._with(self.codes[rows], self.categories)

    def _with(
        self, codes: npt.NDArray[np.intp], categories: Sequence[Hashable]
    ) -> Coded:
        return Coded(codes, categories, ordered=self.ordered, nominal=self.nominal)

    @property
    def is_amount(self) -> bool:
        """Whether the values are an amount, by the rule of this module."""
        if self.nominal or len(self.categories) <= MOST_CODES:
            return False
        return self.parsed is not None or all(map(is_number, self.categories))

    @cached_property
    def parsed(self) -> Numbers | None:
        """The categories as finite numbers, also if they are text; None if not."""
        return parse_numbers(self.categories)

    def numbers(self) -> Numbers | None:
        """Return the rows as numbers, NaN if missing; None if a value is no number."""
        return (
            None if self.parsed is None else np.append(self.parsed, np.nan)[self.codes]
        )

    def not_numbers(self) -> list[Hashable]:
        """Return the values that cannot be read as numbers."""
        return [value for value in self.categories if parse_numbers([value]) is None]

    def without(self, dropped: Sequence[bool]) -> Coded:
        """Treat some of the values as missing."""
        kept = np.logical_not(dropped)
        codes = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
        values = [v for v, keep in zip(self.categories, kept, strict=True) if keep]
        return self._with(codes[self.codes], values)

    def to_numpy(self) -> npt.NDArray[np.object_]:
        """Return the value of each row, None if it is missing."""
        return np.array([*self.categories, None], dtype=object)[self.codes]


Values: TypeAlias = Coded | Numbers


def from_arrow(name: str, array: Any, *, typed: bool, declared: bool = False) -> Values:
    """Read a column of a file.

    Args:
        name: The column.
        array: An array of pyarrow.
        typed: Whether the file has types, so that text is no number.
        declared: Whether the column was a categorical when it was written.

    Raises:
        DtypeError: If the column holds nested values such as lists.
    """
    import pyarrow as pa

    kind = array.type
    if pa.types.is_nested(kind):
        raise DtypeError(
            f"Column {name!r} of `data` must hold plain values such as text or "
            f"numbers; got {kind}. Write one value for each row."
        )
    whole = pa.types.is_integer(kind)
    exact = declared or (whole and _exceeds_floats(array))
    if not exact and (whole or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        amounts = array.cast(pa.float64(), safe=False)  # decimals may be rounded
        return np.asarray(amounts.to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(kind):
        if not (exact or pa.types.is_boolean(kind)):
            array = array.cast(pa.string())
        array = array.dictionary_encode()
    places = array.indices.to_numpy(zero_copy_only=False)
    if array.indices.null_count:  # they come as NaN; fill_null would import pandas
        places = np.nan_to_num(places, nan=-1)
    values = array.dictionary.to_pylist()
    nominal = declared or (typed and not whole)
    coded = Coded(places.astype(np.intp), values, nominal=nominal)
    return coded.without([v is None for v in values]) if None in values else coded


def _exceeds_floats(array: Any) -> bool:
    """Whether whole numbers are too large for float64 to tell them apart."""
    from pyarrow import compute

    ends = compute.min_max(array).as_py().values()
    return any(end is not None and abs(end) >= LARGEST_WHOLE for end in ends)


def as_coded(values: Values) -> Coded:
    """Return numbers as codes into their distinct values."""
    if isinstance(values, Coded):
        return values
    distinct, codes = np.unique(values, return_inverse=True)  # NaN comes last, once
    missing = len(distinct) > 0 and bool(np.isnan(distinct[-1]))
    if missing:
        codes = np.where(codes == len(distinct) - 1, -1, codes)
    return Coded(codes, distinct[: len(distinct) - missing].tolist())


def parse_numbers(values: Sequence[Hashable]) -> Numbers | None:
    """Read values, text included, as finite numbers; None if one is not."""
    if any(isinstance(value, str) and "_" in value for value in values):
        return None  # Python reads 20_29 as 2029
    try:
        x = np.array([float(v) for v in values])  # type: ignore[arg-type]  # tried
    except (TypeError, ValueError, OverflowError):
        return None
    return x if np.isfinite(x).all() else None


def is_number(value: object) -> bool:
    """Tell numbers, bool included, from everything else, numerals in text included."""
    return isinstance(value, (float, int, Real, Decimal, np.bool_))


def text(value: object) -> str:
    """Write a value as part of a name: 1.0 as "1", because pandas makes 1.0 of 1."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def texts(values: Sequence[object]) -> list[str]:
    """Write values as parts of names: "1.0" as "1" if all of a text column end so.

    A CSV file has such text where pandas wrote whole numbers with gaps.
    """
    if all(isinstance(v, str) and POINT_ZERO.fullmatch(v) for v in values):
        return [str(v).removesuffix(".0") for v in values]
    return [text(v) for v in values]


def plain_text(value: Hashable) -> str:
    """Write a value so that 1, 1.0, "1" and "1.0" are the same."""
    number = parse_numbers([value]) if isinstance(value, str) else None
    return text(value if number is None else float(number[0])).strip()


def sort_values(values: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Sort by number if all are numbers, by value otherwise, mixed types by type."""
    values = tuple(values)
    numbers = parse_numbers(values)
    if numbers is not None:
        return tuple(values[k] for k in np.argsort(numbers, kind="stable"))
    try:
        return tuple(sorted(values))  # type: ignore[type-var]  # tried, not known
    except TypeError:  # text and numbers in one column
        return tuple(sorted(values, key=lambda v: (type(v).__name__, str(v))))


def listing(values: Iterable[object], limit: int = 10) -> str:
    """Write the first few values for an error message."""
    scalar = (np.number, np.bool_, np.str_)  # these have a longer repr than Python's
    shown = [repr(v.item() if isinstance(v, scalar) else v) for v in values]
    more = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {more} more" if more > 0 else "")
