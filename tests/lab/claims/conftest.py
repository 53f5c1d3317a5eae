"""Made-up results in the place of the committed ones."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import export
from stored_runs import fill, write_file

ROOT = Path(__file__).parents[3]


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import claims

    yield claims
    for name in [x for x in sys.modules if x.startswith("claim") or x == "train"]:
        del sys.modules[name]


@pytest.fixture
def numbers(claims, tmp_path):
    """Made-up results in the place of the committed ones."""
    file = write_file(tmp_path, "trade_offs")
    store = fill(tmp_path / "x.sqlite", file)
    runs = list_runs(read_experiment(file))
    export(store, runs, tmp_path / "trade_offs.parquet")
    return claims.Numbers(tmp_path), pd.read_parquet(tmp_path / "trade_offs.parquet")
