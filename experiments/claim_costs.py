"""What fairness of scores costs, in AUROC."""

import math
from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from claim_tables import Tables
from claim_words import with_error

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.trade_off import NOTIONS, UNFAIR

COLUMNS = ["violation", "auroc", "floor"]


class Cost(NamedTuple):
    """AUROC lost where the violation is the floor of Unfair, or is least."""

    lost: float
    violation: float
    reached: bool


class Costs(Tables):
    """AUROC lost on the way to the noise floor, on the test rows."""

    def lost(self, dataset: str, statistic: str, method: str) -> float:
        """AUROC lost where the violation is the floor of Unfair, or is least."""
        return _cost(*self._runs(dataset, statistic, method)).lost

    def cost(self, dataset: str, statistic: str, method: str) -> str:
        """The same in words, ± a standard error over the seeds (jackknife)."""
        unfair, own = self._runs(dataset, statistic, method)
        cost = _cost(unfair, own)
        seeds = sorted({*own["seed"]} & {*unfair["seed"]})
        rest = [
            _cost(unfair[unfair["seed"] != seed], own[own["seed"] != seed])
            for seed in seeds
        ]
        spread = np.std([one.lost for one in rest]) * math.sqrt(len(seeds) - 1)
        if not cost.reached:
            level = f"{cost.violation:.3f}"
            return f"not reached: {level} at {with_error(cost.lost, spread, 3)}"
        if not all(one.reached for one in rest):
            spread = math.nan
        return with_error(cost.lost, spread, 3)

    def cost_table(self, methods: Iterable[str], statistics: Iterable[str]) -> str:
        """Rows of costs where Unfair is above its floor, a column per method."""
        rows = []
        for dataset, statistic in product(self._with_verdicts(), statistics):
            unfair = self._runs(dataset, statistic, UNFAIR)[0][COLUMNS].mean()
            if unfair["violation"] > unfair["floor"]:
                cells = [self.cost(dataset, statistic, one) for one in methods]
                place = f"{DATASETS[dataset]}, {NOTIONS[statistic]}"
                level = f"{unfair['violation']:.3f}, {unfair['floor']:.3f}"
                rows.append(f"| {place} | {level} | {' | '.join(cells)} |")
        return "\n".join(rows)

    def _runs(
        self, dataset: str, statistic: str, method: str
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The runs of Unfair and of a method, with short names of columns."""
        names = {
            self._column("", statistic, "scores", "test"): "violation",
            self._column("", statistic, "floor scores", "test"): "floor",
            "test/auroc": "auroc",
        }
        unfair, own = (
            self._select("", dataset, one, statistic)[["seed", "strength", *names]]
            for one in (UNFAIR, method)
        )
        return unfair.rename(columns=names), own.rename(columns=names)


def _cost(unfair: pd.DataFrame, own: pd.DataFrame) -> Cost:
    """On the line between the last strength above the floor and the first below."""
    start = unfair[COLUMNS].mean()
    means = own.groupby("strength")[COLUMNS].mean()
    path = pd.concat([start.to_frame().T, means])
    lost = start["auroc"] - path["auroc"].to_numpy()
    level = path["violation"].to_numpy()
    below = int((level <= start["floor"]).argmax())
    if level[below] > start["floor"]:
        least = int(level.argmin())
        return Cost(float(lost[least]), float(level[least]), reached=False)
    ends = [below, max(below - 1, 0)]
    share = float(np.interp(start["floor"], level[ends], lost[ends]))
    return Cost(share, float(start["floor"]), reached=True)
