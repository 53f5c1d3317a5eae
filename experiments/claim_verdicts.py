"""Whether violations are beyond chance, and how large that part is."""

import pandas as pd
from claim_tables import MAIN, Tables, at_strength, measured_traits, usual_table
from claim_words import p_words

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR


class Verdicts(Tables):
    """Verdicts and p-values of the groups."""

    def verdict_table(self, channel: str = "scores") -> str:
        """Rows of Unfair's verdicts: p-values and seeds beyond chance."""
        rows = []
        for table in MAIN:
            for dataset, own in self._verdicts(table).groupby("dataset", sort=False):
                rows += [
                    _verdict_row(DATASETS[str(dataset)], own, statistic, channel)
                    for statistic in NOTIONS
                ]
        return "\n".join(rows)

    def beyond(self, dataset: str, statistic: str, part: str = "train") -> str:
        """Count the seeds of Unfair whose scores are beyond chance."""
        data = self._verdicts(usual_table(dataset))
        own = data[data["dataset"] == dataset]
        return _count(own[f"{part}/beyond_chance/{statistic}/scores/all"])

    def size(self, dataset: str, statistic: str, part: str = "train") -> float:
        """Mean violation of a typical group beyond chance, of Unfair's scores."""
        data = self._verdicts(usual_table(dataset))
        own = data[data["dataset"] == dataset]
        path = f"{part}/violation_beyond_chance/{statistic}/scores/all"
        return float(own[path].mean())

    def seeds_beyond(
        self,
        dataset: str,
        method: str,
        statistic: str,
        channel: str = "decisions",
        *,
        part: str = "train",
        table: str = "",
        strength: float | None = None,
    ) -> str:
        """Count the seeds in which a group is beyond chance.

        Of the largest strength, if none is given.
        """
        own = self._select(table, dataset, method, statistic)
        path = f"{part}/beyond_chance/{statistic}/{channel}/{measured_traits(table)}"
        return _count(at_strength(own, strength)[path])

    def median_p(
        self,
        dataset: str,
        method: str,
        statistic: str,
        strength: float,
        *,
        part: str = "test",
        table: str = "",
    ) -> float:
        """The median p-value over the seeds that all groups of scores are alike."""
        own = self._select(table, dataset, method, statistic)
        path = f"{part}/p_value/{statistic}/scores/{measured_traits(table)}"
        return float(at_strength(own, strength)[path].median())

    def _verdicts(self, table: str) -> pd.DataFrame:
        """The runs of Unfair that have verdicts, those of incomplete seeds included."""
        paths = [
            folder / f"{table}.parquet"
            for folder in (self.folder, self.folder / "partial")
        ]
        parts = [self._read(path) for path in paths if path.exists()]
        judged = [x for x in parts if any("beyond_chance" in y for y in x)]
        if not judged:
            return pd.DataFrame(columns=["dataset"])
        data = pd.concat(judged)
        own = (data["method"] == UNFAIR) & (data["status"] == "done")
        return data[own].drop_duplicates("key")


def _count(verdicts: pd.Series) -> str:
    """Count verdicts, those that could be given at least."""
    return f"{int((verdicts == 1).sum())} of {int(verdicts.notna().sum())}"


def _verdict_row(dataset: str, runs: pd.DataFrame, statistic: str, channel: str) -> str:
    cells = []
    for part in ("train", "test"):
        path = f"{statistic}/{channel}/all"
        beyond = int((runs[f"{part}/beyond_chance/{path}"] == 1).sum())
        p = p_words(runs[f"{part}/p_value/{path}"].median())
        size = runs[f"{part}/violation_beyond_chance/{path}"].mean()
        cells += [f"{beyond} of {len(runs)}", p, f"{size:.3f}"]
    return f"| {dataset}, {NOTIONS[statistic]} | {' | '.join(cells)} |"
