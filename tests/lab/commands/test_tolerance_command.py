"""The command `tolerance`, from the options to the file, the tables and the figure."""

from functools import partial

import pandas as pd
import pytest

from fairret.control import boosting
from fairret.lab.dataset import load
from fairret.lab.tolerance import learners, people, promise
from fairret.training import TrainingSettings
from small_grid import call

CACHES = (
    people.load_some,
    people.load_split,
    learners.learn_trees,
    learners.learn_network,
    learners.learn_groups,
    promise.load_population,
    promise._fixed_rule,
)
METHODS = (
    "boosting,exact informed boosting,blind boosting,ThresholdOptimizer,OxonFair,"
    "network,exact informed network,held-out certificate"
)
OPTIONS = ("--datasets", "synthetic", "--seeds", "1", "--draws", "1", "--notions", "pr")


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Few people, few trees, few epochs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(people, "load", partial(load, n=1200, seed=2))
    monkeypatch.setitem(learners.TREES, "max_iter", 4)
    monkeypatch.setattr(boosting, "ITERATIONS", 2)
    monkeypatch.setattr(promise, "MODEL_ROWS", 300)
    monkeypatch.setattr(promise, "JUDGED", 500)
    quick = TrainingSettings(epochs=4, batch=300, learning_rate=0.03, hidden=(8,))
    monkeypatch.setattr(learners, "PAPER", quick)
    for cached in CACHES:
        cached.cache_clear()
    yield
    for cached in CACHES:
        cached.cache_clear()


@pytest.mark.slow  # imports three packages
def test_whole_comparison_is_run_written_and_shown(small):
    options = (*OPTIONS, "--output", "t.parquet", "--methods", METHODS)
    done = call("tolerance", *options, "--figure", "figures")
    assert done.exit_code == 0, done.stderr
    data = pd.read_parquet("t.parquet")
    assert not (data["status"] == "failed").any(), data.get("reason")
    rules = data[data["method"].str.startswith("exact")]
    assert (rules["status"] == "met").mean() > 0.9
    within = rules["constrained_violation"] <= rules["tolerance"]
    assert (within == (rules["status"] == "met")).all()
    for part in ("fit", "test"):
        low, v, high = (data[f"{part}/{x}"] for x in ("low", "violation", "high"))
        known = v.notna()
        assert (low <= v)[known].all()
        assert (v <= high)[known].all()
    assert "within the stated tolerance on the fit rows" in done.stdout
    assert "covered by a held-out certificate" in done.stdout
    assert "figures/tolerance_peers.png" in done.stdout
    again = call("tolerance", *options)
    assert f"0 cases run, {len(data)} were there before" in again.stdout


def test_results_are_shown_without_running(small):
    assert "no results yet" in call("tolerance", "--show").stdout


def test_bad_options_end_in_one_sentence(small):
    done = call("tolerance", "--methods", "bosting")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Unknown method 'bosting'. Did you mean 'boosting'?" in done.stderr
    assert call("tolerance", "--seeds", "x").exit_code == 2
