"""The functions that docs/reproduction.md takes its numbers from."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.differences import Difference, compare_volumes
from fairret.lab.experiment.export import read_frame
from fairret.lab.experiment.hypervolume import VIEWS, Volume, volumes
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR, name_variants

BASELINES = ("PRemover", "HSIC", "HSIC (FFB's bandwidth)", "AdvDebias")
CHANNELS = {"scores", "decisions", "decisions at the base rate"}
NAMES = {"KL 0.1.3": "KL of 0.1.3", "SmoothMax 0.1.3": "SmoothMax of 0.1.3"}


class Numbers:
    """Numbers of the tables in a folder, by function.

    Args:
        folder: Where the tables are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read = cache(read_frame)
        self.table = cache(self._table)
        self.volumes = cache(self._volumes)

    def functions(self) -> dict[str, Callable[..., object]]:
        """List what a template may call."""
        names = (
            *("val", "vol", "gap", "count_gaps", "volume_table", "gap_table"),
            *("runs", "seeds", "verdict_table", "has", "floor_of", "cost"),
            *("one_view_table", "largest_difference", "within", "partial_runs"),
            "planned_runs",
            *("rows", "slower", "beyond"),
        )
        return {name: getattr(self, name) for name in names}

    def _table(self, name: str) -> pd.DataFrame:
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            path = self.folder / "partial" / path.name
        data = self._read(path)
        return data[data["status"] == "done"]

    def _volumes(self, table: str, measure: str) -> dict[tuple[str, ...], Volume]:
        traits = "single" if table in ("peers", "single_trait") else "all"
        data = self.table(table)
        found = volumes(data, (traits,), measure)  # type: ignore[arg-type]
        return {(v.dataset, v.statistic, v.label, v.view): v for v in found}

    def has(self, table: str, text: str = "") -> bool:
        """Whether there is a table, with a column that contains a text."""
        files = (self.folder / f"{table}.parquet", self.folder / "partial")
        if not files[0].exists() and not (files[1] / files[0].name).exists():
            return False
        return any(text in column for column in self.table(table))

    def runs(self, table: str) -> str:
        """Count the runs of a table."""
        return f"{len(self.table(table)):,}"

    def seeds(self, table: str) -> int:
        """Count the seeds of a table."""
        return int(self.table(table)["seed"].nunique())

    def val(
        self,
        dataset: str,
        method: str,
        statistic: str,
        strength: float | str,
        what: str,
        *,
        part: str = "test",
        digits: int = 3,
        table: str = "",
        variant: str = "",
    ) -> str:
        """Mean over seeds, at one strength, or the "least" or "most" over strengths."""
        own = self._select(table, dataset, method, statistic, variant)
        column = self._column(table, statistic, what, part)
        means = own.groupby("strength")[column].mean()
        if isinstance(strength, str):
            return f"{means.min() if strength == 'least' else means.max():.{digits}f}"
        return f"{means.loc[strength]:.{digits}f}"

    def floor_of(
        self,
        dataset: str,
        method: str,
        statistic: str,
        strength: float | str,
        what: str,
        **options: Any,
    ) -> str:
        """Noise floor beside a violation."""
        place = (dataset, method, statistic, strength)
        return self.val(*place, f"floor {what}", **options)

    def _select(
        self, table: str, dataset: str, method: str, statistic: str, variant: str = ""
    ) -> pd.DataFrame:
        data = self.table(table or _usual_table(dataset))
        own = data[(data["dataset"] == dataset) & (data["method"] == method)]
        own = own[own["statistic"].isin(["", statistic])]
        names = name_variants([*dict.fromkeys(own["options"])])
        if variant or len(names) > 1:
            own = own[own["options"].map(names) == variant]
        if own.empty:
            raise KeyError(f"no runs of {(table, dataset, method, statistic, variant)}")
        return own

    def _column(self, table: str, statistic: str, what: str, part: str) -> str:
        traits = "single" if table in ("peers", "single_trait") else "all"
        kind, channel = "violation", what
        if what.startswith("floor "):
            kind, channel = "floor", what.removeprefix("floor ")
        if channel in CHANNELS:
            return f"{part}/{kind}/{statistic}/{channel}/{traits}"
        return f"{part}/{what}"

    def _volume(
        self,
        dataset: str,
        statistic: str,
        method: str,
        view: str,
        table: str = "",
        measure: str = "violation",
    ) -> Volume:
        table = table or _usual_table(dataset)
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
        table = options.get("table") or (*arguments, "")[4] or _usual_table(one.dataset)
        own = self.table(table)
        every = own[own["dataset"] == one.dataset]["seed"].nunique()
        few = f" ({one.seeds} seeds)" if one.seeds < every else ""
        words = _with_error(*pair)
        return words if words == "–" else words + few

    def cost(self, dataset: str, statistic: str, method: str) -> str:
        """AUROC lost at the weakest strength that is below the floor of Unfair."""
        unfair = self._select("", dataset, UNFAIR, statistic)
        own = self._select("", dataset, method, statistic)
        floor = unfair[self._column("", statistic, "floor scores", "test")].mean()
        column = self._column("", statistic, "scores", "test")
        means = own.groupby("strength")[[column, "test/auroc"]].mean()
        below = means[means[column] <= floor]
        if below.empty:
            return "not reached"
        return f"{unfair['test/auroc'].mean() - below['test/auroc'].iloc[0]:.2f}"

    def within(
        self, dataset: str, method: str, statistic: str, strength: float, what: str
    ) -> str:
        """Count the seeds whose violation is below its own floor, training rows."""
        own = self._select("", dataset, method, statistic)
        own = own[own["strength"] == strength]
        y, floor = (
            own[self._column("", statistic, f"{kind}{what}", "train")]
            for kind in ("", "floor ")
        )
        return f"{int((y <= floor).sum())} of {len(own)}"

    def largest_difference(self, channel: str) -> str:
        """Largest difference between SmoothMax of 0.1.3 and ours, same strength."""
        data = self.table("released")
        found = []
        for statistic in NOTIONS:
            column = self._column("", statistic, channel, "test")
            own = data[data["statistic"] == statistic]
            means = own.groupby(["method", "dataset", "strength"])[column].mean()
            gap = (means["SmoothMax 0.1.3"] - means["SmoothMax"]).dropna()
            found.append(gap.abs().max())
        return f"{max(found):.3f}"

    def rows(self, dataset: str) -> str:
        """Count the rows of a dataset, those of validation included."""
        own = self.table(_usual_table(dataset))
        first = own[own["dataset"] == dataset].iloc[0]
        parts = [f"{part}/rows" for part in ("train", "validation", "test")]
        return f"{sum(first.get(part, 0) for part in parts):,.0f}"

    def slower(self, method: str) -> str:
        """Seconds of training, relative to Unfair."""
        means = self.table("run_times").groupby("method")["seconds"].mean()
        return f"{means[method] / means[UNFAIR]:.2f}"

    def partial_runs(self, name: str = "trade_offs") -> str:
        """Count the runs of a table that is not complete yet."""
        path = self.folder / "partial" / f"{name}.parquet"
        return f"{len(self._read(path)):,}" if path.exists() else "0"

    def planned_runs(self, name: str = "trade_offs") -> str:
        """Count the runs of an experiment."""
        path = Path(__file__).with_name(f"{name}.toml")
        return f"{len(list_runs(read_experiment(path))):,}"

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
    ) -> Difference | None:
        try:
            a, b = (
                self._volume(dataset, statistic, x, view, table)
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
        datasets: Iterable[str] = ("bank", "creditcard", "lawschool", "acsincome"),
        views: Iterable[str] = tuple(VIEWS),
        curve: bool = False,
        table: str = "",
    ) -> str:
        """Count where the first is better, level or worse by the intervals."""
        found = [
            self._gap(d, s, first, second, view, curve=curve, table=table)
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

    def gap_table(
        self, first: str, second: str, *, curve: bool = False, table: str = ""
    ) -> str:
        """Rows of differences, one per dataset and notion, a column per view."""
        rows = []
        for dataset, name in DATASETS.items():
            if dataset == "synthetic":
                continue
            for statistic, notion in NOTIONS.items():
                gaps = [
                    self._gap(
                        *(dataset, statistic, first, second, view),
                        curve=curve,
                        table=table,
                    )
                    for view in VIEWS
                ]
                if any(gaps):
                    cells = " | ".join(map(_interval, gaps))
                    rows.append(f"| {name}, {notion} | {cells} |")
        return "\n".join(rows)

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

    def verdict_table(self, channel: str = "scores") -> str:
        """Rows of Unfair's verdicts: p-values and seeds beyond chance."""
        rows = []
        for table in ("trade_offs", "trade_offs_acs"):
            data = self._with_verdicts(table)
            if data is None:
                continue
            data = data[data["method"] == UNFAIR]
            for dataset, own in data.groupby("dataset", sort=False):
                rows += [
                    _verdict_row(DATASETS[str(dataset)], own, statistic, channel)
                    for statistic in NOTIONS
                ]
        return "\n".join(rows)

    def beyond(self, dataset: str, statistic: str, part: str = "train") -> str:
        """Count the seeds of Unfair whose scores are beyond chance."""
        data = self._with_verdicts(_usual_table(dataset))
        assert data is not None
        own = data[(data["method"] == UNFAIR) & (data["dataset"] == dataset)]
        column = own[f"{part}/beyond_chance/{statistic}/scores/all"]
        return f"{int((column == 1).sum())} of {len(own)}"

    def _with_verdicts(self, table: str) -> pd.DataFrame | None:
        """The table, or what is there of its next version, if it has verdicts."""
        for folder in (self.folder, self.folder / "partial"):
            path = folder / f"{table}.parquet"
            if path.exists():
                data = self._read(path)
                if any("beyond_chance" in column for column in data):
                    return data[data["status"] == "done"]
        return None


def _usual_table(dataset: str) -> str:
    return "trade_offs_acs" if dataset == "acsincome" else "trade_offs"


def _with_error(value: float, error: float) -> str:
    if not math.isfinite(value):
        return "–"
    return f"{value:.2f} ± {error:.2f}" if math.isfinite(error) else f"{value:.2f}"


def _interval(gap: Difference | None) -> str:
    if gap is None:
        return "–"
    if math.isnan(gap.low):
        return f"{gap.mean:+.2f}"
    words = f"{gap.mean:+.2f} ({gap.low:+.2f} to {gap.high:+.2f})".replace("-", "−")
    return f"**{words}**" if gap.sign else words


def _verdict_row(dataset: str, runs: pd.DataFrame, statistic: str, channel: str) -> str:
    cells = []
    for part in ("train", "test"):
        path = f"{statistic}/{channel}/all"
        beyond = int((runs[f"{part}/beyond_chance/{path}"] == 1).sum())
        p = runs[f"{part}/p_value/{path}"].median()
        size = runs[f"{part}/violation_beyond_chance/{path}"].mean()
        p_words = f"{p:.1g}" if p > 0 else "< 1e-300"
        cells += [f"{beyond} of {len(runs)}", p_words, f"{size:.3f}"]
    return f"| {dataset}, {NOTIONS[statistic]} | {' | '.join(cells)} |"
