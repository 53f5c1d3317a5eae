"""How much violations of scores fall on the training rows, and on the test rows."""

from collections.abc import Iterable

import numpy as np
from claim_tables import CHANCE, Tables, at_strength
from claim_words import interval

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.differences import Difference, paired_difference
from fairret.lab.experiment.hypervolume import Gain, effective_seeds, seed_values
from fairret.lab.experiment.trade_off import UNFAIR

PARTS = ("train", "test")


class Falls(Tables):
    """Shares by which a violation falls, from Unfair to the largest strength."""

    def fall_gap_table(self, method: str, statistics: Iterable[str]) -> str:
        """Rows of both falls and their difference, one per dataset.

        Two columns per notion: the largest violation, and that beyond chance.
        """
        statistics, rows = [*statistics], []
        for dataset in self._with_verdicts():
            cells = [
                self.fall_gap(dataset, method, statistic, measure)
                for statistic in statistics
                for measure in ("violation", CHANCE)
            ]
            rows.append(f"| {DATASETS[dataset]} | {' | '.join(cells)} |")
        return "\n".join(rows)

    def fall_gap(
        self, dataset: str, method: str, statistic: str, measure: str = "violation"
    ) -> str:
        """Both falls, and how much more there is on the training rows, in words.

        A dash if Unfair is beyond chance on the training rows in half of the seeds, or
        in fewer: there is little to fall.
        """
        verdict = f"train/beyond_chance/{statistic}/scores/all"
        if self._select("", dataset, UNFAIR, statistic)[verdict].mean() <= 0.5:
            return "–"
        *falls, gap = self._fall_gap(dataset, method, statistic, measure)
        train, test = (f"{one:.2f}".replace("-", "−") for one in falls)
        return f"{train} and {test}, {interval(gap)}"

    def fall_of(
        self, dataset: str, method: str, statistic: str, measure: str = "violation"
    ) -> float:
        """Share by which a violation falls on the test rows."""
        return self._fall_gap(dataset, method, statistic, measure)[1]

    def _fall_gap(
        self, dataset: str, method: str, statistic: str, measure: str
    ) -> tuple[float, float, Difference]:
        """Both falls, which are ratios of means, and their difference."""
        columns = [f"{part}/{measure}/{statistic}/scores/all" for part in PARTS]
        own = self._select("", dataset, method, statistic)
        own = at_strength(own).set_index("seed")[columns]
        unfair = self._select("", dataset, UNFAIR, statistic).set_index("seed")
        before = unfair.loc[own.index, columns]
        fallen = before - own
        gains = [[*map(Gain, fallen[one], fallen[one], before[one])] for one in columns]
        train, test = (np.array(seed_values(one, "steps")) for one in gains)
        effective = min(map(effective_seeds, gains))
        return train.mean(), test.mean(), paired_difference(train - test, effective)
