"""Trained runs become tables: complete seeds in `results`, others in `partial`."""

import sys
from pathlib import Path

import pandas as pd
import pytest

from fairret.lab.experiment import Store
from stored_runs import fill, write_file

ROOT = Path(__file__).parents[2]


@pytest.fixture
def collect(monkeypatch, tmp_path):
    """The script, with a folder of its own and one file with five seeds."""
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import collect
    import train

    write_file(tmp_path, "made_up", datasets=["bank"], seeds=range(5))
    monkeypatch.setattr(train, "FOLDER", tmp_path)
    monkeypatch.setattr(collect, "ORDER", ("made_up",))
    for module in (train, collect):
        monkeypatch.setattr(module, "TABLES", tmp_path / "results")
        monkeypatch.setattr(module, "PARTIAL", tmp_path / "results" / "partial")
    yield collect
    del sys.modules["collect"], sys.modules["train"]


def tables(folder):
    """Rows per seed of both tables; None without a table."""
    paths = [folder / "results" / name / "made_up.parquet" for name in (".", "partial")]
    return [
        pd.read_parquet(path)["seed"].value_counts().to_dict()
        if path.exists()
        else None
        for path in paths
    ]


def filled(folder, name, wanted):
    path = folder / name
    fill(path, folder / "made_up.toml", wanted=wanted)
    return str(path)


def test_complete_seeds_are_divided_from_others(collect, tmp_path, capsys):
    store = filled(
        tmp_path, "x.sqlite", lambda run: run.seed < 3 or run.method == "Unfair"
    )
    assert collect.main([store]) == 0
    assert tables(tmp_path) == [{0: 31, 1: 31, 2: 31}, {3: 1, 4: 1}]
    assert capsys.readouterr().out == "made_up: 93 and 2 of 155 runs\n"


def test_two_seeds_of_five_do_not_replace_a_table(collect, tmp_path):
    collect.main([filled(tmp_path, "x.sqlite", lambda run: run.seed < 2)])
    assert tables(tmp_path) == [None, {0: 31, 1: 31}]


def test_nothing_that_is_committed_is_lost(collect, tmp_path):
    collect.main([filled(tmp_path, "x.sqlite", lambda run: run.seed < 4)])
    other = filled(tmp_path, "y.sqlite", lambda run: run.seed == 4)
    collect.main([other])
    assert tables(tmp_path) == [dict.fromkeys(range(5), 31), None]
    assert len(Store(Path(other)).finished()) == 155


def test_missing_store_is_an_error_and_not_created(collect, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        collect.main([str(tmp_path / "none.sqlite")])
    assert "does not exist" in capsys.readouterr().err
    assert not (tmp_path / "none.sqlite").exists()
