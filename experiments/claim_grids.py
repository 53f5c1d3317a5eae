"""What docs/reproduction.md says about the strengths and the networks tried."""

import json
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pandas as pd
from claim_tables import MAIN, Tables

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR

GRIDS = {
    MAIN: "",
    ("trade_offs_other", "trade_offs_other_acs"): "",
    ("single_trait", "single_trait_acs"): ", a single trait",
}
LEFT = 0.1  # share of Unfair's violation below which strengths need not be dense


class Grids(Tables):
    """How dense the strengths are, and how the networks of App. D.2 compare."""

    def fall_table(self) -> str:
        """Rows about the falls of the violation from one strength to the next.

        Of scores on training rows, means over seeds, down to a tenth of Unfair's or its
        noise floor, below which no fall counts: panels, those with a third at most, the
        largest fall, and the share of Unfair's violation that the best strength leaves,
        in the median.
        """
        rows = []
        for tables, traits in GRIDS.items():
            new = [table for table in tables if self.is_new(table)]
            methods = dict.fromkeys(
                method for table in new for method in self.table(table)["method"]
            )
            rows += [
                self._fall_row(new, method, traits)
                for method in methods
                if method != UNFAIR
            ]
        return "\n".join(rows)

    def _fall_row(self, tables: Iterable[str], method: str, traits: str) -> str:
        found = [
            (share, DATASETS[dataset], notion, left)
            for table in tables
            for dataset in dict.fromkeys(self.table(table)["dataset"])
            for statistic, notion in NOTIONS.items()
            for share, left in self._fall(table, dataset, method, statistic)
        ]
        share, *place, _ = max(found)
        left = float(np.median([one[-1] for one in found]))
        dense = sum(one <= 1 / 3 for one, *_ in found)
        words = f"{share:.2f} ({', '.join(place)})"
        cells = (f"{method}{traits}", f"{dense} of {len(found)}", words, f"{left:.2f}")
        return f"| {' | '.join(cells)} |"

    def _fall(
        self, table: str, dataset: str, method: str, statistic: str
    ) -> list[tuple[float, float]]:
        """The largest fall and the share left; nothing if Unfair is below its floor."""
        y, floor = (
            self._column(table, statistic, f"{kind}scores", "train")
            for kind in ("", "floor ")
        )
        unfair = self._select(table, dataset, UNFAIR, statistic)[[y, floor]].mean()
        own = self._select(table, dataset, method, statistic)
        path = [unfair[y], *own.groupby("strength")[y].mean()]
        enough = max(unfair[floor], LEFT * unfair[y])
        if unfair[y] <= unfair[floor]:
            return []
        fall = max(1 - max(b, enough) / a for a, b in pairwise(path) if a > enough)
        return [(fall, min(path) / unfair[y])]

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

    def _architectures(self) -> dict[tuple[tuple[int, ...], float], pd.Series]:
        """AUROC on validation rows by seed, of every network and learning rate."""
        data = self.table("architectures")
        found = {}
        for training, own in data.groupby("training", sort=False):
            how = json.loads(str(training))
            cell = tuple(how["hidden"]), how["learning_rate"]
            found[cell] = own.set_index("seed")["validation/auroc"]
        return found
