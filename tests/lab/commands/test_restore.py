"""`fairret results --restore`: every cell is checked before anything is stored."""

import json
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from fairret.lab.experiment import Store, list_runs, read_experiment
from fairret.lab.experiment.export import export, read_export, restore
from fairret.lab.experiment.grid import REVISION
from small_grid import call
from toy_work import toy_run

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "results"
OTHER = {FOLDER / f"{name}.parquet" for name in ("estimators", "tolerance")}
TABLES = sorted({*FOLDER.rglob("*.parquet")} - OTHER)  # of experiments
NUMBERS = {"test/auroc": 1 / 3, "test/log_loss": 5e-324, "torch": "2.9.0"}


def fill(file):
    """Three results and a failure, exported as CSV."""
    store = Store(file.with_suffix(".sqlite"))
    *done, failed = list_runs(read_experiment(file))
    for run in done:
        store.finish(run, 1.25, NUMBERS)
    store.fail(failed, "no luck")
    assert call("results", file, "--output", "all.csv").exit_code == 0
    return store, pd.read_csv("all.csv", dtype=str, keep_default_na=False)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_committed_results_are_those_of_their_experiment(table, tmp_path):
    wanted = list_runs(read_experiment(ROOT / "experiments" / f"{table.stem}.toml"))
    store, rows = Store(tmp_path / "new.sqlite"), pd.read_parquet(table)
    assert restore(store, table) == len(rows)
    if "revision" in rows and set(rows["revision"]) == {REVISION}:  # else an older one
        assert {key for key, _ in store.finished()} <= {run.key for run in wanted}


@pytest.mark.parametrize("name", ["again.csv", "again.parquet"])
def test_exported_runs_come_back_as_they_were(file, name):
    store, _ = fill(file)
    call("results", file, "--output", name)
    assert read_export(Path(name)) == store.finished()


def test_rows_from_before_there_were_versions_have_none(tmp_path):
    path, run = tmp_path / "both.parquet", toy_run()
    store = Store(tmp_path / "old.sqlite")
    store.finish(run, 1.25, {"test/auroc": 0.5})
    store.finish(toy_run(1), 1.25, NUMBERS)
    export(store, [run, toy_run(1)], path)
    (_, old), (_, new) = read_export(path)
    assert (old.result["torch"], old.result["test/log_loss"]) == (None, None)
    assert new.result == NUMBERS


@pytest.mark.parametrize("name", ["none.csv", "none.parquet"])
def test_export_of_an_empty_store_can_be_restored(file, name):
    Store(file.with_suffix(".sqlite"))
    written = call("results", file, "--output", name)
    assert written.stdout == f"0 of 4 runs written to {name}.\n"
    result = call("results", file, "--store", "new.sqlite", "--restore", name)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"0 runs taken from the 0 of {name}.\n")


DEEP = '{"a": ' * 50_000 + "1" + "}" * 50_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "column", "cell"),
    [
        (2, "status", "claimed"),
        (2, "status", "banana"),
        (1, "status", ""),
        (3, "test/auroc", "text"),
        (3, "test/auroc", "inf"),
        (4, "test/auroc", "0.5"),  # of a run that failed
        (4, "torch", "2.9.0"),
        (4, "seconds", "1"),
        (1, "seconds", ""),
        (1, "seconds", "-1"),
        (1, "reason", "it is done, and has a reason"),
        (2, "key", "0" * 32),
        (2, "key", ""),
        (2, "strength", "-1"),
        (2, "strength", "much"),
        (1, "seed", "0.5"),
        (1, "seed", str(2**32)),
        (1, "dataset", ""),
        (1, "method", ""),
        (1, "traits", "none"),
        (2, "options", "{"),
        (2, "options", DEEP),
        (1, "training", "3"),
        (1, "training", "{}"),
        (1, "version", ""),
        (1, "test/auroc", "1.5"),
        (1, "test/log_loss", "-1"),
    ],
)
def test_wrong_cell_is_named_and_nothing_is_stored(file, row, column, cell):
    _, table = fill(file)
    table.loc[row - 1, column] = cell
    table.to_csv("bad.csv", index=False)
    result = call("results", file, "--store", "new.sqlite", "--restore", "bad.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"bad.csv is not (in row {row}, column `{column}` must" in result.stderr
    assert "Nothing was restored" in result.stderr
    assert result.stderr.count("\n") == 1
    assert Store(Path("new.sqlite")).finished() == []


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("strength", "0.75"),
        ("seed", "7"),
        ("statistic", "tpr"),
        ("options", "{}"),
        ("revision", "1"),
    ],
)
def test_row_whose_settings_do_not_give_its_key_is_named(file, column, cell):
    _, table = fill(file)
    table.loc[1, column] = cell
    table.to_csv("bad.csv", index=False)
    result = call("results", file, "--store", "new.sqlite", "--restore", "bad.csv")
    assert result.exit_code == 2
    words = "in row 2, column `key` must be the key of the row's settings; got '"
    assert words in result.stderr
    assert Store(Path("new.sqlite")).finished() == []


