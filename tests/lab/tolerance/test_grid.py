"""The grid: chosen on training rows, measured on test rows."""

import pandas as pd
import pytest

from fairret.errors import DataFileError
from fairret.lab.tolerance import grid
from fairret.lab.tolerance.people import Case

CASE = Case("bank", 1, "all", "grid", "tpr", 0.1)


def run(violation, accuracy, **other):
    """A finished run with a base rate of 0.25 and a positive rate of 0.3."""
    numbers = {}
    for part, shift in (("train", 0.0), ("test", 0.01)):
        numbers |= {
            f"{part}/violation/tpr/decisions/all": violation + shift,
            f"{part}/accuracy": accuracy - shift,
            f"{part}/positive_rate": 0.3,
            f"{part}/base_rate": 0.25,
            f"{part}/rows": 100.0,
        }
    common = {"dataset": "bank", "seed": 1, "statistic": "tpr", "status": "done"}
    return {**common, "seconds": 2.0, **numbers, **other}


@pytest.fixture
def choose(tmp_path, monkeypatch):
    def chosen(*runs):
        path = tmp_path / f"{len(runs)}.parquet"
        pd.DataFrame(list(runs)).to_parquet(path)
        monkeypatch.setattr(grid, "TABLE", path)
        return grid.choose(CASE)

    return chosen


def test_most_accurate_model_within_the_tolerance_is_taken(choose):
    others = [
        run(0.2, 0.9),
        run(0.01, 0.99, statistic="pr"),
        run(0.01, 0.99, seed=2),
        run(0.01, 0.99, status="failed"),
    ]
    found = choose(
        run(0.02, 0.7), run(0.09, 0.8), run(0.05, 0.6, statistic=""), *others
    )
    assert found.values["status"] == "met"
    assert found.values["fit/violation"] == pytest.approx(0.09)
    assert found.values["test/violation"] == pytest.approx(0.10)
    assert found.values["test/accuracy"] == pytest.approx(0.79)
    assert found.seconds == 8  # of the four that were candidates


def test_smallest_violation_is_taken_if_none_is_within(choose):
    found = choose(run(0.4, 0.9), run(0.3, 0.8))
    assert found.values["status"] == "missed"
    assert found.values["fit/violation"] == pytest.approx(0.3)


def test_balanced_accuracy_is_recovered(choose):
    # of 100 people, 25 are positive; 20 of them and 10 others get a yes
    found = choose(run(0.0, 0.85))
    assert found.values["fit/balanced_accuracy"] == pytest.approx(
        (20 / 25 + 65 / 75) / 2
    )


def test_missing_runs_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(grid, "TABLE", tmp_path / "none.parquet")
    with pytest.raises(DataFileError, match=r"'grid' needs the runs in .*none"):
        grid.choose(CASE)
