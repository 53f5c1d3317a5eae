"""The functions that docs/reproduction.md takes its numbers from."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pandas as pd
from claim_changes import Changes
from claim_costs import Costs
from claim_falls import Falls
from claim_grids import Grids
from claim_tables import CHANCE, MAIN_DATASETS
from claim_verdicts import Verdicts
from claim_volumes import PAPERS_VIEW, Volumes
from claim_words import interval, sign, with_error

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.differences import (
    Difference,
    compare_volumes,
    paired_difference,
)
from fairret.lab.experiment.hypervolume import VIEWS
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR


class Numbers(Volumes, Grids, Changes, Falls, Costs, Verdicts):
    """Values, volumes and differences of the tables in a folder, by function.

    Args:
        folder: Where the tables are.
    """

    def functions(self) -> dict[str, Callable[..., object]]:
        """What a template may call: the public methods."""
        own = [name for name in dir(self) if not name.startswith("_")]
        return {name: getattr(self, name) for name in own if name != "folder"}

    def _gap(
        self,
        dataset: str,
        statistic: str,
        first: str,
        second: str,
        view: str,
        *,
        curve: bool = False,
        table: str = "",
        measure: str = "violation",
    ) -> Difference | None:
        try:
            a, b = (
                self._volume(dataset, statistic, x, view, table, measure)
                for x in (first, second)
            )
        except KeyError:
            return None
        found = compare_volumes(a, b, "curve" if curve else "steps")
        return found if math.isfinite(found.mean) else None

    def gap(self, *arguments: str, **options: Any) -> str:
        """Difference of two volumes with its interval; bold where it excludes 0."""
        return interval(self._gap(*arguments, **options))

    def count_gaps(
        self,
        first: str,
        *others: str,
        **how: Any,
    ) -> str:
        """Count where the first is better and worse than others by the intervals."""
        signs = self._signs(first, others, **how)
        return f"{signs[1]} better and {signs[-1]} worse of {signs.total()}"

    def count_close(self, first: str, second: str, limit: float, **how: Any) -> str:
        """Count the intervals whose ends are both within a limit."""
        gaps = self._gaps(first, [second], **how)
        close = sum(max(-one.low, one.high) <= limit for one in gaps)
        return f"{close} of {len(gaps)}"

    def _signs(self, first: str, others: Iterable[str], **how: Any) -> Counter[int]:
        return Counter(sign(one) for one in self._gaps(first, others, **how))

    def _gaps(
        self,
        first: str,
        others: Iterable[str],
        statistics: Iterable[str] = tuple(NOTIONS),
        datasets: Iterable[str] = MAIN_DATASETS,
        views: Iterable[str] = tuple(VIEWS),
        **how: Any,
    ) -> list[Difference]:
        places = [*product(datasets, statistics, views)]
        found = [
            self._gap(dataset, statistic, first, other, view, **how)
            for other in others
            for dataset, statistic, view in places
        ]
        gaps = [one for one in found if one is not None]
        if not gaps:
            raise KeyError(f"no volumes of {first} and {others} in common")
        return gaps

    def count_table(
        self, pairs: Iterable[tuple[str, str]], notions: Iterable[str], **how: Any
    ) -> str:
        """Rows of such counts, one per pair of methods and notion.

        The columns are the paper's own pair of measures, all pairs, all pairs by their
        curves, and all pairs for the violation beyond chance.
        """
        columns: tuple[dict[str, Any], ...] = (
            {"views": [PAPERS_VIEW]},
            {},
            {"curve": True},
            {"measure": CHANCE},
        )
        rows = []
        for (first, second), statistic in product([*pairs], notions):
            counts = [
                self._signs(first, [second], statistics=[statistic], **options, **how)
                for options in columns
            ]
            cells = [f"{x[1]}, {x[-1]} of {x.total()}" for x in counts]
            place = f"{first} against {second}, {NOTIONS[statistic]}"
            rows.append(f"| {place} | {' | '.join(cells)} |")
        return "\n".join(rows)

    def gap_table(self, first: str, second: str, **how: Any) -> str:
        """Rows of differences, one per dataset and notion, a column per view."""
        rows = []
        for dataset, name in DATASETS.items():
            if dataset == "synthetic":
                continue
            for statistic, notion in NOTIONS.items():
                gaps = [
                    self._gap(dataset, statistic, first, second, view, **how)
                    for view in VIEWS
                ]
                if any(gaps):
                    cells = " | ".join(map(interval, gaps))
                    rows.append(f"| {name}, {notion} | {cells} |")
        return "\n".join(rows)

    def slower(self, method: str) -> str:
        """Mean seconds of training relative to Unfair, as in the figure.

        The error is that of the ratios to Unfair of the same seed.
        """
        own = self.table("run_times").set_index("seed")
        one, unfair = (
            own[own["method"] == name]["seconds"] for name in (method, UNFAIR)
        )
        return with_error(one.mean() / unfair.mean(), (one / unfair).sem())

    def slowest(self) -> str:
        """The largest mean of these times, and the largest end of an interval."""
        own = self.table("run_times").set_index("seed")
        unfair = own[own["method"] == UNFAIR]["seconds"]
        times = [
            paired_difference((one["seconds"] / unfair).tolist())
            for name, one in own.groupby("method")
            if name != UNFAIR
        ]
        most, high = max(x.mean for x in times), max(x.high for x in times)
        return f"{most:.2f} times Unfair in the mean, up to {high:.2f} by intervals"

    def more_seconds(self, first: str, second: str) -> str:
        """How much longer KL trains with one limit of steps than with another."""
        one, two = (
            self._select("iterations", "acsincome", "KL", "pr", name).set_index("seed")
            for name in (first, second)
        )
        gap = paired_difference((one["seconds"] - two["seconds"]).tolist())
        return f"{interval(gap, 1)} s"

    def batch_loss(self, loss: str, size: int) -> str:
        """Mean loss of batches of a size, and the loss of all rows at once."""
        table = pd.read_csv(self.folder / "batch_losses.csv")
        own = table[(table["loss"] == loss) & (table["size"] == size)].squeeze()
        return f"{own['mean']:.3f} ({own['whole']:.3f} of all rows at once)"
