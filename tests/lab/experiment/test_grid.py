"""Every run has a key: the same for the same content, wherever it is computed."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fairret.lab.experiment import Run, list_runs, read_experiment
from fairret.lab.experiment import grid as grid_module
from processes import finish, start_anew
from toy_work import toy_run

FILE = """
datasets = ["synthetic", "bank"]
statistics = ["pr", "tpr", "ppv"]
seeds = [3, 1]
traits = ["all", "single"]
[[method]]
name = "Unfair"
[[method]]
name = "KL"
strengths = [1, 2]
gradient = ["paper", "exact"]
[[method]]
name = "HSIC"
strengths = [1, 2, 5, 7, 9]
"""

OLDEST = ("0.2.0", 1)
ROOT = Path(__file__).parents[3]
TRADE_OFFS = ROOT / "experiments" / "trade_offs.toml"
PUBLISHED = ROOT / "results" / "run_times.parquet"


@pytest.fixture
def runs(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(FILE)
    return list_runs(read_experiment(path))


def of(runs, method):
    return [run for run in runs if run.method == method]


def test_number_of_runs_is_the_product(runs):
    datasets, statistics, seeds, traits = 2, 3, 2, 2
    assert len(of(runs, "KL")) == datasets * statistics * seeds * traits * 2 * 2
    assert len({run.key for run in runs}) == len(runs)


def test_runs_go_seed_by_seed_in_the_order_of_the_file(runs):
    half = len(runs) // 2
    assert [run.seed for run in runs] == [3] * half + [1] * half
    assert [run.dataset for run in runs[:half]] == sorted(
        [run.dataset for run in runs[:half]], reverse=True
    )
    first = [replace(run, seed=0) for run in runs[:half]]
    assert first == [replace(run, seed=0) for run in runs[half:]]


def test_methods_that_know_no_statistic_run_once_for_all(runs):
    assert {run.statistic for run in of(runs, "HSIC")} == {""}
    assert len(of(runs, "Unfair")) == 2 * 2
    assert len(of(runs, "HSIC")) == 2 * 2 * 5


def test_methods_for_a_single_trait_see_no_other(runs):
    assert {run.traits for run in of(runs, "HSIC")} == {"single"}
    assert {run.traits for run in of(runs, "KL")} == {"all", "single"}
    assert {run.traits for run in of(runs, "Unfair")} == {"all"}


CHANGES = {
    "dataset": "bank",
    "method": "SmoothMax",
    "strength": 0.25,
    "statistic": "tpr",
    "traits": "single",
    "seed": 1,
    "options": (("sharpness", 2.0),),
    "training": replace(toy_run().training, epochs=4),
}


def test_key_differs_whenever_a_setting_does():
    assert CHANGES.keys() == Run.__dataclass_fields__.keys()
    training = toy_run().training
    others = {"warm_up": 0, "batch": 7, "learning_rate": 0.5, "hidden": (6, 6)}
    others |= {"validation": 0.5, "stratified": True, "patience": 3}
    changed = [toy_run(**{key: value}) for key, value in CHANGES.items()]
    for key, value in others.items():
        changed.append(toy_run(training=replace(training, **{key: value})))
    keys = {run.key for run in (toy_run(), *changed)}
    assert len(keys) == 1 + len(changed)


def test_published_results_keep_their_keys():
    """Options that came later must not cause everything to be trained again."""
    runs = list_runs(read_experiment(TRADE_OFFS.with_name("run_times.toml")))
    rows = pd.read_parquet(PUBLISHED)
    stamp = OLDEST
    if "version" in rows:
        stamp = rows["version"][0], int(rows["revision"][0])
    found = {run.key_for(*stamp): (run.method, run.strength, run.seed) for run in runs}
    assert len(rows) == len(found) == 27
    for row in rows.itertuples():
        assert found[row.key] == (row.method, row.strength, row.seed)


def test_memory_is_an_option_with_a_key_of_its_own(tmp_path):
    path = tmp_path / "x.toml"
    last = 'name = "KL"\ndatasets = ["creditcard"]\nstrengths ='
    first, rest = TRADE_OFFS.read_text().split(last)
    path.write_text(f"{first}memory = [0, 9]\n{last}{rest}")
    found = list_runs(read_experiment(path))
    own = [x for x in found if (x.method, x.dataset) == ("KL", "creditcard")]
    usual = {run.key for run in list_runs(read_experiment(TRADE_OFFS))}
    assert [dict(run.options).get("memory") for run in own[:2]] == [None, 9]
    assert [run.key in usual for run in own[:2]] == [True, False]


def test_key_differs_with_the_version_of_the_code(monkeypatch):
    before = toy_run().key
    monkeypatch.setattr(grid_module, "__version__", "9.9")
    other = toy_run().key
    monkeypatch.setattr(grid_module, "REVISION", 99)
    assert len({before, other, toy_run().key}) == 3


def test_a_method_may_have_other_strengths_for_a_statistic_or_dataset(tmp_path):
    path = tmp_path / "x.toml"
    kl = 'name = "KL"\nstrengths = [1, 2]\ngradient = ["paper", "exact"]\n'
    text = FILE.replace(kl, f'{kl}statistics = ["pr", "ppv"]\n[[method]]\n{kl}')
    last = '[5]\nstatistics = "tpr"\ndatasets = "bank"\n'
    path.write_text(text[: text.rindex("[1, 2]")] + last)
    own = of(list_runs(read_experiment(path)), "KL")
    strengths = {(run.statistic, run.strength) for run in own}
    assert strengths == {("pr", 1), ("pr", 2), ("ppv", 1), ("ppv", 2), ("tpr", 5)}
    assert {run.dataset for run in own if run.strength == 5} == {"bank"}


@pytest.mark.process
def test_key_is_the_same_in_another_process():
    code = "from toy_work import *; print(toy_run(5).key)"
    done = finish(start_anew(code, PYTHONHASHSEED="77"))  # ours is another
    assert done == (0, toy_run(5).key + "\n", "")


def test_name_of_a_run_says_what_it_is():
    assert str(toy_run(4)) == "synthetic Norm pr 0.5 sharpness=1.0 seed 4"
    plain = toy_run(method="Unfair", statistic="", options=(), strength=0.0)
    assert str(plain) == "synthetic Unfair 0 seed 0"
