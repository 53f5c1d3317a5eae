"""What the strengths of a method change."""

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

from claim_tables import CHANCE, MAIN, Tables, at_strength, measured_traits
from claim_words import interval, sign

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.differences import Difference, paired_difference
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR

DIRECT = ("scores", "decisions")
PLAIN = ("auroc", "log_loss", "accuracy", "positive_rate")  # no violation
DIGITS = 3
MEASURES = (  # channel, rows and measure of the table of effects
    ("scores", "train", CHANCE),
    ("scores", "test", CHANCE),
    ("scores", "test", "violation"),
    ("decisions", "train", CHANCE),
    ("decisions", "test", "violation"),
    ("auroc", "test", ""),
)


class Change(NamedTuple):
    """Means over the seeds that have both values, and the paired difference."""

    before: float
    after: float
    gap: Difference
    every: int  # seeds of the strength, those without a value included

    @property
    def enough(self) -> bool:
        """Whether at least half of the seeds have both values."""
        return 2 * self.gap.seeds >= self.every


class Changes(Tables):
    """Differences to Unfair of the same seed."""

    def change_table(self, method: str, statistics: Iterable[str]) -> str:
        """Rows of what the largest strength changes, one per dataset.

        Three columns per notion: scores, decisions and the share of people accepted.
        """
        statistics, rows = [*statistics], []
        for dataset in self._with_verdicts():
            cells = [
                self.change(dataset, method, statistic, channel)
                if channel in DIRECT
                else self.accepted(dataset, method, statistic)
                for statistic in statistics
                for channel in (*DIRECT, "")
            ]
            rows.append(f"| {DATASETS[dataset]} | {' | '.join(cells)} |")
        return "\n".join(rows)

    def accepted(self, dataset: str, method: str, statistic: str) -> str:
        """Share of people that Unfair and the largest strength accept, in words."""
        one = self._change(dataset, method, statistic, "positive_rate")
        return f"{one.before:.3f} to {one.after:.3f}"

    def count_changes(
        self,
        method: str,
        channel: str,
        statistics: Iterable[str],
        wanted: int,
        **how: Any,
    ) -> str:
        """Count the datasets and notions where the largest strength raises a value (1).

        Or lowers it (-1); the value is a violation, or the `auroc`.
        """
        found = self._changes(method, channel, statistics, **how)
        signs = [sign(one, DIGITS) for one in found]
        return f"{signs.count(wanted)} of {len(found)}"

    def count_lower(self, part: str, than: str, measure: str = "violation") -> str:
        """Count the means over seeds that are lower on some rows than on others.

        Of scores, for all methods, strengths, datasets and notions.
        """
        lower = every = 0
        for table, statistic in product(MAIN, NOTIONS):
            data = self.table(table)
            own = data[data["statistic"].isin(["", statistic])]
            cells = own.groupby(["dataset", "method", "options", "strength"])
            means = cells[
                [f"{x}/{measure}/{statistic}/scores/all" for x in (part, than)]
            ]
            one, other = means.mean().to_numpy().T
            lower += int((one < other).sum())
            every += len(one)
        return f"{lower} of {every}"

    def count_cases(
        self,
        method: str,
        channel: str,
        statistics: Iterable[str],
        wanted: int,
        *,
        strengths: Iterable[float] = (),
        **how: Any,
    ) -> str:
        """Count the strengths, datasets and notions where a value rises (1).

        Or falls (-1); of some strengths, or of all that there are.
        """
        found = [
            self._change(dataset, method, statistic, channel, strength=one, **how).gap
            for dataset, statistic in product(self._with_verdicts(), statistics)
            for one in strengths
            or dict.fromkeys(self._select("", dataset, method, statistic)["strength"])
        ]
        signs = [sign(one, DIGITS) for one in found]
        return f"{signs.count(wanted)} of {len(found)}"

    def _changes(
        self, method: str, channel: str, statistics: Iterable[str], **how: Any
    ) -> list[Difference]:
        """Changes by the largest strength that at least half of the seeds have."""
        found = [
            self._change(dataset, method, statistic, channel, **how)
            for dataset in self._with_verdicts()
            for statistic in statistics
        ]
        return [one.gap for one in found if one.enough]

    def effect_table(self, methods: Iterable[str], statistics: Iterable[str]) -> str:
        """Rows of what the largest strength does, in how many datasets and notions.

        Better and worse by intervals, and worse in the mean, by several measures.
        """
        statistics, rows = [*statistics], []
        for method in methods:
            cells = []
            for channel, part, measure in MEASURES:
                found = self._changes(
                    method, channel, statistics, part=part, measure=measure
                )
                worse = -1 if channel == "auroc" else 1
                signs = [worse * sign(one, DIGITS) for one in found]
                mean = sum(worse * one.mean > 0 for one in found)
                counts = f"{signs.count(-1)}, {signs.count(1)} of {len(found)}"
                cells.append(f"{counts} ({mean})")
            rows.append(f"| {method} | {' | '.join(cells)} |")
        return "\n".join(rows)

    def change(
        self, dataset: str, method: str, statistic: str, channel: str, **how: Any
    ) -> str:
        """What a strength of a method changes against Unfair, in words.

        Or `against` another method without a fairness term; a dash if fewer than half
        of the seeds have both values.
        """
        one = self._change(dataset, method, statistic, channel, **how)
        if not one.enough:
            return f"– ({one.gap.seeds} of {one.every} seeds)"
        few = f" ({one.gap.seeds} seeds)" if one.gap.seeds < one.every else ""
        return f"{one.before:.3f} to {one.after:.3f}, {interval(one.gap, DIGITS)}{few}"

    def _change(
        self,
        dataset: str,
        method: str,
        statistic: str,
        channel: str,
        part: str = "train",
        measure: str = CHANCE,
        table: str = "",
        strength: float | None = None,
        against: str = UNFAIR,
    ) -> Change:
        """What a strength changes in the seeds in which both have a value.

        Of the largest strength, if none is given. Decisions of models that refuse
        everyone have none.
        """
        column = f"{part}/{measure}/{statistic}/{channel}/{measured_traits(table)}"
        if channel in PLAIN:
            column = f"{part}/{channel}"
        unfair = self._select(table, dataset, against, statistic)
        own = self._select(table, dataset, method, statistic)
        most = at_strength(own, strength)
        before, after = (one.set_index("seed")[column] for one in (unfair, most))
        if channel == "decisions":
            after = after[most.set_index("seed")[f"{part}/positive_rate"] > 0]
        gaps = (after - before).dropna()
        both, gap = gaps.index, paired_difference(gaps.tolist())
        values = float(before[both].mean()), float(after[both].mean())
        return Change(*values, gap, len(most))
