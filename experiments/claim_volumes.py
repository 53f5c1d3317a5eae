"""The volumes of docs/reproduction.md, one per panel, method and pair of measures."""

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from claim_tables import Tables, measured_traits, table_of, usual_table
from claim_words import DIGITS, listed, with_error

from fairret.lab.dataset import TITLES as DATASETS
from fairret.lab.experiment.hypervolume import AT_BASE_RATE, VIEWS, Volume, volumes
from fairret.lab.experiment.trade_off import NOTIONS

PAPERS_VIEW = "AUROC, scores"
NAMES = {"KL 0.1.3": "KL of 0.1.3", "SmoothMax 0.1.3": "SmoothMax of 0.1.3"}


class Volumes(Tables):
    """Volumes of the tables in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.volumes = cache(self._volumes)

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
        if not self.has(table := table_of(dataset, table)):
            raise KeyError(table)
        own = self.volumes(table, measure)
        return own[dataset, statistic, method, view]

    def vol(
        self,
        *arguments: str,
        curve: bool = False,
        both: bool = False,
        digits: int = DIGITS,
        **options: str,
    ) -> str:
        """Volume ± its standard error; a dash where it does not exist.

        If asked for `both`, the curve follows after a comma.
        """
        try:
            one = self._volume(*arguments, **options)
        except KeyError:
            return "–"
        pair = (one.curve, one.curve_error) if curve else (one.value, one.error)
        words = with_error(*pair, digits)
        if words == "–":
            return words
        table = options.get("table") or (*arguments, "")[4]
        own = self.table(table or usual_table(one.dataset, one.label))
        every = own[own["dataset"] == one.dataset]["seed"].nunique()
        seeds = f"{one.seeds} seed{'s' if one.seeds > 1 else ''}"
        few = f" ({seeds})" if one.seeds < every else ""
        return words + (f", {one.curve:.2f}" if both else "") + few

    def volume_range(self, method: str, view: str) -> list[str]:
        """Volumes on the panels of all datasets with their names, from the lowest."""
        found = [
            (one.value, f"{NOTIONS[one.statistic]} on {DATASETS[one.dataset]}")
            for dataset in self._with_verdicts()
            for one in self.volumes(usual_table(dataset), "violation").values()
            if (one.dataset, one.label, one.view) == (dataset, method, view)
            if math.isfinite(one.value)
        ]
        return [f"{value:.2f} ({place})" for value, place in sorted(found)]

    def without_volume(self) -> str:
        """List the panels that have no volume for scores, in words."""
        found = []
        for dataset in self._with_verdicts():
            own = self.volumes(usual_table(dataset), "violation")
            there = {
                key[1]
                for key, one in own.items()
                if key[0] == dataset and key[3] == PAPERS_VIEW
                if math.isfinite(one.value)
            }
            missing = [notion for key, notion in NOTIONS.items() if key not in there]
            if missing:
                found.append(f"{DATASETS[dataset]} ({', '.join(missing)})")
        return listed(found)

    def one_view_table(self, table: str, methods: Iterable[str], view: str) -> str:
        """Rows of one view, one per dataset and notion, a column per method."""
        rows = []
        for dataset, statistic in dict.fromkeys(
            key[:2] for key in self.volumes(table, "violation")
        ):
            cells = [
                self.vol(dataset, statistic, x, view, table, both=True) for x in methods
            ]
            if any(cell != "–" for cell in cells):
                place = f"{DATASETS[dataset]}, {NOTIONS[statistic]}"
                rows.append(f"| {place} | {' | '.join(cells)} |")
        return "\n".join(rows)

    def volume_table(
        self,
        table: str,
        methods: Iterable[str] = (),
        *,
        measure: str = "violation",
    ) -> str:
        """Rows of volumes, one per dataset, notion and method, a column per view.

        A cell has the step volume ± its standard error, and the curve.
        """
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
                            both=True,
                        )
                        for view in VIEWS
                    ]
                    if any(cell != "–" for cell in cells):
                        place = f"{DATASETS[dataset]}, {notion}"
                        name = NAMES.get(label, label)
                        rows.append(f"| {place} | {name} | {' | '.join(cells)} |")
        return "\n".join(rows)
