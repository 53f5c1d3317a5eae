"""The same grid on a Dask cluster of two processes."""

import logging

import pytest

from fairret.errors import ArgumentError, DataFileError, NameNotFoundError
from fairret.lab.experiment import Progress, Store, WorkerLostError, run_missing
from fairret.lab.experiment import runner as module
from processes import PATHS
from toy_work import (
    every_third_fails,
    instant,
    third_lacks_its_data,
    third_takes_its_process_down,
    toy_run,
    toy_runs,
)

pytestmark = pytest.mark.process

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            client.run(lambda: __import__("sys").path.extend(PATHS))
        yield cluster


def numbers(store):
    return {key: one.result for key, one in store.finished()}


def on(cluster, runs, store, **options):
    scheduler = cluster.scheduler_address
    return run_missing(runs, store, backend="dask", scheduler=scheduler, **options)


def test_cluster_gives_the_same_numbers_to_the_bit(cluster, tmp_path):
    runs = [toy_run(4, statistic="ppv"), toy_run()]
    here, there = Store(tmp_path / "here.sqlite"), Store(tmp_path / "there.sqlite")
    assert on(cluster, runs, there) == Progress(2, 0, 2)
    run_missing(runs, here)
    assert numbers(there) == numbers(here)
    assert on(cluster, runs, there).total == 0


def test_failures_are_kept_and_the_rest_go_on(cluster, tmp_path):
    store = Store(tmp_path / "results.sqlite")
    progress = on(cluster, toy_runs(11), store, work=every_third_fails)
    assert progress == Progress(7, 4, 11)


def test_lost_worker_is_the_failure_of_its_run_alone(cluster, tmp_path):
    store = Store(tmp_path / "results.sqlite")
    with distributed.Client(cluster, set_as_default=False) as client:
        client.run_on_scheduler(
            lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0)
        )
    progress = on(cluster, toy_runs(5), store, work=third_takes_its_process_down)
    assert progress.done + progress.failed == 5
    status = {one.run["seed"]: one.reason for _, one in store.finished()}
    assert status[2].startswith("KilledWorker: ")
    assert status[0] is None
    assert set(store.status().values()) == {"done", "failed"}


def test_data_that_workers_lack_are_told_and_no_claim_is_left(cluster, tmp_path):
    store = Store(tmp_path / "results.sqlite")
    with pytest.raises(DataFileError, match="the disk was taken out"):
        on(cluster, toy_runs(9), store, work=third_lacks_its_data)
    assert set(store.status().values()) <= {"done"}
    assert toy_run(2).key not in store.status()
    with pytest.raises(NameNotFoundError, match="'nowhere'"):
        on(cluster, [toy_run(), toy_run(dataset="nowhere")], store)


def test_scheduler_that_does_not_answer_is_told_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CONNECT", 0.5)
    store = Store(tmp_path / "results.sqlite")
    for address in ("tcp://127.0.0.1:9", "nonsense://x:1"):
        with pytest.raises(ArgumentError, match=f"that answers; {address} does not"):
            run_missing(toy_runs(2), store, backend="dask", scheduler=address)
    with pytest.raises(ArgumentError, match=r"`scheduler` is required by .* got none"):
        run_missing(toy_runs(2), store, backend="dask")
    assert store.status() == {}


def test_scheduler_without_workers_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WORKERS", 0.2)
    store = Store(tmp_path / "results.sqlite")
    options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        distributed.LocalCluster(n_workers=0, **options) as empty,
        pytest.raises(WorkerLostError, match="`scheduler` must have workers"),
    ):
        on(empty, toy_runs(2), store, work=instant)
