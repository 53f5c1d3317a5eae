"""One column of the data, read as distinct values or as numbers.

pandas is never imported: whatever has ``to_numpy`` is a series.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairret.errors import DtypeError, RangeError, ShapeError

ColumnName: TypeAlias = str | int


class SeriesLike(Protocol):
    """One column of a data frame."""

    def to_numpy(self) -> npt.NDArray[np.generic]:
        """Give the values as an array."""

    def __len__(self) -> int: ...


class _NumericSeries(Protocol):
    def to_numpy(
        self, *, dtype: type[np.float64], na_value: float
    ) -> npt.NDArray[np.float64]: ...


class Distinct(NamedTuple):
    """A column as codes into its distinct values; code -1 is a missing value."""

    codes: npt.NDArray[np.intp]
    values: tuple[Hashable, ...]
    ordered: bool  # the values come in an order that the column itself declares


class Column:
    """One column of the data, in whichever of its two readings a trait needs."""

    def __init__(self, name: ColumnName, values: object) -> None:
        self.name = name
        self._values = _one_dimensional(name, values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def kind(self) -> str:
        """NumPy's letter for the dtype; "O" where there is none, as for a list."""
        return str(getattr(getattr(self._values, "dtype", None), "kind", "O"))

    @cached_property
    def distinct(self) -> Distinct:
        """The values that occur, and for every row which one it has."""
        declared = _declared_categories(self._values)
        if declared is not None:
            return declared
        values: list[Hashable]
        if isinstance(self._values, list):
            values = self._values
        elif self.kind == "f":  # each NaN would be a key of its own
            values = _hide(self.numbers, np.isnan(self.numbers)).tolist()
        elif not isinstance(self._values, np.ndarray):
            values = np.asarray(self._values, dtype=object).tolist()
        elif self.kind in "mM":
            values = list(self._values)  # tolist() makes integers of nanoseconds
        else:
            values = self._values.tolist()
        return _factorize(self.name, values)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The values as float64, NaN where missing.

        Raises:
            DtypeError: If a value is not a number. Text is never parsed.
        """
        if self.kind in "biuf":
            if isinstance(self._values, np.ndarray):
                return self._values.astype(np.float64)
            series = cast("_NumericSeries", self._values)
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        strange = [v for v in self.distinct.values if not is_number(v)]
        if strange:
            raise DtypeError(
                f"Column {self.name!r} of `data` must hold numbers to be continuous, "
                f"binned or soft; got {listing(strange)}. Convert it first, or take "
                f"it as groups with `Categorical({self.name!r})`."
            )
        table = [_as_float(value) for value in self.distinct.values]
        return np.array([*table, np.nan])[self.distinct.codes]  # code -1: the NaN

    def check_observed(self) -> None:
        """Require one value that is not missing, to learn from.

        Raises:
            RangeError: If every value is missing.
        """
        if self.kind in "biuf":
            nothing = bool(np.isnan(self.numbers).all())
        else:
            nothing = not self.distinct.values
        if nothing:
            raise RangeError(
                f"Column {self.name!r} of `data` must have a value in at least one "
                f"training row; got {len(self)} rows, all missing. Leave it out of "
                "`traits`, or fit on rows that have it."
            )

    def check_rows(
        self, allowed: npt.NDArray[np.bool_], *, required: str, remedy: str
    ) -> None:
        """Require that all rows are allowed; show the first that is not.

        Raises:
            RangeError: If there is one.
        """
        if not allowed.all():
            row = int(np.argmin(allowed))
            raise RangeError(
                f"Column {self.name!r} of `data` must hold {required}; got "
                f"{self.numbers[row]:g} in row {row}, the first of "
                f"{np.count_nonzero(~allowed)} such rows. {remedy}"
            )


def is_number(value: object) -> bool:
    """Tell numbers, bool included, from everything else, numerals in text included."""
    return isinstance(value, (float, int, Real, Decimal, np.bool_))


def text(value: object) -> str:
    """Write a value as a name has it: 1.0 as "1", for pandas makes 1.0 of 1."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def listing(values: Iterable[object], limit: int = 10) -> str:
    """Write the first few values for an error message."""
    scalar = (np.number, np.bool_, np.str_)  # these have a longer repr than Python's
    shown = [repr(v.item() if isinstance(v, scalar) else v) for v in values]
    more = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {more} more" if more > 0 else "")


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True  # pandas.NA compares to itself as NA, not as True or False
    return bool(value != value)


def _hide(
    values: npt.NDArray[np.generic], hidden: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]:
    plain = values.astype(object)
    plain[hidden] = None
    return plain


def _as_float(value: object) -> float:
    try:
        return float(cast("Real", value))
    except OverflowError:  # an integer of more than 308 digits
        return float("inf")


def _one_dimensional(
    name: ColumnName, values: object
) -> npt.NDArray[np.generic] | list[Hashable] | SeriesLike:
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        # NumPy has no bfloat16
        values = (values.float() if values.dtype is torch.bfloat16 else values).numpy()
    if isinstance(values, np.ma.MaskedArray):
        values = _hide(values.data, np.ma.getmaskarray(values))
    if isinstance(values, (list, tuple, range)):
        return list(values)
    if not isinstance(values, np.ndarray) and not hasattr(values, "to_numpy"):
        raise DtypeError(
            f"Column {name!r} of `data` must be an array, a list, a series or a "
            f"tensor; got {type(values).__name__}. Pass one value for each row."
        )
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if getattr(values, "ndim", 1) != 1:
        raise ShapeError(
            f"Column {name!r} of `data` must have shape (n,); got "
            f"{tuple(getattr(values, 'shape', ()))}. Pass several traits as a mapping "
            "from names to arrays, or as a data frame."
        )
    return cast("npt.NDArray[np.generic] | SeriesLike", values)


def _declared_categories(values: object) -> Distinct | None:
    """Read a pandas categorical without a look at every value."""
    accessor = getattr(values, "cat", values)
    codes = getattr(accessor, "codes", None)
    categories = getattr(accessor, "categories", None)
    if codes is None or categories is None:
        return None
    codes = np.asarray(codes, dtype=np.intp)
    occurs = np.bincount(codes + 1, minlength=len(categories) + 1)[1:] > 0
    new_codes = np.append(np.cumsum(occurs) - 1, -1)  # code -1 stays -1
    kept = tuple(v for v, some in zip(categories, occurs, strict=True) if some)
    return Distinct(new_codes[codes], kept, ordered=True)


def _factorize(name: ColumnName, values: list[Hashable]) -> Distinct:
    # A dict finds the distinct values of a million rows in a fraction of the time
    # that np.unique needs to sort them, and it takes values that do not compare.
    try:
        table: dict[Hashable, int] = dict.fromkeys(values, -1)
    except TypeError as error:
        raise DtypeError(
            f"Column {name!r} of `data` must hold plain values such as text or "
            f"numbers; got one that cannot be a key ({error}). Pass one value for "
            "each row."
        ) from None
    kept = tuple(value for value in table if not _is_missing(value))
    table.update((value, code) for code, value in enumerate(kept))
    codes = np.fromiter(map(table.__getitem__, values), np.intp, count=len(values))
    return Distinct(codes, kept, ordered=False)
