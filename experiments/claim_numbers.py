"""The functions that docs/reproduction.md takes its numbers from."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from claim_tables import Tables, measured_traits, usual_table

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.differences import (
    Difference,
    compare_volumes,
    paired_difference,
)
from fairret.lab.experiment.hypervolume import AT_BASE_RATE, VIEWS, Volume, volumes
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR

DIRECT = ("scores", "decisions")
MAIN_DATASETS = ("lawschool", "bank", "creditcard", "acsincome")
NAMES = {"KL 0.1.3": "KL of 0.1.3", "SmoothMax 0.1.3": "SmoothMax of 0.1.3"}


class Numbers(Tables):
    """Values, volumes and differences of the tables in a folder, by function.

    Args:
        folder: Where the tables are.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.volumes = cache(self._volumes)

    def functions(self) -> dict[str, Callable[..., object]]:
        """List what a template may call."""
        names = (
            *("val", "vol", "gap", "count_gaps", "volume_table", "gap_table"),
            *("runs", "seeds", "verdict_table", "has", "cost"),
            *("one_view_table", "largest_difference", "partial_runs"),
            *("content_table", "rows", "slower", "beyond", "fall_table", "strengths"),
            *("has_method", "is_new", "revision", "unfinished", "change_table"),
            *("count_changes", "decisions_beyond", "fall_of"),
            *("architecture", "best_architecture", "architecture_gap"),
        )
        return {name: getattr(self, name) for name in names}

    def _volumes(self, table: str, measure: str) -> dict[tuple[str, ...], Volume]:
        data, traits = self.table(table), measured_traits(table)
        views = VIEWS | AT_BASE_RATE
        found = volumes(data, (traits,), measure, views)  # type: ignore[arg-type]
        return {(v.dataset, v.statistic, v.label, v.view): v for v in found}

    def _volume(
        self,
        dataset: str,
        statistic: str,
        method: str,
        view: str,
        table: str = "",
        measure: str = "violation",
    ) -> Volume:
        if not table and not self.is_new(table := usual_table(dataset, method)):
            raise KeyError(f"{table} is of an earlier revision")
        if not self.has(table):
            raise KeyError(table)
        own = self.volumes(table, measure)
        return own[dataset, statistic, method, view]

    def vol(self, *arguments: str, curve: bool = False, **options: str) -> str:
        """Volume ± its standard error; a dash where it does not exist."""
        try:
            one = self._volume(*arguments, **options)
        except KeyError:
            return "–"
        pair = (one.curve, one.curve_error) if curve else (one.value, one.error)
        table = options.get("table") or (*arguments, "")[4]
        table = table or usual_table(one.dataset, one.label)
        own = self.table(table)
        every = own[own["dataset"] == one.dataset]["seed"].nunique()
        few = f" ({one.seeds} seeds)" if one.seeds < every else ""
        words = _with_error(*pair)
        return words if words == "–" else words + few

    def one_view_table(self, table: str, methods: Iterable[str], view: str) -> str:
        """Rows of one view, one per dataset and notion, a column per method."""
        rows = []
        for dataset, statistic in dict.fromkeys(
            key[:2] for key in self.volumes(table, "violation")
        ):
            cells = [self.vol(dataset, statistic, x, view, table) for x in methods]
            if any(cell != "–" for cell in cells):
                place = f"{DATASETS[dataset]}, {NOTIONS[statistic]}"
                rows.append(f"| {place} | {' | '.join(cells)} |")
        return "\n".join(rows)

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
        return _interval(self._gap(*arguments, **options))

    def count_gaps(
        self,
        first: str,
        second: str,
        *,
        statistics: Iterable[str] = tuple(NOTIONS),
        datasets: Iterable[str] = MAIN_DATASETS,
        views: Iterable[str] = tuple(VIEWS),
        **how: Any,
    ) -> str:
        """Count where the first is better, level or worse by the intervals."""
        found = [
            self._gap(d, s, first, second, view, **how)
            for d in datasets
            for s in statistics
            for view in views
        ]
        signs = Counter(one.sign for one in found if one is not None)
        if not signs:
            raise KeyError(f"no volumes of {first} and {second} in common")
        return (
            f"better in {signs[1]}, worse in {signs[-1]} and neither in {signs[0]} of "
            f"{sum(signs.values())}"
        )

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
                    cells = " | ".join(map(_interval, gaps))
                    rows.append(f"| {name}, {notion} | {cells} |")
        return "\n".join(rows)

    def change_table(self, method: str, statistics: Iterable[str]) -> str:
        """Rows of what the largest strength changes, one per dataset."""
        rows = []
        for dataset in self._with_verdicts():
            cells = [
                self._change_words(dataset, method, statistic, channel)
                for statistic in statistics
                for channel in DIRECT
            ]
            rows.append(f"| {DATASETS[dataset]} | {' | '.join(cells)} |")
        return "\n".join(rows)

    def count_changes(
        self,
        method: str,
        channel: str,
        statistics: Iterable[str],
        sign: int,
        **how: str,
    ) -> str:
        """Count the datasets and notions where the largest strength raises a value (1).

        Or lowers it (-1); the value is a violation, or the `auroc`.
        """
        found = [
            self._change(dataset, method, statistic, channel, **how)[2].sign
            for dataset in self._with_verdicts()
            for statistic in statistics
        ]
        return f"{found.count(sign)} of {len(found)}"

    def _with_verdicts(self) -> list[str]:
        tables = {name: usual_table(name) for name in MAIN_DATASETS}
        return [
            name
            for name, table in tables.items()
            if self.is_new(table) and name in {*self.table(table)["dataset"]}
        ]

    def _change_words(
        self, dataset: str, method: str, statistic: str, channel: str
    ) -> str:
        before, after, gap = self._change(dataset, method, statistic, channel)
        return f"{before:.3f} to {after:.3f}; {_interval(gap, 3)}"

    def _change(
        self,
        dataset: str,
        method: str,
        statistic: str,
        channel: str,
        part: str = "train",
        measure: str = "violation_beyond_chance",
    ) -> tuple[float, float, Difference]:
        """A value of Unfair and of the largest strength, and the paired difference."""
        column = f"{part}/{measure}/{statistic}/{channel}/all"
        if channel == "auroc":
            column = f"{part}/auroc"
        unfair = self._select("", dataset, UNFAIR, statistic).set_index("seed")[column]
        own = self._select("", dataset, method, statistic)
        most = own[own["strength"] == own["strength"].max()].set_index("seed")[column]
        gaps = (most - unfair).dropna()
        both = gaps.index
        gap = paired_difference(gaps.tolist())
        return float(unfair[both].mean()), float(most[both].mean()), gap

    def slower(self, method: str) -> str:
        """Mean seconds of training relative to Unfair, as in the figure.

        The error is that of the ratios to Unfair of the same seed.
        """
        own = self.table("run_times").set_index("seed")
        one, unfair = (
            own[own["method"] == name]["seconds"] for name in (method, UNFAIR)
        )
        return _with_error(one.mean() / unfair.mean(), (one / unfair).sem())

    def architecture_gap(self, hidden: Iterable[int], rate: float) -> str:
        """By how much the best network exceeds another, paired by seed."""
        found = self._architectures()
        best = max(found.values(), key=lambda one: one.mean())
        gaps = best - found[tuple(hidden), rate]
        return _interval(paired_difference(gaps.tolist()), 4)

    def volume_table(
        self,
        table: str,
        methods: Iterable[str] = (),
        *,
        curve: bool = False,
        measure: str = "violation",
    ) -> str:
        """Rows of volumes, one per dataset, notion and method, a column per view."""
        own = self.volumes(table, measure)
        labels = list(dict.fromkeys(key[2] for key in own))
        rows = []
        for dataset in dict.fromkeys(key[0] for key in own):
            for statistic, notion in NOTIONS.items():
                for label in [x for x in labels if not methods or x in methods]:
                    cells = [
                        self.vol(
                            *(dataset, statistic, label, view, table),
                            measure=measure,
                            curve=curve,
                        )
                        for view in VIEWS
                    ]
                    if any(cell != "–" for cell in cells):
                        place = f"{DATASETS[dataset]}, {notion}"
                        name = NAMES.get(label, label)
                        rows.append(f"| {place} | {name} | {' | '.join(cells)} |")
        return "\n".join(rows)


def _with_error(value: float, error: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{value:.2f} ± {error:.2f}" if math.isfinite(error) else f"{value:.2f}"


def _interval(gap: Difference | None, digits: int = 2) -> str:
    if gap is None:
        return "–"
    mean, low, high = (f"{x:+.{digits}f}" for x in gap[:3])
    if math.isnan(gap.low):
        return mean.replace("-", "−")
    words = f"{mean} ({low} to {high})".replace("-", "−")
    return f"**{words}**" if gap.sign else words
