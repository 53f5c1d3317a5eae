"""Features as numbers: from a table to a matrix, and to inputs of a network."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from fairret.errors import DtypeError, RangeError
from fairret.sensitive.coded import listing, sort_values
from fairret.sensitive.column import Column, ColumnName

Numbers: TypeAlias = NDArray[np.float64]
LARGEST = 10.0  # standard deviations from the mean, for a network
MAX_CATEGORIES = 32


class TableEncoder(BaseEstimator):
    """Turns a table into numbers: amounts as they are, categories one-hot.

    Columns of numbers and of true or false stay as they are, with NaN for missing
    values. All others are categories: one column per value, for the most frequent
    values. A missing or unseen value has zeros in all of them.

    Args:
        max_categories: Maximum number of values of a column that get their own column.
        missing: Whether a column of categories with missing values gets one more
            column, which tells where.

    Attributes:
        categories_: Per column, its values in the order of their columns, or None for
            numbers.
        gaps_: Per column, whether it has a column for missing values.
        names_: Names of the columns of the matrix.

    Example:
        >>> table = {"age": [20, 30, None], "job": ["clerk", None, "cook"]}
        >>> import pandas as pd
        >>> TableEncoder().fit_transform(pd.DataFrame(table))
        array([[20.,  1.,  0.],
               [30.,  0.,  0.],
               [nan,  0.,  1.]])
    """

    categories_: list[tuple[Hashable, ...] | None]
    gaps_: list[bool]
    names_: tuple[str, ...]

    def __init__(
        self, max_categories: int = MAX_CATEGORIES, missing: bool = False
    ) -> None:
        self.max_categories = max_categories
        self.missing = missing

    def fit(self, X: Any, y: object = None) -> TableEncoder:
        """Find out which columns are numbers, and the values of the others."""
        self.categories_, self.gaps_, names = [], [], []
        for name, values in _columns(X):
            numbers = _as_numbers(name, values)
            if numbers is not None:
                self.categories_.append(None)
                self.gaps_.append(False)
                names.append(str(name))
                continue
            coded = Column(name, values).coded
            count = np.bincount(coded.codes[coded.codes >= 0])
            kept = np.argsort(-count, kind="stable")[: self.max_categories]
            found = sort_values(coded.categories[k] for k in kept)
            self.categories_.append(found)
            self.gaps_.append(self.missing and bool((coded.codes < 0).any()))
            names += [f"{name}={value}" for value in found]
            names += [f"{name} missing"] * self.gaps_[-1]
        self.names_ = tuple(names)
        return self

    def transform(self, X: Any) -> Numbers:
        """Encode rows, `(n, width)`; NaN where a number is missing."""
        whole = self._whole(X)
        if whole is not None:
            return whole
        blocks = []
        for (name, values), categories, gap in zip(
            _columns(X), self.categories_, self.gaps_, strict=True
        ):
            if categories is None:
                numbers = _as_numbers(name, values)
                if numbers is None:
                    raise RangeError(
                        f"Column {name!r} of `X` must hold numbers, as when it was "
                        f"fitted; got {listing(Column(name, values).coded.categories)}."
                    )
                blocks.append(numbers[:, None])
            else:
                coded = Column(name, values).coded
                place = {value: k for k, value in enumerate(categories)}
                places = [place.get(value, -1) for value in coded.categories]
                width = len(categories) + gap
                none = len(categories) if gap else -1  # the code of a missing value
                codes = np.array([*places, none], dtype=np.intp)[coded.codes]
                if len(places) > 1 and max(places) < 0:
                    _warn_of_values(name, coded.categories, categories)
                blocks.append(np.eye(width + 1)[codes, :-1])
        return _check_finite(np.concatenate(blocks, axis=1))

    def fit_transform(self, X: Any, y: object = None) -> Numbers:
        """Fit, and encode the same rows."""
        return self.fit(X).transform(X)

    def _whole(self, X: Any) -> Numbers | None:
        """Read a table of numbers alone in one step."""
        if any(own is not None for own in self.categories_):
            return None
        array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
        if array.dtype.kind not in "biuf":
            return None
        return _check_finite(array.astype(np.float64))


def _warn_of_values(
    name: Hashable, found: Sequence[Hashable], known: Sequence[Hashable]
) -> None:
    """Warn of a column that has nothing in common with that of the fit."""
    warnings.warn(
        f"No value of column {name!r} of `X` is known from the fit, which had "
        f"{listing(known, 4)}; got {listing(found, 4)}. They count as missing: write "
        "values as there.",
        stacklevel=2,
    )


class Standardiser(BaseEstimator):
    r"""Brings numbers to the scale of a network: :math:`(x - m) / s`.

    Columns of 0 and 1 stay as they are. A missing value becomes the median, and every
    column with missing values gets another one that tells where. Values are clipped to
    ten standard deviations.
    """

    mean_: Numbers
    median_: Numbers  # 0 without a known value
    scale_: Numbers
    gaps_: NDArray[np.intp]  # columns with missing values

    def fit(self, x: Numbers, weight: Numbers | None = None) -> Standardiser:
        """Find means and scales."""
        known = ~np.isnan(x)
        w = known * (1.0 if weight is None else weight[:, None])
        total = np.maximum(w.sum(0), np.finfo(np.float64).tiny)
        filled = np.where(known, x, 0)
        mean = (w * filled).sum(0) / total
        scale = np.sqrt((w * np.where(known, x - mean, 0) ** 2).sum(0) / total)
        flags = ((filled == 0) | (filled == 1)).all(0) | (scale == 0)
        self.mean_, self.scale_ = np.where(flags, 0, mean), np.where(flags, 1, scale)
        self.gaps_ = np.flatnonzero(~known.all(0))
        columns = zip(filled.T, w.T, strict=True)
        self.median_ = np.array([_median(*own) for own in columns])
        return self

    def transform(self, x: Numbers) -> NDArray[np.float32]:
        """Scale rows, `(n, width + gaps)`."""
        z = x - self.mean_
        z /= self.scale_
        missing = np.isnan(z)
        np.copyto(z, (self.median_ - self.mean_) / self.scale_, where=missing)
        np.clip(z, -LARGEST, LARGEST, out=z)
        if len(self.gaps_):
            z = np.concatenate((z, missing[:, self.gaps_]), axis=1)
        return z.astype(np.float32)


def _median(x: Numbers, weight: Numbers) -> float:
    """Find the smallest value with at least half of the weight up to it."""
    order = np.argsort(x)
    up_to = np.cumsum(weight[order])
    return float(x[order][np.searchsorted(up_to, up_to[-1] / 2)])


def _columns(X: Any) -> Iterable[tuple[ColumnName, Any]]:
    """List the columns of a frame or of an array."""
    if issparse(X):
        raise DtypeError(
            "`X` must be a dense table; got a sparse one. Pass `X.toarray()`."
        )
    if hasattr(X, "columns"):
        frame = X
        return [(name, frame[name]) for name in frame.columns]
    array = np.asarray(X)
    text = array.dtype.kind in "SUT"
    if array.dtype.kind == "O":
        text = any(isinstance(value, str) for value in array.flat)
    if not text:  # the messages of scikit-learn
        array = check_array(array, ensure_all_finite="allow-nan", input_name="X")
    if array.ndim != 2 or 0 in array.shape:
        array = check_array(array, dtype=None, ensure_all_finite=False)
    return [(j, array[:, j]) for j in range(array.shape[1])]


def _as_numbers(name: ColumnName, values: Any) -> Numbers | None:
    """Read a column as float64, NaN where missing; None if it holds categories."""
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.dtype.kind in "biuf" and not hasattr(values, "cat"):
        return np.asarray(array, dtype=np.float64)
    column = Column(name, values)
    if column.kind in "mMc":
        raise DtypeError(
            f"Column {name!r} of `X` must hold numbers, text, or true and false; got "
            f"{listing(column.coded.categories, 3)}. Convert it to numbers."
        )
    if column.kind in "biuf" or not column.coded.nominal:
        return column.numbers
    return None


def _check_finite(x: Numbers) -> Numbers:
    if np.isinf(x).any():
        raise RangeError(
            f"`X` must not contain infinity (inf); got it in "
            f"{int(np.isinf(x).any(1).sum())} of {len(x)} rows. Replace it, by NaN if "
            "it means unknown."
        )
    return x
