"""Parity measured over a stream of batches."""

from fairret.metric.parity import (
    LinearFractionalParity,
    gap_abs_max,
    gap_relative_abs_max,
)

__all__ = ["LinearFractionalParity", "gap_abs_max", "gap_relative_abs_max"]
