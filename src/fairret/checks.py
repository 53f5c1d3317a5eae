"""Checks of options and of tensors, with the messages for common mistakes."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn

import numpy as np
import torch
from torch import Tensor

from fairret.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    RangeError,
    ShapeError,
    did_you_mean,
    meant_share,
)

FORMS = "`(logit, sens)`, `(logit, sens, label)` or `(logit, feat, sens, label)`"
FEW = 16  # rows up to which logits may lie in [0, 1] by chance
_warned: set[str] = set()  # warnings that this process has shown
_are_logits = ContextVar("_are_logits", default=False)


def check_options(cls: str, unknown: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that a constructor does not know."""
    if "strength" in unknown:
        raise ArgumentError(
            f"`strength` must not be passed to `{cls}`; it multiplies the loss in the "
            "training loop: `loss = bce(logit, label) + strength * fairret(logit, "
            "sens, label)`. Leave it out here."
        )
    for name in unknown:
        raise ArgumentError(
            f"`{cls}` has no option `{name}`.{did_you_mean(name, known)} "
            f"The options are {', '.join(known)}."
        )


def check_number(name: str, value: object, hint: str) -> float:
    """Require a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DtypeError(
            f"`{name}` must be a number; got {type(value).__name__}. {hint}"
        )
    return value


def check_positive(name: str, value: float, hint: str) -> float:
    """Require a finite number above zero."""
    if not 0 < check_number(name, value, hint) < float("inf"):
        raise RangeError(f"`{name}` must be positive and finite; got {value!r}. {hint}")
    return value


def check_share(name: str, value: float) -> float:
    """Require a probability; a threshold may be 0 or 1, a confidence not."""
    hint = "Pass 0.95, for example; no sample gives a confidence of 0 or 1."
    if name != "confidence":
        hint = "Pass 0.5, for example. It is a probability, even if scores are logits."
    check_number(name, value, hint)
    if not (0 <= value <= 1 if name == "threshold" else 0 < value < 1):
        hint = meant_share(value, hint)
        raise RangeError(f"`{name}` must be between 0 and 1; got {value!r}. {hint}")
    return float(value)


def as_rows(
    name: str, value: object, n: int | None = None, device: torch.device | None = None
) -> Tensor:
    """Remove a trailing 1, and require one number per row."""
    tensor = _as_tensor(name, value)
    if tensor.dim() == 2 and tensor.shape[1] == 1:
        tensor = tensor[:, 0]
    if tensor.dim() != 1:
        hint = {
            "logit": "For two classes pass `logit[:, 1] - logit[:, 0]`; "
            "more than two are not supported.",
            "prob": "For two classes pass the column of the positive one.",
            "label": "Pass one-hot labels as `label.argmax(1)`.",
        }.get(name, "Pass one number per row.")
        raise ShapeError(
            f"`{name}` must have shape (n,) or (n, 1); "
            f"got {tuple(tensor.shape)}. {hint}"
        )
    _check_place(name, tensor, n, device)
    return tensor


def check_sens(sens: object, n: int, device: torch.device, look: bool) -> Tensor:
    """Require memberships, `(n, d_s)`; in [0, 1], if their values may be read."""
    tensor = _as_tensor("sens", sens)
    if tensor.dim() != 2 or tensor.shape[1] == 0:
        raise ShapeError(
            f"`sens` must have shape (n, d_s) with n={n}, the number of predictions; "
            f"got {tuple(tensor.shape)}. Pass a single trait as `sens[:, None]`, and "
            "one-hot encode a categorical one (see `fairret.sensitive`)."
        )
    _check_place("sens", tensor, n, device)
    if look:
        check_range("sens", tensor, (0.0, 1.0))
    return tensor


def _as_tensor(name: str, value: object) -> Tensor:
    """Require a dense tensor of real numbers."""
    if not isinstance(value, Tensor):
        _refuse_type(name, value)
    if value.is_complex() or value.layout != torch.strided:
        raise DtypeError(
            f"`{name}` must be a dense tensor of real numbers; got {value.dtype}, "
            f"{value.layout}. Convert it with `{name}.to_dense()` or `{name}.real`."
        )
    return value


def _refuse_type(name: str, value: object) -> NoReturn:
    if value is None:
        raise ArgumentError(
            f"`{name}` is required; got nothing. The forms of the call are {FORMS}."
        )
    example = example_of_text(value)
    if example is None:
        raise DtypeError(
            f"`{name}` must be a tensor; got {type(value).__name__}. Convert it with "
            "`torch.as_tensor(numpy.asarray(...))`; "
            "`fairret.sensitive.SensitiveEncoder` makes `sens` from a table."
        )
    required, hint = {
        "label": (
            "of 0 and 1",
            "Compare them with the positive class: `torch.as_tensor(numpy.asarray("
            f"label) == {example!r})`, if that is {example!r}.",
        ),
        "sens": (
            "of memberships in [0, 1]",
            "Encode them with `fairret.sensitive.SensitiveEncoder`.",
        ),
    }.get(name, ("of numbers", "Convert them to numbers first."))
    got = f"{type(value).__name__} of strings such as {example!r}"
    if isinstance(value, str):
        got = f"the string {example!r}"
    raise DtypeError(f"`{name}` must be a tensor {required}; got {got}. {hint}")


def example_of_text(value: object) -> str | None:
    """Find a string in a value that should be numbers, if there is one."""
    if isinstance(value, str):
        return value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # ragged, or not on the CPU
        return None
    if array.dtype.kind not in "OSTU":
        return None
    return next((str(x) for x in array.flat if isinstance(x, str | bytes)), None)


def _check_place(
    name: str, tensor: Tensor, n: int | None, device: torch.device | None
) -> None:
    if n is not None and tensor.shape[0] != n:
        raise ShapeError(
            f"`{name}` must have n={n} rows, the number of predictions; "
            f"got {tuple(tensor.shape)}. Take both from the same batch."
        )
    if device is not None and tensor.device != device:
        raise DeviceError(
            f"`{name}` must be on {device}, the device of the predictions; "
            f"got {tensor.device}. Move it with `{name}.to({str(device)!r})`."
        )


def check_range(
    name: str, tensor: Tensor, bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """Require values within bounds, and no NaN; return the extremes."""
    values = tensor.detach()
    low, high = torch.aminmax(values.byte() if values.dtype == torch.bool else values)
    least, most = low.item(), high.item()  # NaN comes through as NaN
    if least != least:
        rows = tensor.isnan().reshape(tensor.shape[0], -1).any(1)
        hint = {
            "logit": "Look for a model that diverged, or missing values in its input.",
            "prob": "Look for a model that diverged, or missing values in its input.",
            "sens": "A missing value is 0 in all columns of its trait.",
        }.get(name, "Drop the rows where it is unknown.")
        raise RangeError(
            f"`{name}` must not contain NaN; got it in {int(rows.sum())} of "
            f"{len(rows)} rows. {hint}"
        )
    if bounds is not None and not (bounds[0] <= least and most <= bounds[1]):
        what, hint = {
            "weight": ("be finite and at least 0", "Check how the weights were made."),
            "prob": (
                "lie in [0, 1]",
                "Pass `torch.sigmoid(logit)`. Losses take logits as they are, metrics "
                "with `pred_as_logit=True`.",
            ),
            "sens": (
                "hold memberships in [0, 1]",
                "One-hot encode a categorical trait and scale a continuous one to "
                "[0, 1]: `fairret.sensitive.SensitiveEncoder` does both.",
            ),
        }.get(name, ("lie in [0, 1]", "Code the positive class as 1, the other as 0."))
        raise RangeError(
            f"`{name}` must {what}; got values from {least:g} to {most:g}. {hint}"
        )
    return least, most


def check_order(sens: object, label: object) -> None:
    """Refuse labels in the place of memberships, and the other way round."""
    if not (isinstance(sens, Tensor) and isinstance(label, Tensor)):
        return
    one_column = sens.dim() == 1 or (sens.dim() == 2 and sens.shape[1] == 1)
    if one_column and label.dim() == 2 and label.shape[1] > 1:
        raise ShapeError(
            "`sens` must have shape (n, d_s) and `label` shape (n,); got "
            f"{tuple(sens.shape)} and {tuple(label.shape)}, so they seem to be "
            "swapped. Pass `sens` before `label`, or both by keyword. If the labels "
            "are one-hot, pass `label.argmax(1)`."
        )


def warn_of_probabilities(n: int, low: float, high: float) -> None:
    """Warn once per process if logits look like probabilities.

    Those of a network that has hardly been trained may all lie in [0.15, 0.4], for
    example. So values on both sides of ½ are required too.
    """
    if not (0 <= low < 0.5 < high <= 1 and n > FEW):
        return
    if "prob" in _warned or _are_logits.get():
        return
    _warned.add("prob")
    warnings.warn(
        f"`logit` should hold logits; all {n} values lie between {low:.3g} and "
        f"{high:.3g} and look like probabilities. Pass `pred_as_logit=False` if they "
        "are; ignore this warning if they are logits. It is shown once.",
        UserWarning,
        stacklevel=_caller_level(),
    )


@contextmanager
def known_logits() -> Iterator[None]:
    """Do not warn of probabilities: the caller's own network gives logits."""
    before = _are_logits.set(True)
    try:
        yield
    finally:
        _are_logits.reset(before)


def _caller_level() -> int:
    """Find the stack level of the first frame outside of fairret and torch."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        module = str(frame.f_globals.get("__name__", "")).split(".")[0]
        if module not in ("fairret", "torch"):
            break
        level, frame = level + 1, frame.f_back
    return level
