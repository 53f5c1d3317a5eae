"""One column of a table in memory, read as categories or as numbers.

pandas is never imported: whatever has ``to_numpy`` is a series.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from numbers import Real
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fairret.errors import DtypeError, RangeError, ShapeError
from fairret.sensitive.coded import (
    LARGEST_WHOLE,
    Coded,
    Mask,
    Numbers,
    Values,
    is_number,
    listing,
)

ColumnName: TypeAlias = str | int

MANY = 1000  # distinct numbers of a list that are not looked up one by one


class SeriesLike(Protocol):
    """One column of a data frame."""

    def to_numpy(self) -> npt.NDArray[np.generic]:
        """Return the values as an array."""

    def __len__(self) -> int: ...


class Column:
    """One column of a table in memory, as categories or as numbers."""

    def __init__(self, name: ColumnName, values: object) -> None:
        self.name = name
        self._given = values
        self._values = _one_dimensional(name, values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def kind(self) -> str:
        """NumPy's letter for the dtype; "O" if there is none, as for a list."""
        return str(getattr(getattr(self._values, "dtype", None), "kind", "O"))

    @cached_property
    def coded(self) -> Coded:
        """The distinct values, and which one each row has."""
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
    def numbers(self) -> Numbers:
        """The values as float64, NaN where missing.

        Raises:
            DtypeError: If a value is not a number. Text is not parsed.
        """
        if self.kind in "biuf":
            if isinstance(self._values, np.ndarray):
                return self._values.astype(np.float64)
            series = cast("Any", self._values)
            found: Numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
            return found
        values = self.coded.categories
        not_numbers = [value for value in values if not is_number(value)]
        if not_numbers:
            raise DtypeError(
                f"Column {self.name!r} of `data` must hold numbers to be continuous, "
                f"binned or soft; got {listing(not_numbers)}. Convert it first, or "
                f"treat its values as groups with `Categorical({self.name!r})`."
            )
        table = [_as_float(value) for value in values]
        return np.array([*table, np.nan])[self.coded.codes]  # code -1: the NaN

    @cached_property
    def values(self) -> Values:
        """The column in the form that an audit streams."""
        whole = self.kind in "iu"
        if whole and np.nanmax(np.abs(self.numbers), initial=0) >= LARGEST_WHOLE:
            return self.coded
        if self.kind in "iuf":
            return self.numbers
        values = self.coded.categories
        if len(values) > MANY and all(map(is_number, values)):
            return self.numbers
        return self.coded

    @property
    def precision(self) -> torch.dtype:
        """The dtype of the floats of a column; float64 for all else."""
        dtype = getattr(self._given, "dtype", None)
        if isinstance(dtype, torch.dtype):
            return dtype if dtype.is_floating_point else torch.float64
        if not hasattr(dtype, "kind") and hasattr(self._given, "to_numpy"):  # polars
            dtype = self._given.to_numpy().dtype
        size = getattr(dtype, "itemsize", 8) if getattr(dtype, "kind", "") == "f" else 8
        return {2: torch.float16, 4: torch.float32}.get(size, torch.float64)

    @property
    def missing(self) -> Mask:
        """Which rows have no value, `(n,)`."""
        if self.kind in "biuf":
            return np.isnan(self.numbers)
        return self.coded.codes < 0

    def check_observed(self) -> None:
        """Require at least one value that is not missing.

        Raises:
            RangeError: If every value is missing.
        """
        if self.missing.all():
            raise RangeError(
                f"Column {self.name!r} of `data` must have a value in at least one "
                f"training row; got {len(self)} rows, all missing. Remove it from "
                "`traits`, or fit on rows that have it."
            )

    def check_rows(self, allowed: Mask, *, required: str, remedy: str) -> None:
        """Require that all rows are allowed, and show the first that is not.

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


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True  # pandas.NA compares to itself as NA, not as True or False
    return bool(value != value)


def _hide(values: npt.NDArray[np.generic], hidden: Mask) -> npt.NDArray[np.object_]:
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


def _declared_categories(values: object) -> Coded | None:
    """Read a pandas categorical without looking at every value."""
    accessor = getattr(values, "cat", values)
    codes = getattr(accessor, "codes", None)
    categories = getattr(accessor, "categories", None)
    if codes is None or categories is None:
        return None
    codes = np.asarray(codes, dtype=np.intp)
    occurs = np.bincount(codes + 1, minlength=len(categories) + 1)[1:] > 0
    new_codes = np.append(np.cumsum(occurs) - 1, -1)  # code -1 stays -1
    kept = [v for v, some in zip(categories, occurs, strict=True) if some]
    return Coded(new_codes[codes], kept, ordered=True, nominal=True)


def _factorize(name: ColumnName, values: list[Hashable]) -> Coded:
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
    return Coded(codes, kept, nominal=not all(map(is_number, kept)))
