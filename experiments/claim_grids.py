"""What docs/reproduction.md says about the strengths and the networks tried."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from claim_tables import CHANCE, MAIN, Tables, measured_traits
from claim_words import interval, listed, with_error

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.differences import paired_difference
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR, name_variants

GRIDS = {
    MAIN: "",
    ("trade_offs_other", "trade_offs_other_acs"): "",
    ("single_trait", "single_trait_acs"): ", a single trait",
}
Fall = tuple[float, float, str, str, float]  # and its error, the panel, share left
THIRD = 1 / 3  # what a violation may fall by from one strength to the next
LEFT = 0.1  # share of Unfair's violation below which strengths need not be dense


class Grids(Tables):
    """How dense the strengths are, and how the networks of App. D.2 compare."""

    def fall_table(self) -> str:
        """Rows about the falls of the violation from one strength to the next.

        Of scores on training rows, means over seeds, down to a tenth of Unfair's or its
        noise floor, below which no fall counts: panels, those with a third at most, the
        largest fall ± its standard error, and the share of Unfair's violation that the
        best strength leaves, in the median. The last cell has panels and the largest
        fall of the violation beyond chance, down to a tenth of Unfair's.
        """
        rows, beyond = [], dict(self._grids(CHANCE))
        for name, found in self._grids():
            cells = (name, *_dense(found), f"{_left(found):.2f}")
            other = ", ".join(_dense(beyond[name]))
            rows.append(f"| {' | '.join(cells)} | {other} |")
        return "\n".join(rows)

    def coarse(self, table: str, *methods: str) -> str:
        """Count the panels with a fall of more than a third, in some methods.

        Every variant of a method has panels of its own.
        """
        found = [
            fall
            for method in methods
            for variant in self._variants(table, method)
            for fall, *_ in self._falls([table], method, variant=variant)
        ]
        return f"{sum(one > THIRD for one in found)} of {len(found)}"

    def _variants(self, table: str, method: str) -> list[str]:
        data = self.table(table)
        options = data[data["method"] == method]["options"]
        return [*name_variants([*dict.fromkeys(options)]).values()]

    def unchecked(self) -> str:
        """List the panels of the main tables where no fall can be computed."""
        new = [table for table in MAIN if self.is_new(table)]
        found = {(name, notion) for _, _, name, notion, _ in self._falls(new, "KL")}
        words = []
        for dataset in self._with_verdicts():
            name = DATASETS[dataset]
            own = [x for x in NOTIONS.values() if (name, x) not in found]
            words += [f"{name} ({', '.join(own)})"] if own else []
        return listed(words)

    def large_falls(self) -> str:
        """List the falls of more than a third by method, in words."""
        words = []
        for name, found in self._grids():
            own = [
                f"{with_error(fall, error)} ({dataset}, {notion})"
                for fall, error, dataset, notion, _ in found
                if fall > THIRD
            ]
            words += [f"{name}: {listed(own)}"] if own else []
        return "; ".join(words)

    def _grids(self, measure: str = "violation") -> Iterator[tuple[str, list[Fall]]]:
        """The largest fall in every panel of each method, by its name."""
        for tables, traits in GRIDS.items():
            new = [table for table in tables if self.is_new(table)]
            methods = [
                method for table in new for method in self.table(table)["method"]
            ]
            for method in dict.fromkeys(methods):
                if method != UNFAIR:
                    yield f"{method}{traits}", self._falls(new, method, measure)

    def weak_methods(self) -> str:
        """List the methods of the main tables that leave more than half, in words."""
        new = [table for table in MAIN if self.is_new(table)]
        weak = [
            method
            for method in dict.fromkeys(self.table(MAIN[0])["method"])
            if method != UNFAIR and _left(self._falls(new, method)) > 0.5
        ]
        return listed(weak)

    def _falls(
        self,
        tables: Iterable[str],
        method: str,
        measure: str = "violation",
        variant: str = "",
    ) -> list[Fall]:
        return [
            (fall, error, DATASETS[dataset], notion, left)
            for table in tables
            for dataset in dict.fromkeys(self.table(table)["dataset"])
            for statistic, notion in NOTIONS.items()
            for fall, error, left in self._fall(
                table, dataset, method, statistic, measure, variant
            )
        ]

    def _fall(
        self,
        table: str,
        dataset: str,
        method: str,
        statistic: str,
        measure: str,
        variant: str,
    ) -> list[tuple[float, float, float]]:
        """The largest fall, its error, and the share left.

        Nothing if Unfair is not above its floor or, for the violation beyond chance,
        not beyond chance in most seeds.
        """
        path = f"{statistic}/scores/{measured_traits(table)}"
        y, floor, verdict = (
            f"train/{kind}/{path}" for kind in (measure, "floor", "beyond_chance")
        )
        unfair = self._select(table, dataset, UNFAIR, statistic).set_index("seed")
        first, level = unfair[y].mean(), unfair[floor].mean()
        enough = LEFT * first
        if measure == CHANCE:
            there = unfair[verdict].mean() > 0.5
        else:
            there, enough = first > level, max(level, enough)
        if not there:
            return []
        own = self._select(table, dataset, method, statistic, variant)
        means = own.pivot(index="seed", columns="strength", values=y)
        means.insert(0, 0.0, unfair[y].reindex(means.index))
        left = means.mean().min() / first
        means.loc[:, means.mean() < enough] = enough
        ratio, error = min(
            _ratio(means[a], means[b])
            for a, b in pairwise(sorted(means))
            if means[a].mean() > enough
        )
        return [(1 - ratio, error, left)]

    def architecture(self, hidden: Iterable[int], rate: float) -> str:
        """AUROC of a network and a learning rate on validation rows."""
        return f"{self._architectures()[tuple(hidden), rate].mean():.4f}"

    def best_architecture(self) -> str:
        """The network and the learning rate with the best AUROC, in words."""
        found = self._architectures()
        layers, rate = best = max(found, key=lambda one: found[one].mean())
        words = "-".join(map(str, layers)) or "no hidden layer"
        return f"{words} with {rate:g} ({found[best].mean():.4f})"

    def architecture_rank(self, hidden: Iterable[int], rate: float) -> str:
        """Rank of a network and a learning rate among all, in words."""
        means = {cell: one.mean() for cell, one in self._architectures().items()}
        own = means[tuple(hidden), rate]
        return f"{sum(x > own for x in means.values()) + 1} of {len(means)}"

    def architecture_gap(self, hidden: Iterable[int], rate: float) -> str:
        """By how much the best on validation rows is better on the test rows."""
        found, test = self._architectures(), self._architectures("test")
        best = max(found, key=lambda one: found[one].mean())
        gaps = (test[best] - test[tuple(hidden), rate]).dropna()
        return interval(paired_difference(gaps.tolist()), 4)

    def _architectures(
        self, part: str = "validation"
    ) -> dict[tuple[tuple[int, ...], float], pd.Series]:
        """AUROC by seed, of every network and learning rate."""
        data = self.table("architectures")
        found = {}
        for training, own in data.groupby("training", sort=False):
            how = json.loads(str(training))
            cell = tuple(how["hidden"]), how["learning_rate"]
            found[cell] = own.set_index("seed")[f"{part}/auroc"]
        return found


def _dense(falls: Sequence[Fall]) -> tuple[str, str]:
    """In how many panels the largest fall is a third at most, and the largest."""
    fall, error, *place, _ = max(falls)
    dense = sum(one <= THIRD for one, *_ in falls)
    words = f"{with_error(fall, error)} ({', '.join(place)})"
    return f"{dense} of {len(falls)}", words


def _ratio(before: pd.Series, after: pd.Series) -> tuple[float, float]:
    """Ratio of means over seeds, and its standard error (delta method)."""
    ratio = after.mean() / before.mean()
    return float(ratio), float((after - ratio * before).sem() / before.mean())


def _left(falls: Iterable[Fall]) -> float:
    """The share of Unfair's violation that a method leaves, in the median."""
    return float(np.median([one[-1] for one in falls]))
