"""The public border: sort the arguments of a call, check them once, and unify them.

Shapes, dtypes and devices are always checked. Values are looked at where that is free:
on the CPU, and not while a graph is compiled. Behind the border, vectors are `(n,)`.
"""

import difflib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from fairret.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    RangeError,
    ShapeError,
)

Layout: TypeAlias = Literal["wide", "narrow", "given"]
SMALL = 262_144  # numbers whose copy costs less than adding up in two dtypes
FORMS = "`(logit, sens)`, `(logit, sens, label)` or `(logit, feat, sens, label)`"


class Inputs(NamedTuple):
    """One batch behind the border: one device, one dtype, vectors of shape `(n,)`."""

    pred: Tensor  # (n,)
    sens: Tensor | None  # (n, d_s)
    weight: Tensor | None  # (n,)
    named: dict[str, object]  # what a statistic may ask for by name

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.pred.shape[0]


def sort_positional(
    args: tuple[object, ...],
    feat: object,
    sens: object,
    label: object,
    *,
    grouped: bool = True,
) -> tuple[object, object, object]:
    """Read `[feat,] sens[, label]` by their number; without groups `[feat,] label`."""
    names: tuple[str, ...]
    if grouped:
        names = {1: ("sens",), 2: ("sens", "label")}.get(
            len(args), ("feat", "sens", "label")
        )
    else:
        names = ("label",) if len(args) == 1 else ("feat", "label")
    if len(args) > len(names):
        raise ArgumentError(
            f"The call must have the form {FORMS}; got {len(args)} positional "
            "arguments after the first. Pass further inputs of a statistic by keyword."
        )
    given = {"feat": feat, "sens": sens, "label": label}
    for name, value in zip(names, args, strict=False):
        if given[name] is not None:
            raise ArgumentError(
                f"`{name}` must be given once; got it by position and by keyword. "
                f"The forms of the call are {FORMS}."
            )
        given[name] = value
    return given["feat"], given["sens"], given["label"]


def check_batch(
    pred: object,
    feat: object,
    sens: object,
    label: object,
    weight: object,
    extra: Mapping[str, object],
    *,
    name: str,
    grouped: bool = True,
    layout: Layout = "wide",
    may_be_empty: bool = False,
) -> Inputs:
    """Check the arguments of a call and bring them to one dtype.

    Args:
        pred: Logits or probabilities, as `name` says.
        feat: Handed to statistics as it is.
        sens: Memberships in [0, 1], `(n, d_s)`.
        label: Labels in [0, 1].
        weight: Non-negative sample weights.
        extra: Further inputs of the statistic, by name.
        name: What `pred` is called in messages: "logit" or "prob".
        grouped: Whether `sens` is required.
        layout: How to hand `sens` on: "wide" in float64; "narrow" in the dtype of the
            result where it is large, which spares a copy; or as "given".
        may_be_empty: Whether other processes may have all the rows.
    """
    rows = _as_rows(name, pred)
    if name == "logit" and not rows.is_floating_point():
        raise DtypeError(
            f"`logit` must be of a floating dtype; got {rows.dtype}. Pass the model's "
            "raw output, or probabilities with `pred_as_logit=False`."
        )
    n, device = rows.shape[0], rows.device
    # float64 everywhere: 1 - h has no digits left in float32 beyond a logit of 17
    dtype = torch.float32 if device.type == "mps" else torch.float64
    if n == 0 and not may_be_empty:
        raise ShapeError(
            f"`{name}` must have at least one row; got an empty batch. Skip empty "
            "batches, or use `drop_last=True` in the loader."
        )
    look = device.type == "cpu" and not torch.compiler.is_compiling() and n > 0
    if look:
        _check_range(name, rows, None if name == "logit" else (0.0, 1.0))
    named: dict[str, object] = dict(extra)
    if feat is not None:
        named["feat"] = feat
    if label is not None:
        y = _as_rows("label", label, n, device)
        if look:
            _check_range("label", y, (0.0, 1.0))
        named["label"] = y.to(dtype)
    if weight is not None:
        weight = _as_rows("weight", weight, n, device)
        if look:
            _check_range("weight", weight, (0.0, torch.finfo(torch.float32).max))
        weight = weight.to(dtype)
    s = None
    if grouped:
        s = _check_sens(sens, n, device, look)
        if layout != "given":
            small = layout == "wide" or s.numel() <= SMALL
            s = s.to(dtype if small else result_dtype(rows))
    return Inputs(rows.to(dtype), s, weight, named)


def _as_tensor(name: str, value: object) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if value is None:
        raise ArgumentError(
            f"`{name}` is required; got nothing. The forms of the call are {FORMS}."
        )
    raise DtypeError(
        f"`{name}` must be a tensor; got {type(value).__name__}. Convert it with "
        "`torch.as_tensor(numpy.asarray(...))`; `fairret.sensitive.SensitiveEncoder` "
        "makes `sens` from a table."
    )


