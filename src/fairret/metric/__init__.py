"""Parity measured over a stream of batches, with its uncertainty."""

import importlib
from typing import TYPE_CHECKING

from fairret.metric.compute import Measured
from fairret.metric.group_value import GroupValue
from fairret.metric.parity_test import ParityTest
from fairret.metric.result import ParityResult
from fairret.metric.simultaneous_intervals import Bounds

if TYPE_CHECKING:
    from fairret.metric.metrics import (
        MaxViolation,
        Parity,
        ParityDifference,
        ParityRatio,
        ParityTable,
        ViolationNorm,
        ViolationSmoothMax,
    )
    from fairret.metric.parity import (
        LinearFractionalParity,
        gap_abs_max,
        gap_relative_abs_max,
    )

__all__ = [
    "Bounds",
    "GroupValue",
    "LinearFractionalParity",
    "MaxViolation",
    "Measured",
    "Parity",
    "ParityDifference",
    "ParityRatio",
    "ParityResult",
    "ParityTable",
    "ParityTest",
    "ViolationNorm",
    "ViolationSmoothMax",
    "gap_abs_max",
    "gap_relative_abs_max",
]

OF_0_1_3 = ("LinearFractionalParity", "gap_abs_max", "gap_relative_abs_max")


def __getattr__(name: str) -> object:
    """Import torchmetrics only for a metric: it takes longer than a whole audit."""
    if name not in __all__:
        raise AttributeError(f"module 'fairret.metric' has no attribute {name!r}")
    module = "parity" if name in OF_0_1_3 else "metrics"
    found: object = getattr(importlib.import_module(f"fairret.metric.{module}"), name)
    return found
