"""Differences between two methods, paired by seed, with their intervals."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from fairret.errors import missing_extra
from fairret.lab.experiment.hypervolume import (
    Gain,
    Volume,
    effective_seeds,
    seed_values,
)

CONFIDENCE = 0.95


class Difference(NamedTuple):
    """A mean difference over seeds with its interval of 95 % confidence."""

    mean: float
    low: float  # NaN, as `high`, with fewer than two seeds
    high: float
    seeds: int

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def paired_difference(
    values: Sequence[float], effective: float | None = None
) -> Difference:
    r"""Mean of some differences, with the interval of Student's t distribution.

    .. math::
        \bar d \pm t_{n - 1} \, \frac{s}{\sqrt n}

    Seeds change the split, the initial weights and the order of the batches of both
    methods alike, so that their difference varies less than either.

    Args:
        values: A difference per seed.
        effective: Number of seeds that the degrees of freedom are counted from, if some
            seeds count little.
    """
    own = np.asarray(values, float)
    n = len(own)
    if n == 0:
        return Difference(math.nan, math.nan, math.nan, 0)
    mean = float(own.mean())
    if n == 1 or math.isnan(mean):
        return Difference(mean, math.nan, math.nan, n)
    degrees = (n if effective is None else effective) - 1
    half = _student(degrees) * float(own.std(ddof=1)) / math.sqrt(n)
    return Difference(mean, mean - half, mean + half, n)


def compare_volumes(
    first: Volume, second: Volume, of: Literal["steps", "curve"] = "steps"
) -> Difference:
    """Compute by how much the first exceeds the second, over the seeds of both.

    The difference is that of the shares of the possible gain; NaN if one is.
    """
    if math.isnan(first.value) or math.isnan(second.value):
        return paired_difference([])
    common = _of_both(first.gains, second.gains)
    a, b = (seed_values(own, of) for own in common)
    gaps = [x - y for x, y in zip(a, b, strict=True)]
    return paired_difference(gaps, effective_seeds(common[0]))


def _of_both(
    first: Mapping[int, Gain], second: Mapping[int, Gain]
) -> tuple[list[Gain], list[Gain]]:
    both = [seed for seed in first if seed in second]
    return [first[seed] for seed in both], [second[seed] for seed in both]


def _student(degrees: float) -> float:
    try:
        stats: Any = importlib.import_module("scipy.stats")
    except ImportError:
        raise missing_extra("Intervals need", "scipy", "experiment") from None
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, max(degrees, 1e-3)))
