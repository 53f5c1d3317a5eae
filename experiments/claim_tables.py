"""The tables of results that docs/reproduction.md is about, and single values."""

from functools import cache
from pathlib import Path

import pandas as pd
from claim_words import interval, listed, sign
from train import ORDER, read_runs

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.differences import paired_difference
from fairret.lab.experiment.export import read_frame
from fairret.lab.experiment.grid import REVISION
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR, name_variants

CHANNELS = {"scores", "decisions", "decisions at the base rate"}
MAIN = ("trade_offs", "trade_offs_acs")
MAIN_DATASETS = ("lawschool", "bank", "creditcard", "acsincome")
CHANCE = "violation_beyond_chance"
CONTENTS = {
    "trade_offs": "Bank, CreditCard and LawSchool",
    "trade_offs_acs": "ACSIncome",
    "trade_offs_other": "Norm, JS and SED",
    "trade_offs_other_acs": "the same on ACSIncome",
    "single_trait": "a single trait",
    "single_trait_acs": "the same on ACSIncome",
    "released": "fairret 0.1.3 beside ours",
    "peers": "other packages",
    "axes": "sharpness and the exact gradient",
    "architectures": "networks and learning rates",
    "run_times": "run times, 25 epochs",
    "iterations": "iterations, 25 epochs",
}
OTHER = ("Norm", "JS", "SED")


