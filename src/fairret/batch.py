"""Parse a call, `(pred, [feat,] sens[, label], weight=..., **inputs)`, into a batch.

Losses, statistics, projections and metrics share this function. Its result has vectors
of shape `(n,)`, all on one device.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from fairret.checks import (
    FORMS,
    as_rows,
    check_order,
    check_range,
    check_sens,
    warn_of_probabilities,
)
from fairret.device import reads_are_free, result_dtype, wide_dtype
from fairret.errors import ArgumentError, DtypeError, ShapeError

Layout: TypeAlias = Literal["wide", "narrow", "given"]
SMALL = 262_144  # numbers whose copy costs less than a sum in two dtypes


class Batch(NamedTuple):
    """A checked call. Rows are the last dimension of `pred`."""

    pred: Tensor  # (n,)
    sens: Tensor  # (n, d_s)
    weight: Tensor | None  # (n,)
    named: dict[str, object]  # what a statistic may ask for by name

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.pred.shape[-1]


def read_batch(
    pred: object,
    args: Sequence[object],
    inputs: Mapping[str, object],
    *,
    name: str = "prob",
    grouped: bool = True,
    layout: Layout = "wide",
    may_be_empty: bool = False,
) -> Batch:
    """Name the arguments of a call, check them, and convert them to one dtype.

    Args:
        pred: Logits or probabilities, as `name` says.
        args: `[feat,] sens[, label]`, by their number; without groups `[feat,] label`.
        inputs: Keywords: any of these, `weight`, and further inputs of the statistic.
        name: What `pred` is called in messages: "logit" or "prob".
        grouped: Whether `sens` is required; else all rows are one group.
        layout: How to return `sens`: "wide" in float64; "narrow" in the dtype of the
            result where it is large, which avoids a copy; or as "given".
        may_be_empty: Whether all rows may be in other processes.
    """
    named = {**inputs, **_name_positional(args, inputs, grouped)}
    sens, label, weight = (named.pop(key, None) for key in ("sens", "label", "weight"))
    if named.get("feat", ...) is None:
        del named["feat"]
    rows = as_rows(name, pred)
    n, place = rows.shape[0], rows.device
    if name == "logit" and not rows.is_floating_point():
        raise DtypeError(
            f"`logit` must have a floating dtype; got {rows.dtype}. Pass the model's "
            "raw output, or probabilities with `pred_as_logit=False`."
        )
    if n == 0 and not may_be_empty:
        raise ShapeError(
            f"`{name}` must have at least one row; got an empty batch. Skip empty "
            "batches, or use `drop_last=True` in the loader."
        )
    look = n > 0 and reads_are_free(rows)
    dtype = wide_dtype(place)

    def read_column(key: str, value: object, most: float) -> Tensor:
        column = as_rows(key, value, n, place)
        if look:
            check_range(key, column, (0.0, most))
        return column.to(dtype)

    if look:
        low, high = check_range(name, rows, None if name == "logit" else (0.0, 1.0))
        if name == "logit":
            warn_of_probabilities(n, low, high)
    if label is not None:
        check_order(sens, label)
        named["label"] = read_column("label", label, 1.0)
    w = None
    if weight is not None:
        w = read_column("weight", weight, torch.finfo(torch.float32).max)
    h = rows.to(dtype)
    if not grouped:
        return Batch(h, torch.ones_like(h)[:, None], w, named)
    s = check_sens(sens, n, place, look)
    if layout != "given":
        small = layout == "wide" or s.numel() <= SMALL
        s = s.to(dtype if small else result_dtype(rows))
    return Batch(h, s, w, named)


def _name_positional(
    args: Sequence[object], given: Mapping[str, object], grouped: bool
) -> dict[str, object]:
    """Name positional arguments, by how many there are."""
    names: tuple[str, ...] = ("feat", *(["sens"] if grouped else []), "label")
    if len(args) < len(names):
        names = names[1 : 1 + len(args)]
    if len(args) > len(names):
        raise ArgumentError(
            f"The call must have the form {FORMS}; got {len(args)} positional "
            "arguments after the first. Pass further inputs of a statistic by keyword."
        )
    found = dict(zip(names, args, strict=False))
    for name in found:
        if given.get(name) is not None:
            raise ArgumentError(
                f"`{name}` must be given once; got it by position and by keyword. "
                f"The forms of the call are {FORMS}."
            )
    return found
