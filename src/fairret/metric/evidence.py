"""Tests and intervals of several statistics, computed together when first needed."""

from functools import cached_property

from fairret.metric.delta_method import NotionMoments
from fairret.metric.simultaneous_intervals import (
    Bounds,
    Intervals,
    violation_intervals,
)
from fairret.metric.studentised_test import StudentisedTest, studentised_test


class Evidence:
    """The studentised test and the intervals of R single statistics.

    Computing them together is faster than one by one.

    Args:
        moments: The sums of the statistics, `(R, ...)` with K = 1.
        confidence: Of the test and the intervals.
        min_size: Rows that must count for a group to be judged.
        test: The test, if it is part of a larger one.
    """

    def __init__(
        self,
        moments: NotionMoments,
        confidence: float,
        min_size: float,
        test: StudentisedTest | None = None,
    ) -> None:
        self._moments, self._known_test = moments, test
        self._confidence, self._min_size = confidence, min_size

    @cached_property
    def test(self) -> StudentisedTest:
        """The test, `(R, d_s)` each."""
        if self._known_test is not None:
            return self._known_test
        found = studentised_test(self._moments, self._confidence, self._min_size)
        return StudentisedTest(*(x[:, 0] for x in found))

    @cached_property
    def intervals(self) -> Intervals:
        """Intervals of violations, `(R, d_s)`, and of the largest, `(R,)`.

        Within chance there may be no gap at all, so the lower bound is 0.
        """
        test = self.test
        found = violation_intervals(
            self._moments, test.judged[:, None], self._confidence
        )
        each, largest = (Bounds(*(x[:, 0] for x in bounds)) for bounds in found)
        low = each.low.where(test.beyond | each.low.isnan(), 0.0)
        least = largest.low.where(test.beyond.any(-1) | largest.low.isnan(), 0.0)
        return Intervals(each._replace(low=low), largest._replace(low=least))
