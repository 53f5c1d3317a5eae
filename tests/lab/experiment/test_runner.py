"""Only what is missing is trained, and a failure does not stop the rest."""

import os
import sqlite3
import threading
from dataclasses import replace

import pytest

import toy_work
from fairret.errors import ArgumentError
from fairret.lab.experiment import (
    Progress,
    Store,
    StoreError,
    WorkerLostError,
    run_missing,
)
from fairret.lab.experiment import runner as module
from fairret.lab.experiment.work import work
from toy_work import (
    begun,
    every_third_fails,
    instant,
    logged,
    third_takes_its_process_down,
    toy_run,
    toy_runs,
)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results.sqlite")


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv(toy_work.LOG, str(tmp_path / "log"))
    return tmp_path / "log"


def numbers(store):
    return {key: one.result for key, one in store.finished()}


def real_runs():
    plain = toy_run(method="Unfair", statistic="", options=(), strength=0.0)
    adversary = toy_run(
        1, method="AdvDebias", statistic="", traits="single", options=()
    )
    stacked = toy_run(statistic="tpr+fpr")
    return [toy_run(), toy_run(1), plain, adversary, stacked]


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory):
    """The results of real runs, trained one after the other."""
    store = Store(tmp_path_factory.mktemp("one") / "results.sqlite")
    assert run_missing(real_runs(), store) == Progress(5, 0, 5)
    return numbers(store)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.process)])
def test_only_missing_runs_are_run(store, log, jobs):
    store.finish(toy_run(1), 1.0, {})
    store.fail(toy_run(3), "no luck")
    other = Store(store.path)
    assert other.claim(toy_run(2))
    progress = run_missing(toy_runs(6), store, work=logged, jobs=jobs)
    assert progress == Progress(3, 0, 4)  # one of four is with the other
    assert sorted(begun(log)) == [0, 4, 5]
    assert run_missing(toy_runs(6), store, work=logged).done == 0
    assert len(begun(log)) == 3


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.process)])
def test_failure_is_kept_with_its_reason_and_the_rest_go_on(store, jobs):
    seen = []
    progress = run_missing(
        toy_runs(7),
        store,
        work=every_third_fails,
        jobs=jobs,
        on_progress=lambda count, last: seen.append((count, last and last.run.seed)),
    )
    assert progress == Progress(5, 2, 7)
    assert seen[0] == (Progress(0, 0, 7), None)
    assert sorted(seed for _, seed in seen[1:]) == list(range(7))
    assert [sum(count[:2]) for count, _ in seen] == list(range(8))
    failed = {one.run["seed"]: one.reason for _, one in store.finished() if one.reason}
    assert failed == {1: "no luck", 4: "no luck"}


def test_reason_of_a_run_that_diverges_or_breaks_is_kept(store):
    hot = replace(toy_run().training, learning_rate=1e30)
    runs = [toy_run(training=hot), toy_run(method="None"), toy_run()]
    assert run_missing(runs, store) == Progress(1, 2, 3)
    reasons = [one.reason for _, one in store.finished()]
    assert "`strength` must leave the loss finite" in reasons[0]
    assert reasons[1].startswith("KeyError: 'None' (work.py:")
    assert reasons[2] is None


@pytest.mark.slow
def test_runs_measure_the_statistic_they_are_for(one_by_one):
    found = one_by_one[toy_run(statistic="tpr+fpr").key]
    assert found["test/violation/tpr+fpr/decisions/all"] >= 0
    assert found["test/violation/pr/scores/single"] >= 0
    assert "test/violation/tpr+fpr/scores/all" not in one_by_one[toy_run().key]


@pytest.mark.slow
def test_runs_in_threads_of_one_process_give_the_same_numbers(one_by_one):
    found, runs = {}, real_runs()

    def train(run):
        found[run.key] = work(run).result

    threads = [threading.Thread(target=train, args=[run]) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == one_by_one


@pytest.mark.process
def test_lost_worker_is_told_and_the_others_stay(store):
    with pytest.raises(WorkerLostError, match=r"one of 2 was lost .* with fewer jobs"):
        run_missing(toy_runs(8), store, work=third_takes_its_process_down, jobs=2)
    status = store.status()
    assert set(status.values()) <= {"done"}  # and no claim is left
    assert toy_run(0).key in status
    assert toy_run(2).key not in status
    progress = run_missing(toy_runs(8), store, work=instant, jobs=2)
    assert progress.done == 8 - len(status)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.process)])
def test_full_disk_stops_with_a_message_and_what_was_stored_is_intact(
    store, monkeypatch, jobs
):
    for run in toy_runs(3):
        store.finish(run, 1.0, {})
    connect = sqlite3.connect
    pages = os.path.getsize(store.path) // 4096 + 1

    def tight(*arguments, **options):
        db = connect(*arguments, **options)
        db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    def wordy(run):
        return instant(run)._replace(result={str(k): k / 7 for k in range(99)})

    with monkeypatch.context() as context:
        context.setattr(sqlite3, "connect", tight)
        with pytest.raises(StoreError, match=r"disk is full.* intact: free some space"):
            run_missing(toy_runs(30), store, work=wordy, jobs=jobs)
    done = list(store.status().values())
    assert 3 <= done.count("done") < 30
    store.drop_claims()
    assert run_missing(toy_runs(30), store, work=instant).failed == 0
    assert set(store.status().values()) == {"done"}
    assert len(store.status()) == 30


def test_claims_are_given_back_when_the_work_is_interrupted(store):
    def interrupted(run):
        if run.seed == 1:
            raise KeyboardInterrupt
        return instant(run)

    with pytest.raises(KeyboardInterrupt):
        run_missing(toy_runs(4), store, work=interrupted)
    assert list(store.status().values()) == ["done"]


def test_claims_are_renewed_while_a_run_is_trained(store, monkeypatch):
    renewed = threading.Event()
    calls = []

    def renew_claims():
        calls.append(1)
        if len(calls) == 1:
            raise StoreError("no room just now")  # the next one may work
        renewed.set()

    monkeypatch.setattr(module, "LEASE", 0.02)
    monkeypatch.setattr(store, "renew_claims", renew_claims)

    def patient(run):
        assert renewed.wait(20)
        return instant(run)

    assert run_missing(toy_runs(1), store, work=patient).done == 1


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_are_at_least_one(store, jobs):
    with pytest.raises(ArgumentError, match="`jobs` must be at least 1"):
        run_missing([], store, jobs=jobs)


def test_scheduler_without_a_cluster_is_refused(store):
    with pytest.raises(ArgumentError, match=r"`scheduler` requires .* got 'local'"):
        run_missing(toy_runs(2), store, scheduler="tcp://nowhere:1")
    assert store.status() == {}
