"""The command `estimators`, from the options to the file and the tables."""

from functools import partial

import pandas as pd
import pytest

from fairret.lab.dataset import load
from fairret.lab.estimators import methods
from fairret.lab.tolerance import people
from small_grid import call

CACHES = people.load_some, people.load_split, methods._decide_alone
OPTIONS = ("--datasets", "synthetic", "--seeds", "1", "--output", "t.parquet")


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(people, "load", partial(load, n=1500, seed=2))
    for cached in CACHES:
        cached.cache_clear()
    yield
    for cached in CACHES:
        cached.cache_clear()


@pytest.mark.slow
def test_whole_comparison_is_run_written_and_shown(small, tmp_path):
    own = (*OPTIONS, "--methods", "boosting,informed ToleranceClassifier,OxonFair")
    page = tmp_path / "page.md"
    page.write_text("<!-- means -->\n<!-- end -->\n")
    done = call("estimators", *own, "--page", page)
    assert done.exit_code == 0, done.stderr
    data = pd.read_parquet("t.parquet")
    assert len(data) == 3 * 2 * 2
    assert not (data["status"] == "failed").any(), data.get("reason")
    for name in ("test/auroc", "test/balanced_accuracy", "predict_seconds", "seconds"):
        assert (data[name] > 0).all(), name
    assert (data["test/low"] <= data["test/violation"]).all()
    assert (data["test/violation"] <= data["test/high"]).all()
    tuned = data[data["method"] != "boosting"].groupby("traits")["test/violation"]
    plain = data[data["method"] == "boosting"].groupby("traits")["test/violation"]
    assert (tuned.mean() < plain.mean()).all()
    for text in (done.stdout, page.read_text()):
        assert "| Synthetic, all traits, DP | OxonFair | 0." in text
    again = call("estimators", *own)
    assert f"0 cases run, {len(data)} were there before" in again.stdout


def test_results_are_shown_without_running(small):
    assert "no results yet" in call("estimators", "--show").stdout


def test_bad_options_end_in_one_sentence(small):
    done = call("estimators", "--methods", "OxonFare")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Unknown method 'OxonFare'. Did you mean 'OxonFair'?" in done.stderr
