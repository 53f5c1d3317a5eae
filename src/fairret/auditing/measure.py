"""From cells to the sums of a model, of two models together, and at every threshold."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairret.auditing.cells import CellTable, three_points
from fairret.auditing.groups import Groups
from fairret.auditing.rows import NO, NO_NUMBER, YES
from fairret.errors import RangeError
from fairret.metric.by_label import Cells, cell_moments, cross_moments
from fairret.metric.moments import Moments
from fairret.sensitive.coded import Numbers, listing, plain_text
from fairret.statistic import LinearFractionalStatistic


class BaseRate(LinearFractionalStatistic):
    """Share of people whose label is positive; it does not depend on the scores."""

    def nom_intercept(self, label: Tensor) -> Tensor:
        """Count the positives."""
        return label

    def denom_intercept(self) -> float:
        """Count everybody."""
        return 1.0


def find_classes(table: CellTable, positive: Hashable | None) -> dict[Hashable, int]:
    """Find which labels count as 1 and which as 0.

    Raises:
        RangeError: If this is unclear.
    """
    found = table.column(0).categories
    if table.columns.label is None:
        return dict.fromkeys(found, 0)
    name = table.columns.label
    if positive is not None:
        wanted = plain_text(positive)
        classes = {value: int(plain_text(value) == wanted) for value in found}
        if not any(classes.values()):
            raise RangeError(
                f"`positive` must be a value of the label; got {positive!r}, and "
                f"column {name!r} has {listing(found)}. Write it as it is in the data."
            )
        return classes
    words = {value: plain_text(value).lower() for value in found}
    unclear = [value for value, word in words.items() if word not in YES | NO]
    if unclear:
        advice = "Say which value counts as 1 with `positive` (`--positive VALUE`)."
        if all(value in NO_NUMBER for value in unclear):
            advice = (
                f"If {unclear[0]!r} means a missing value, pass `missing={unclear}` "
                f"(`--missing {unclear[0]}`)."
            )
        raise RangeError(
            f"`label` must be 0 or 1; column {name!r} has {listing(found)}. {advice}"
        )
    return {value: int(word in YES) for value, word in words.items()}


class Measurable(NamedTuple):
    """What statistics are measured from.

    Args:
        table: The cells.
        groups: Which groups they are in.
        classes: Which labels count as 1.
    """

    table: CellTable
    groups: Groups
    classes: Mapping[Hashable, int]

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""
        return self.table.columns.label is not None

    def by_class(self, x: Numbers) -> Tensor:
        """Put the class first and cells last: `(2, ..., n)` from `(n, ...)`."""
        label = self.table.column(0)
        y = torch.tensor([self.classes[value] for value in label.categories])
        values = torch.from_numpy(x).movedim(0, -1)
        own = y[torch.from_numpy(label.codes)]
        return torch.stack((values * (own == 0), values * (own == 1)))

    def sums(
        self, statistics: Sequence[LinearFractionalStatistic], model: int
    ) -> Moments:
        """Compute the sums that the statistics of one model need."""
        first, second = (
            self.by_class(x[:, model])
            for x in (self.table.sums.first, self.table.sums.second)
        )
        return self._moments(first, second, statistics, self._points(model))

    def _moments(
        self,
        first: Tensor,
        second: Tensor,
        statistics: Sequence[LinearFractionalStatistic],
        points: Tensor,
    ) -> Moments:
        rows = torch.from_numpy(self.table.sums.rows)
        cells = Cells(first, second, rows, self._heaviest)
        return cell_moments(
            cells, self.groups.s, statistics, points, labelled=self.labelled
        )

    def cross(self, statistic: LinearFractionalStatistic) -> Tensor:
        """Compute the sums of products of two models, `(2, K, 2, K, 2, d, d)`."""
        sums = self.table.sums
        one, two = sums.second[:, 0], sums.second[:, 1]  # (n, 2, 3)
        products = np.stack(
            (one[..., 0], two[..., 1], one[..., 1], sums.cross), -1
        )  # of w², w² h', w² h and w² h h'
        return cross_moments(
            self.by_class(products), self.groups.s, statistic, labelled=self.labelled
        )

    def at_thresholds(
        self, statistics: Sequence[LinearFractionalStatistic], model: int
    ) -> tuple[Numbers, Moments] | None:
        """Compute the sums of decisions at every threshold of the histograms.

        Returns:
            The thresholds, and sums with a channel for each; None without histograms.
        """
        histogram = self.table.sums.histogram
        if histogram is None:
            return None
        own = histogram[:, model]  # (n, B, 3)
        # a score is above edge j exactly if its bin is above j
        above = np.cumsum(own[:, ::-1], 1)[:, ::-1][:, 1:]  # (n, B - 1, 3)
        whole = own.sum(1, keepdims=True) + 0 * above

        def powers(k: int) -> Tensor:
            columns = (whole[..., k], above[..., k], above[..., k])
            return self.by_class(np.stack(columns, -1))  # (2, T, 3, n)

        points = torch.tensor([0.0, 0.0, 1.0]).double().expand(above.shape[1], 2, 3)
        total = self._moments(powers(0), powers(2), statistics, points)
        return self.table.layout.thresholds.edges, total

    @property
    def _heaviest(self) -> Tensor:
        """The largest weight of a row per class, `(2,)`."""
        most = [0.0, 0.0]
        for value, weight in self.table.heaviest.items():
            most[self.classes[value]] = max(most[self.classes[value]], weight)
        return torch.tensor(most, dtype=torch.float64)

    def _points(self, model: int) -> Tensor:
        """Scores and decisions of each class that bound all others, `(2, 2, 3)`."""
        points = torch.full((2, 2, 3), torch.nan, dtype=torch.float64)
        limit = float(self.table.layout.thresholds.limits[model])
        for y in (0, 1):
            found = self.table.points[model].items()
            own = [x for value, x in found if self.classes[value] == y]
            if own:
                points[0, y] = torch.from_numpy(three_points(*own))
                points[1, y] = (points[0, y] > limit).double()
        return points