def _as_rows(
    name: str, value: object, n: int | None = None, device: torch.device | None = None
) -> Tensor:
    """Remove a trailing 1, and insist on one number a row."""
    tensor = _as_tensor(name, value)
    if tensor.dim() == 2 and tensor.shape[1] == 1:
        tensor = tensor[:, 0]
    if tensor.dim() != 1:
        hint = {
            "logit": "For two classes pass `logit[:, 1] - logit[:, 0]`; "
            "more than two are not supported.",
            "prob": "For two classes pass the column of the positive one.",
            "label": "Pass one-hot labels as `label.argmax(1)`.",
        }.get(name, "Pass one number for every row.")
        raise ShapeError(
            f"`{name}` must have shape (n,) or (n, 1); "
            f"got {tuple(tensor.shape)}. {hint}"
        )
    if n is not None and tensor.shape[0] != n:
        raise ShapeError(
            f"`{name}` must have n={n} rows, the number of predictions; "
            f"got {tensor.shape[0]}. Take both from the same batch."
        )
    _check_device(name, tensor, device)
    if tensor.is_complex():
        raise DtypeError(
            f"`{name}` must be real; got {tensor.dtype}. Pass a real dtype."
        )
    return tensor


def _check_device(name: str, tensor: Tensor, device: torch.device | None) -> None:
    if device is not None and tensor.device != device:
        raise DeviceError(
            f"`{name}` must be on {device}, the device of the predictions; "
            f"got {tensor.device}. Move it with `{name}.to({str(device)!r})`."
        )


def _check_sens(sens: object, n: int, device: torch.device, look: bool) -> Tensor:
    tensor = _as_tensor("sens", sens)
    if tensor.is_complex() or tensor.layout != torch.strided:
        raise DtypeError(
            "`sens` must be a dense tensor of real numbers; got "
            f"{tensor.dtype}, {tensor.layout}. Convert it with `sens.to_dense()`."
        )
    if tensor.dim() == 2 and tensor.shape[0] != n:
        raise ShapeError(
            f"`sens` must have n={n} rows, the number of predictions; "
            f"got {tuple(tensor.shape)}. Take both from the same batch."
        )
    if tensor.dim() != 2 or tensor.shape[1] == 0:
        raise ShapeError(
            f"`sens` must have shape (n, d_s) with n={n}, the number of predictions; "
            f"got {tuple(tensor.shape)}. Pass a single trait as `sens[:, None]`, and "
            "one-hot encode a categorical one (see `fairret.sensitive`)."
        )
    _check_device("sens", tensor, device)
    if look and not _within(tensor, (0.0, 1.0)):
        low, high = _extremes(tensor)
        if low != low:
            raise RangeError(
                "`sens` must not contain NaN; got it in "
                f"{int(tensor.isnan().any(1).sum())} of {n} rows. A missing value "
                "belongs to no group: 0 in all columns of its trait."
            )
        raise RangeError(
            f"`sens` must hold memberships in [0, 1]; got values from {low:g} to "
            f"{high:g}. One-hot encode a categorical trait and scale a continuous one "
            "to [0, 1]: `fairret.sensitive.SensitiveEncoder` does both."
        )
    return tensor


def _extremes(tensor: Tensor) -> tuple[float, float]:
    if tensor.dtype == torch.bool:
        tensor = tensor.to(torch.uint8)
    low, high = torch.aminmax(tensor.detach())  # NaN comes through as NaN
    return float(low), float(high)


def _within(tensor: Tensor, bounds: tuple[float, float]) -> bool:
    low, high = _extremes(tensor)
    return bounds[0] <= low and high <= bounds[1]


def _check_range(name: str, tensor: Tensor, bounds: tuple[float, float] | None) -> None:
    low, high = _extremes(tensor)
    if low != low:
        raise RangeError(
            f"`{name}` must not contain NaN; got {int(tensor.isnan().sum())} of "
            f"{tensor.shape[0]} rows. "
            + (
                "Look for a model that diverged, or for missing values in its input."
                if name in ("logit", "prob")
                else "Drop the rows where it is unknown."
            )
        )
    if bounds is not None and not (bounds[0] <= low and high <= bounds[1]):
        what, hint = {
            "weight": ("be finite and at least 0", "Check how the weights were made."),
            "prob": (
                "lie in [0, 1]",
                "Pass `torch.sigmoid(logit)`, or the logits themselves to a loss.",
            ),
        }.get(name, ("lie in [0, 1]", "Code the positive class as 1, the other as 0."))
        raise RangeError(
            f"`{name}` must {what}; got values from {low:g} to {high:g}. {hint}"
        )


def check_positive(name: str, value: float, hint: str) -> float:
    """Insist on a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DtypeError(
            f"`{name}` must be a number; got {type(value).__name__}. {hint}"
        )
    if not 0 < value < float("inf"):
        raise RangeError(f"`{name}` must be positive and finite; got {value!r}. {hint}")
    return value


def check_share(name: str, value: float) -> float:
    """Insist on a probability; a threshold may be 0 or 1, a confidence not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DtypeError(
            f"`{name}` must be a number between 0 and 1; got {type(value).__name__}. "
            "Pass 0.5, say."
        )
    if not (0 <= value <= 1 if name == "threshold" else 0 < value < 1):
        raise RangeError(
            f"`{name}` must be between 0 and 1; got {value!r}. It is a probability, "
            "also where the scores are logits."
        )
    return float(value)


def result_dtype(pred: Tensor) -> torch.dtype:
    """float64 for float64 input, else float32."""
    return torch.float64 if pred.dtype == torch.float64 else torch.float32


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast from taking the sums in half precision."""
    kind = device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.autocast(kind, enabled=False)
    return nullcontext()


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name was perhaps meant."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
