"""Curves of an audit: violation and accuracy by threshold, calibration by score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairret.auditing.measure import Measurable
from fairret.metric.certificate import certify
from fairret.metric.delta_method import NotionMoments
from fairret.metric.max_t import normal_quantile
from fairret.metric.moments import select_notion
from fairret.metric.wilson import interval, wilson
from fairret.sensitive.coded import Numbers
from fairret.statistic import LinearFractionalStatistic, get_statistic

MOST_POINTS = 8  # of a calibration curve
LEAST_ROWS = 15  # per point


class Line(NamedTuple):
    """A number with its interval at every threshold, `(T,)` each; NaN if unknown."""

    value: list[float]
    low: list[float]
    high: list[float]


class Curve(NamedTuple):
    """The largest violation and the accuracy by threshold."""

    thresholds: list[float]
    violation: Line
    accuracy: Line | None  # None without labels


class Calibration(NamedTuple):
    """The share of positives among people with similar scores, in one group."""

    group: str
    points: list[tuple[float, float, float, float]]  # score, share, its interval


class Curves:
    """Computes curves on request.

    Args:
        rows: What statistics are measured from.
        statistics: The notions, by name.
        confidence: Confidence level of intervals.
        min_size: Rows that must count for a group to be judged.
    """

    def __init__(
        self,
        rows: Measurable,
        statistics: dict[str, LinearFractionalStatistic],
        confidence: float,
        min_size: float,
    ) -> None:
        self._rows = rows
        self._statistics = statistics
        self._confidence = confidence
        self._min_size = min_size

    def curve(self, name: str, model: int) -> Curve | None:
        """Compute a notion at all thresholds."""
        notion = self._statistics[name]
        accuracy = [get_statistic("accuracy")] if self._rows.labelled else []
        found = self._rows.at_thresholds([notion, *accuracy], model)
        if found is None:
            return None
        edges, total = found
        sizes = [len(notion.parts), *(1 for _ in accuracy)]
        violation = self._violation(select_notion(total, sizes, 0))
        line = None
        if accuracy:
            m = select_notion(total, sizes, 1)
            low, high = interval(m, self._confidence)
            line = _line(m.gamma[:, 0, 0], low[:, 0, 0], high[:, 0, 0])
        return Curve(edges.tolist(), violation, line)

    def _violation(self, m: NotionMoments) -> Line:
        found = certify(
            m, confidence=self._confidence, min_size=self._min_size, upper="two-sided"
        )
        return _line(*(_largest(x) for x in found.largest))

    def calibration(self, model: int) -> list[Calibration]:
        """Compare scores with labels per group."""
        sums = self._rows.table.sums
        if sums.histogram is None or not self._rows.labelled:
            return []
        by_class = self._rows.by_class(sums.histogram[:, model])  # (2, B, 3, n)
        names = ("everybody", *self._rows.groups.names)
        s = self._rows.groups.s.double()
        s = torch.cat((torch.ones(len(s), 1).double(), s), 1)
        totals = (by_class @ s).numpy()  # (2, B, 3, d)
        return [self._calibrated(name, totals[..., k]) for k, name in enumerate(names)]

    def _calibrated(self, name: str, total: Numbers) -> Calibration:
        """Join neighbouring bins until they have enough rows."""
        w, wh, ww = total.sum(0).T
        positives = total[1, :, 0]
        rows = w**2 / np.where(ww > 0, ww, 1)
        target = max(LEAST_ROWS, w.sum() ** 2 / max(ww.sum(), 1e-300) / MOST_POINTS)
        z = normal_quantile(self._confidence)
        points: list[tuple[float, float, float, float]] = []
        start = 0
        for end in range(1, len(w) + 1):
            own = slice(start, end)
            last = end == len(w)
            if rows[own].sum() < (LEAST_ROWS if last else target) or w[own].sum() == 0:
                continue
            start = end
            n = w[own].sum() ** 2 / ww[own].sum()
            share = positives[own].sum() / w[own].sum()
            low, high = wilson(torch.tensor(share), torch.tensor(n), z)
            score = float(wh[own].sum() / w[own].sum())
            points.append((score, float(share), float(low), float(high)))
        return Calibration(name, points)


def _largest(x: Tensor) -> Tensor:
    """Return the largest of a stack at every threshold; NaN if none is known."""
    known = ~x.isnan()
    largest = x.masked_fill(~known, -torch.inf).amax(-1)
    return largest.masked_fill(~known.any(-1), torch.nan)


def _line(*columns: Tensor) -> Line:
    value, low, high = (x.tolist() for x in columns)
    return Line(value, low, high)