@pytest.mark.parametrize(
    ("column", "right", "wrong"),
    [
        ("test/accuracy", ["0", "1"], ["-0.1", "1.1", "inf"]),
        ("validation/positive_rate", ["0.25"], ["2"]),
        ("train/p_value/pr/scores/all", ["1e-300"], ["-2"]),
        ("test/violation/pr/scores/all", ["7.5"], ["-0.3"]),
        ("test/violation_beyond_chance/pr/scores/all", ["0"], ["-1e30"]),
        ("test/beyond_chance/pr/scores/all", ["0", "1", "1.0", ""], ["7", "0.5"]),
        ("mine/auroc", ["7"], ["much"]),  # a column of a plugin
    ],
)
def test_measured_cells_have_a_range(file, column, right, wrong):
    _, table = fill(file)
    for cell in (*right, *wrong):
        table[column] = [cell, *[""] * (len(table) - 1)]
        table.to_csv("cells.csv", index=False)
        result = call("results", file, "--restore", "cells.csv")
        assert result.exit_code == (2 if cell in wrong else 0), cell
        if cell in wrong:
            assert f"row 1, column `{column}` must be" in result.stderr


def test_training_that_cannot_be_is_named(file):
    _, table = fill(file)
    for change in ({"epochs": 0}, {"hidden": [True]}, {"batch": None}, {"new": 1}):
        usual = json.loads(table["training"][0])
        own = table.assign(training=json.dumps({**usual, **change}))
        own.to_csv("bad.csv", index=False)
        result = call("results", file, "--restore", "bad.csv")
        assert result.exit_code == 2
        assert "row 1, column `training` must have " in result.stderr
        assert next(iter(change)) in result.stderr


def test_run_that_is_there_twice_is_named(file):
    _, table = fill(file)
    pd.concat([table, table[:1]]).to_csv("twice.csv", index=False)
    result = call("results", file, "--restore", "twice.csv")
    assert result.exit_code == 2
    assert "in row 5, column `key` must be unique; got" in result.stderr


def test_parquet_cells_of_other_types_are_named(file):
    fill(file)
    call("results", file, "--output", "all.parquet")
    table = pd.read_parquet("all.parquet")
    n = len(table)
    for column, cells in (
        ("status", [["done"]] * n),
        ("test/auroc", [[0.5]] * n),
        ("test/auroc", [True] * n),
        ("dataset", [3] * n),
        ("seed", [0.5] * n),
        ("training", [{"epochs": 3}] * n),
    ):
        table.assign(**{column: cells}).to_parquet("bad.parquet")
        result = call("results", file, "--restore", "bad.parquet")
        assert result.exit_code == 2
        assert f"in row 1, column `{column}` must" in result.stderr


def test_file_without_the_version_is_of_the_first_one(file, monkeypatch):
    monkeypatch.setattr("fairret.lab.experiment.grid.REVISION", 1)
    store, table = fill(file)
    table.drop(columns=["version", "revision"]).to_csv("old.csv", index=False)
    monkeypatch.setattr("fairret.lab.experiment.grid.REVISION", 99)
    assert read_export(Path("old.csv")) == store.finished()
    table.drop(columns="revision").to_csv("half.csv", index=False)
    result = call("results", file, "--restore", "half.csv")
    assert "half.csv is not (it has no column `revision`)" in result.stderr


def test_options_of_a_method_that_is_not_registered_are_sorted_back(tmp_path):
    options = (("sharpness", 2.0), ("memory", 3), ("a", "b"))
    run = toy_run(method="Mine", options=options)
    store = Store(tmp_path / "mine.sqlite")
    store.finish(run, 1.25, NUMBERS)
    export(store, [run], tmp_path / "mine.csv")
    ((key, found),) = read_export(tmp_path / "mine.csv")
    assert key == run.key
    assert found.run["options"] == [list(pair) for pair in options]


def test_damaged_store_ends_a_run_with_a_sentence(file):
    store, _ = fill(file)
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE runs SET status = 'claimed'")
    db.close()
    result = call("run", file)
    assert result.exit_code == 2
    assert "has None for `owner`. Delete that row" in result.stderr
    assert result.stderr.count("\n") == 1