class Tables:
    """The tables in a folder, and values in them.

    Args:
        folder: Where the tables are; its subfolder `partial` has those of seeds that
            are not complete.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read = cache(read_frame)
        self.table = cache(self._table)

    def _table(self, name: str) -> pd.DataFrame:
        data = self._read(self.folder / f"{name}.parquet")
        return data[data["status"] == "done"]

    def has(self, table: str, text: str = "") -> bool:
        """Whether there is a table, with a column that contains a text."""
        if not (self.folder / f"{table}.parquet").exists():
            return False
        return any(text in column for column in self.table(table))

    def is_new(self, table: str) -> bool:
        """Whether a table is of the present revision, which stores verdicts."""
        return self.has(table, "beyond_chance")

    def revision(self, table: str) -> int:
        """The revision of a table."""
        return REVISION if self.is_new(table) else REVISION - 1

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
        how: str = "mean",
    ) -> str:
        """Mean over seeds, at one strength, or the "least" or "most" over strengths.

        Or at the "largest" strength; or, by `how`, the "median" or the "min" over
        seeds.
        """
        own = self._select(table, dataset, method, statistic, variant)
        column = self._column(table, statistic, what, part)
        means = own.groupby("strength")[column].agg(how)
        chosen = {
            "least": means.min(),
            "most": means.max(),
            "largest": means.iloc[-1],
        }
        value = chosen[strength] if isinstance(strength, str) else means.loc[strength]
        return f"{value:.{digits}f}"

    def _select(
        self, table: str, dataset: str, method: str, statistic: str, variant: str = ""
    ) -> pd.DataFrame:
        data = self.table(table or usual_table(dataset))
        own = data[(data["dataset"] == dataset) & (data["method"] == method)]
        own = own[own["statistic"].isin(["", statistic])]
        names = name_variants([*dict.fromkeys(own["options"])])
        if variant or len(names) > 1:
            own = own[own["options"].map(names) == variant]
        if own.empty:
            raise KeyError(f"no runs of {(table, dataset, method, statistic, variant)}")
        return own

    def _column(self, table: str, statistic: str, what: str, part: str) -> str:
        traits = measured_traits(table)
        kind, channel = "violation", what
        if what.startswith("floor "):
            kind, channel = "floor", what.removeprefix("floor ")
        if channel in CHANNELS:
            return f"{part}/{kind}/{statistic}/{channel}/{traits}"
        return f"{part}/{what}"

    def strengths(self, table: str, method: str) -> str:
        """List the strengths of a method, in words."""
        data = self.table(table)
        own = sorted({*data[data["method"] == method]["strength"]})
        return listed([f"{one:g}" for one in own])

    def largest_difference(self, channel: str) -> str:
        """Largest difference between SmoothMax of 0.1.3 and ours, same strength.

        Of means over seeds, in words, with the interval of the paired difference, and
        how many differ by intervals.
        """
        data, found = self.table("released"), []
        for statistic in NOTIONS:
            column = self._column("", statistic, channel, "test")
            own = data[data["statistic"] == statistic].set_index(
                ["dataset", "strength", "seed"]
            )
            one, two = (
                own[own["method"] == name][column]
                for name in ("SmoothMax 0.1.3", "SmoothMax")
            )
            found += [
                paired_difference(gaps.tolist())
                for _, gaps in (one - two).dropna().groupby(level=[0, 1])
            ]
        words = interval(max(found, key=lambda gap: abs(gap.mean)), 3)
        clear = sum(sign(gap, 3) != 0 for gap in found)
        return f"{words} ({clear} of {len(found)} differ by intervals)"

    def kept_epochs(self, dataset: str) -> str:
        """The epochs that validation rows chose for Unfair, counted from 1."""
        epochs = self._select("", dataset, UNFAIR, "pr")["epoch"] + 1
        return f"{epochs.min():.0f} to {epochs.max():.0f}"

    def rows(self, dataset: str) -> str:
        """Count the rows of a dataset, those of validation included."""
        return f"{sum(self._rows(dataset).values()):,}"

    def parts(self, dataset: str) -> str:
        """Count the rows for training, validation (if any) and test, in words."""
        found = self._rows(dataset).values()
        return " / ".join(f"{count:,}" for count in found if count)

    def largest(self, method: str) -> str:
        """The largest strength of a method on most panels, and exceptions, in words."""
        names = [name for name in MAIN if self.has(name)]
        data = pd.concat([self.table(name) for name in names])
        own = data[data["method"] == method]
        most = own.groupby(["dataset", "statistic"], sort=False)["strength"].max()
        usual = most.mode().iloc[0]
        others = [
            f"{strength:g} for {NOTIONS[statistic]} on {DATASETS[dataset]}"
            for (dataset, statistic), strength in most.items()
            if strength != usual
        ]
        return f"{usual:g}" + (f" ({listed(others)})" if others else "")

    def _rows(self, dataset: str) -> dict[str, int]:
        own = self.table(usual_table(dataset))
        first = own[own["dataset"] == dataset].iloc[0]
        parts = ("train", "validation", "test")
        return {part: int(first.get(f"{part}/rows", 0)) for part in parts}

    def commits(self) -> str:
        """Count the commits that trained the runs, and name the versions, in words."""
        tables = [self.table(name) for name in CONTENTS if self.has(name, "commit")]
        data = pd.concat([one[["commit", "fairret", "torch"]] for one in tables])
        versions = [
            f"{name} {listed(sorted({*data[name]}))}" for name in ("fairret", "torch")
        ]
        return f"{data['commit'].nunique()} commits of {' with '.join(versions)}"

    def content_table(self) -> str:
        """Rows about the tables that there are: runs, revision and seeds."""
        return "\n".join(
            f"| `results/{name}.parquet` | {content}: {self.runs(name)} runs | "
            f"{self.revision(name)}, {self.seeds(name)} seeds |"
            for name, content in CONTENTS.items()
            if self.has(name)
        )

    def unfinished(self) -> str:
        """List what the experiment files plan and the tables do not have, in words."""
        found = []
        for name in ORDER:
            runs = read_runs(name)
            if not self.is_new(name):
                found.append(f"all of `{name}`")
            elif self.seeds(name) < len({run.seed for run in runs}):
                found.append(f"the seeds of `{name}` from {self.seeds(name)} on")
        return listed(found)

    def partial_runs(self) -> str:
        """Count the runs of incomplete seeds."""
        paths = [self.folder / "partial" / f"{name}.parquet" for name in ORDER]
        return f"{sum(len(self._read(path)) for path in paths if path.exists()):,}"

    def _with_verdicts(self) -> list[str]:
        tables = {name: usual_table(name) for name in MAIN_DATASETS}
        return [
            name
            for name, table in tables.items()
            if self.is_new(table) and name in {*self.table(table)["dataset"]}
        ]


def at_strength(own: pd.DataFrame, strength: float | None = None) -> pd.DataFrame:
    """The runs of one strength; of the largest, if none is given."""
    wanted = own["strength"].max() if strength is None else strength
    return own[own["strength"] == wanted]


def measured_traits(table: str) -> str:
    """Which traits the violations of a table are about."""
    return "single" if table.startswith(("peers", "single_trait")) else "all"


def usual_table(dataset: str, method: str = "") -> str:
    """Name of the table that has the runs of a dataset and method, for all traits."""
    return table_of(dataset, "trade_offs_other" if method in OTHER else "trade_offs")


def table_of(dataset: str, table: str) -> str:
    """Name of the table that has a dataset: ACSIncome has files of its own."""
    own = dataset == "acsincome" and f"{table}_acs" in CONTENTS
    return f"{table}_acs" if own else table
