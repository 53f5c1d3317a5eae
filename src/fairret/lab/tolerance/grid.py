"""A grid of strengths and sharpnesses: what people do without a tolerance."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fairret.errors import DataFileError
from fairret.lab.tolerance.people import Case
from fairret.lab.tolerance.results import Result

if TYPE_CHECKING:
    import pandas as pd

TABLE = Path("results/axes.parquet")  # SmoothMax and KL; `experiments/axes.toml`
DATASETS = ("bank", "creditcard", "lawschool")  # that it has


@cache
def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        raise DataFileError(
            f"The method 'grid' needs the runs in {path}, which does not exist. Start "
            "from the root of the project, or leave the method out."
        )
    data = pd.read_parquet(path)
    return data[data["status"] == "done"]


def choose(case: Case) -> Result:
    """Take the most accurate model that keeps the tolerance on the training rows.

    If none does, take the one with the smallest violation. The seconds are those of
    all trainings.
    """
    data = _read(TABLE)
    data = data[(data["dataset"] == case.dataset) & (data["seed"] == case.seed)]
    data = data[data["statistic"].isin(["", case.notion])]
    violation = data[f"train/violation/{case.notion}/decisions/all"]
    within = data[violation <= case.tolerance]
    if len(within):
        best = within.loc[within["train/accuracy"].idxmax()]
    else:
        best = data.loc[violation.idxmin()]
    values: dict[str, float | str] = {"status": "met" if len(within) else "missed"}
    for part, name in (("train", "fit"), ("test", "test")):
        values |= {
            f"{name}/violation": best[f"{part}/violation/{case.notion}/decisions/all"],
            f"{name}/accuracy": best[f"{part}/accuracy"],
            f"{name}/rate": best[f"{part}/positive_rate"],
            f"{name}/balanced_accuracy": _balanced(best, part),
            f"{name}/rows": best[f"{part}/rows"],
        }
    return Result(values, float(data["seconds"].sum()))


def _balanced(run: pd.Series, part: str) -> float:
    r"""Recover it from accuracy a, positive rate r and base rate b.

    .. math:: a + r = 2 b\,\mathrm{TPR} + 1 - b, \qquad
              a = b\,\mathrm{TPR} + (1 - b)\,\mathrm{TNR}
    """
    a, r, b = (run[f"{part}/{x}"] for x in ("accuracy", "positive_rate", "base_rate"))
    tpr = (a + r - (1 - b)) / (2 * b)
    tnr = (a - b * tpr) / (1 - b)
    return float(tpr + tnr) / 2
