"""Parity measured over a stream of batches, with its uncertainty."""

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
from fairret.metric.result import GroupValue, Measured, ParityResult
from fairret.metric.uncertainty import ParityTest

__all__ = [
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
