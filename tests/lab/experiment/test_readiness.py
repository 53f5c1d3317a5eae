"""Missing data or packages end the command; they are not failures of runs."""

import re
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch

import fairret
from fairret.errors import DataFileError, MissingExtraError, NameNotFoundError
from fairret.lab.dataset import catalogue, load
from fairret.lab.experiment import Progress, Store, run_missing
from fairret.lab.experiment import work as module
from fairret.lab.experiment.methods import METHODS
from fairret.lab.experiment.work import MEASURED, _warm_up, work
from fairret.training import Split, split_rows, warm_up
from toy_work import instant, third_lacks_its_data, toy_run, toy_runs


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.sqlite")


@pytest.fixture
def no_files(tmp_path, monkeypatch):
    """No file in the user's folder, none in the cache, and no publisher."""
    monkeypatch.setenv("FAIRRET_DATA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)


@pytest.mark.usefixtures("no_files")
@pytest.mark.parametrize("jobs", [1, 2])
def test_missing_file_is_told_before_anything_is_claimed(store, jobs, monkeypatch):
    monkeypatch.setattr(store, "claim", lambda run: pytest.fail("it was claimed"))
    runs = [toy_run(), toy_run(dataset="bank")]
    with pytest.raises((DataFileError, MissingExtraError), match="FAIRRET_DATA_HOME"):
        run_missing(runs, store, jobs=jobs)
    assert store.status() == {}


@pytest.mark.usefixtures("no_files")
def test_data_of_runs_that_are_done_are_not_looked_for(store):
    done = toy_run(dataset="bank")
    store.finish(done, 1.0, {})
    assert run_missing([done, toy_run()], store, work=instant) == Progress(1, 0, 1)


@pytest.mark.parametrize(
    ("method", "package"),
    [("ExponentiatedGradient", "fairlearn"), ("OxonFair", "oxonfair")],
)
def test_missing_package_is_told_before_anything_is_claimed(
    store, method, package, monkeypatch
):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    runs = [toy_run(), toy_run(method=method, traits="single", options=())]
    with pytest.raises(MissingExtraError, match=rf"{method}' needs {package}"):
        run_missing(runs, store)
    assert store.status() == {}


@pytest.mark.process
def test_release_that_cannot_be_installed_is_told(store, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRRET_PEERS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    runs = [toy_run(), toy_run(method="KL 0.1.3", options=())]
    with pytest.raises(MissingExtraError, match=r"`pip install fairret==0\.1\.3` must"):
        run_missing(runs, store)
    assert store.status() == {}


def test_loader_that_breaks_is_told_with_its_line(store, monkeypatch):
    def broken():
        raise OSError("no such table")

    monkeypatch.setitem(catalogue._LOADERS, "broken", broken)
    words = r"'broken' ended with OSError: no such table \(test_readiness\.py:\d+\)"
    with pytest.raises(DataFileError, match=words):
        run_missing([toy_run(dataset="broken")], store)
    with pytest.raises(NameNotFoundError, match="'nowhere'"):
        run_missing([toy_run(dataset="nowhere")], store)
    assert store.status() == {}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.process)])
def test_data_lost_on_the_way_give_the_claim_back(store, jobs):
    with pytest.raises(DataFileError, match="the disk was taken out"):
        run_missing(toy_runs(5), store, work=third_lacks_its_data, jobs=jobs)
    status = store.status()
    assert set(status.values()) <= {"done"}
    assert toy_run(2).key not in status
    assert run_missing(toy_runs(5), store, work=instant).failed == 0


def test_work_does_not_take_missing_data_for_a_failed_run(monkeypatch):
    def gone():
        raise DataFileError("`x.csv` must be there; it is not. Put it there.")

    monkeypatch.setitem(catalogue._LOADERS, "gone", gone)
    with pytest.raises(DataFileError, match=r"x\.csv"):
        work(toy_run(dataset="gone"))
    with pytest.raises(DataFileError, match=r"x\.csv"):
        module.check_ready(["gone"], [])


@pytest.mark.slow
@pytest.mark.parametrize("stratified", [False, True])
def test_shared_warm_up_has_the_strata_of_its_training(stratified):
    settings = replace(toy_run().training, stratified=stratified)
    data = load("synthetic")
    rows = split_rows(data.feat, data.sens, data.label, seed=0)
    sex = list(data.traits["sex"])
    own = Split(*(x and x._replace(sens=x.sens[:, sex]) for x in rows))
    run = toy_run(training=settings, traits="single")
    assert work(run).reason is None
    assert work(replace(run, traits="all")).reason is None
    expected = warm_up(own, settings, seed=0)
    traits = "single" if stratified else "all"
    before = _warm_up.cache_info().hits
    found = _warm_up("synthetic", 0, settings, traits)
    assert _warm_up.cache_info().hits == before + 1  # it is the one that was shared
    for name, weight in expected.network.items():
        assert torch.equal(found.network[name], weight)


def test_result_names_the_commit_and_the_versions_that_made_it():
    result = work(toy_run()).result
    assert result["torch"] == str(torch.__version__)
    assert result["numpy"] == np.__version__
    assert result["fairret"] == fairret.__version__
    if (Path(__file__).parents[3] / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", result["commit"])
    assert "packages" not in result


def test_result_names_the_versions_of_the_packages_of_its_method():
    own = replace(METHODS["Norm"], packages=lambda: {"one": "1.2", "two": "3"})
    with patch.dict(METHODS, {"Norm": own}):
        assert work(toy_run()).result["packages"] == "one 1.2, two 3"


def test_run_stores_verdicts_for_every_notion_channel_and_part():
    result = work(toy_run()).result
    for part, notion, channel, which in product(
        ("train", "test"), MEASURED, ("scores", "decisions"), ("all", "single")
    ):
        path = f"{notion}/{channel}/{which}"
        assert 0 <= result[f"{part}/p_value/{path}"] <= 1
        assert result[f"{part}/beyond_chance/{path}"] in (0, 1)
        assert result[f"{part}/violation_beyond_chance/{path}"] >= 0
