"""Two classes of any type as 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import type_of_target

from fairret.errors import RangeError
from fairret.estimator.features import Numbers
from fairret.sensitive.coded import listing


@dataclass(frozen=True)
class Labels:
    """Labels as they came, and as 0 and 1."""

    classes: NDArray[np.generic]  # (2,), sorted
    positive: int  # which of them is a yes
    given: NDArray[np.generic]  # (n,)
    binary: Numbers  # (n,)


def read_labels(
    y: Any, pos_label: object = None, known: NDArray[np.generic] | None = None
) -> Labels:
    """Check that there are two classes, and find out which one is a yes.

    Args:
        y: Labels of any type.
        pos_label: The label that is a yes; by default the larger one.
        known: The two classes, if `y` need not have both.

    Raises:
        RangeError: If there are not two classes, or other ones than those known, or
            `pos_label` is not one of them.

    Example:
        >>> read_labels(["no", "yes", "no"]).binary
        array([0., 1., 0.])
    """
    if y is None:
        raise RangeError(
            "This estimator requires y to be passed, but the target y is None."
        )
    given = column_or_1d(_with_objects(y), warn=True)
    _check_missing(given)
    assert_all_finite(given, input_name="y")
    if given.dtype.kind == "O" and all(isinstance(x, bool | np.bool_) for x in given):
        given = given.astype(bool)
    kind = type_of_target(given, input_name="y", raise_unknown=True)
    classes = np.unique(given)
    if known is not None:
        if not np.isin(classes, known).all():
            raise RangeError(
                f"`y` must have the classes {listing(known)}; got "
                f"{listing(classes, 4)}."
            )
        kind, classes = "binary", known
    if kind != "binary":
        raise RangeError(
            "Only binary classification is supported. The type of the target is "
            f"{kind}: `y` has the values {listing(classes, 4)}."
        )
    if len(classes) < 2:
        raise RangeError(
            f"`y` must have two classes; got one class, {listing(classes)}, in "
            f"{len(given)} rows."
        )
    positive = 1
    if pos_label is not None:
        places = [k for k in (0, 1) if classes[k] == pos_label]
        if not places:
            raise RangeError(
                f"`pos_label` must be one of the labels, {listing(classes)}; got "
                f"{pos_label!r}."
            )
        positive = places[0]
    binary = (given == classes[positive]).astype(np.float64)
    return Labels(classes, positive, given, binary)


def _with_objects(y: Any) -> Any:
    """Read nullable true and false of pandas, of which NumPy makes numbers."""
    nullable = str(getattr(y, "dtype", "")) in ("boolean", "bool[pyarrow]")
    return y.to_numpy(dtype=object) if nullable else y


def _check_missing(given: NDArray[np.generic]) -> None:
    """Refuse rows without a label; those of numbers are refused as NaN."""
    if not len(given):
        raise RangeError("`y` must have at least one row; got none.")
    if given.dtype.kind != "O":
        return
    words = ("None", "<NA>", "nan", "NaT")
    missing = sum(not isinstance(x, str) and str(x) in words for x in given)
    if missing:
        raise RangeError(
            f"`y` must have a label in every row; got none in {missing} of "
            f"{len(given)} rows. Leave these rows out."
        )


def read_weights(weight: Any, labels: Labels) -> Numbers:
    """Check sample weights; by default, all are 1.

    Raises:
        RangeError: If they are negative, or leave one class.
    """
    n = len(labels.given)
    if weight is None:
        return np.ones(n)
    try:
        w = np.array(weight, dtype=np.float64)  # torch must not share it
    except (TypeError, ValueError):
        raise RangeError(
            "`sample_weight` must be numbers; got "
            f"{listing(np.unique(np.asarray(weight, dtype=str)), 3)}."
        ) from None
    if w.shape != (n,):
        raise RangeError(
            f"`sample_weight` must have shape ({n},), one number per row; got "
            f"{w.shape}."
        )
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise RangeError("`sample_weight` must be finite and at least 0.")
    if not w.any():
        raise RangeError("`sample_weight` must not be zero in all rows.")
    left = [
        labels.classes[k] for k in (0, 1) if w[labels.given == labels.classes[k]].any()
    ]
    if len(left) < min(2, len(np.unique(labels.given))):
        raise RangeError(
            "`sample_weight` must leave rows of two classes; got positive weights for "
            f"the class {listing(left)} alone."
        )
    return w
