"""Checks of the options of a training, with scikit-learn's type of error."""

from __future__ import annotations

import math
from numbers import Integral, Real

import torch

from fairret.estimator.base import ParameterError


def check_number(
    name: str, value: object, low: float, high: float, *, above: bool = False
) -> float:
    """Require a number of at least `low`, or above it, that is less than `high`.

    Raises:
        ParameterError: If it is none.
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if real else math.nan  # type: ignore[arg-type]  # it is a number
    if not low <= number < high or (above and number == low):
        least = f"above {low:g}" if above else f"at least {low:g}"
        most = "finite" if high == math.inf else f"below {high:g}"
        raise ParameterError(
            f"`{name}` must be a number, {least} and {most}; got {value!r}."
        )
    return number


def check_count(name: str, value: object, least: int) -> int:
    """Require a whole number of at least `least`.

    Raises:
        ParameterError: If it is none.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least:  # type: ignore[operator]  # it is a number
        raise ParameterError(
            f"`{name}` must be a whole number of at least {least}; got {value!r}."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]  # the same


def find_device(device: str | torch.device) -> torch.device:
    """Find a device, and try it.

    Raises:
        ParameterError: If there is none.
    """
    try:
        return torch.zeros(1, device=device).device
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise ParameterError(
            f"`device` must be available here; got {device!r}, and torch says: "
            f"{str(error).splitlines()[0]} Use 'cpu'."
        ) from None
