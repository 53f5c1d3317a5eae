"""Results as a frame, as files and as a table."""

import io
import math

import pandas as pd
import pytest
from rich.console import Console

from fairret.errors import ArgumentError
from fairret.lab.commands.tables import failures, summary_table
from fairret.lab.experiment import Store
from fairret.lab.experiment.export import export, frame
from toy_work import toy_run, toy_runs

EXACT = (("sharpness", 2.5),)


@pytest.fixture
def runs():
    return [
        *toy_runs(3),
        toy_run(0, options=EXACT, strength=7.0),
        toy_run(1, options=EXACT, strength=7.0),
        toy_run(9),
    ]


@pytest.fixture
def store(tmp_path, runs):
    store = Store(tmp_path / "results.sqlite")
    for run in reversed(runs[:2]):  # they end in another order
        numbers = {
            "test/auroc": 0.7 + run.seed / 10,
            "test/log_loss": 0.6,
            "test/accuracy": math.nan,
            "test/violation/pr/scores/all": 0.125,
        }
        store.finish(run, 1.5, numbers)
    store.fail(runs[2], "no luck")
    store.fail(runs[3], "it diverged")
    store.finish(toy_run(77), 1.0, {"test/auroc": 0.5})  # of another file
    return store


def test_frame_has_a_row_for_each_finished_run_in_the_order_of_the_file(store, runs):
    table = frame(store, runs)
    assert table["key"].tolist() == [run.key for run in runs[:4]]
    assert table["seed"].tolist() == [0, 1, 2, 0]
    assert table["status"].tolist() == ["done", "done", "failed", "failed"]
    assert table["test/auroc"].tolist()[:2] == pytest.approx([0.7, 0.8])
    assert table["test/accuracy"].isna().all()
    assert table["reason"].tolist()[2:] == ["no luck", "it diverged"]
    assert len(frame(store)) == 5


@pytest.mark.parametrize("name", ["all.csv", "all.parquet"])
def test_files_hold_every_column(store, runs, tmp_path, name):
    export(store, runs, tmp_path / name)
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    back, table = read(tmp_path / name), frame(store, runs)
    assert len(back) == 4
    assert back.columns.tolist() == [*table.columns, "version", "revision"]
    for column in ("key", "seed", "strength", "status", "options", "training"):
        assert back[column].tolist() == table[column].tolist()
    auroc = back["test/auroc"].tolist()
    assert auroc[:2] == table["test/auroc"].tolist()[:2]  # all digits
    assert back["reason"].tolist()[2:] == ["no luck", "it diverged"]


@pytest.mark.parametrize("name", ["all.csv", "all.parquet"])
def test_store_without_results_can_be_exported(tmp_path, runs, name):
    export(Store(tmp_path / "new.sqlite"), runs, tmp_path / name)
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    assert read(tmp_path / name).empty


def test_other_endings_are_refused(store, runs, tmp_path):
    with pytest.raises(ArgumentError, match=r"end in \.csv or \.parquet; got all\.xls"):
        export(store, runs, tmp_path / "all.xls")


def test_table_shows_means_over_the_seeds_and_what_failed(store, runs):
    text = io.StringIO()
    Console(file=text, width=110).print(summary_table(store, runs))
    head, _, usual, other, *caption = text.getvalue().rstrip().splitlines()
    assert caption[-1].strip() == "–: undefined, or not measured."
    assert head.split()[:2] == ["dataset", "method"]
    shown = "synthetic Norm pr all 0.5 sharpness=1.0 2 0.750 0.600 – 0.125 –"
    assert usual.split() == shown.split()
    shown = "synthetic Norm pr all 7 sharpness=2.5 0" + " failed" * 5
    assert other.split() == shown.split()


def test_failures_are_named_with_their_reasons(store, runs):
    assert failures(store, runs) == [
        ("synthetic Norm pr 0.5 sharpness=1.0 seed 2", "no luck"),
        ("synthetic Norm pr 7 sharpness=2.5 seed 0", "it diverged"),
    ]
    assert failures(store, runs[:2]) == []


def test_table_of_nothing_is_empty(tmp_path, runs):
    assert summary_table(Store(tmp_path / "new.sqlite"), runs).row_count == 0
