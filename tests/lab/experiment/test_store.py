"""The store: one owner a run, and intact whatever happens."""

import json
import math
import os
import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fairret.lab.experiment import Store, StoreError
from fairret.lab.experiment import store as module
from fairret.lab.experiment.store import LEASE
from processes import finish, start
from toy_work import toy_run, toy_runs


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deeper" / "results.sqlite"


def change(path, assignment, *values):
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE runs SET {assignment}", values)
    db.close()


def is_sound(path):
    db = sqlite3.connect(path)
    found = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return found == "ok"


def test_claim_is_refused_while_somebody_is_at_it_and_when_it_is_done(path):
    one, two, run = Store(path), Store(path), toy_run()
    assert one.claim(run)
    assert not two.claim(run)
    assert not one.claim(run)  # not even to its owner
    one.finish(run, 1.5, {"a": 2.0})
    assert not two.claim(run)
    assert two.claim(toy_run(1))
    two.fail(toy_run(1), "no luck")
    assert not one.claim(toy_run(1))
    assert set(one.status().values()) == {"done", "failed"}


def test_only_one_of_many_threads_gets_a_run(path):
    stores = [Store(path) for _ in range(6)]
    runs, together = toy_runs(5), threading.Barrier(len(stores))

    def take(store):
        together.wait()
        return [run.seed for run in runs if store.claim(run)]

    with ThreadPoolExecutor(len(stores)) as pool:
        taken = [seed for seeds in pool.map(take, stores) for seed in seeds]
    assert sorted(taken) == [0, 1, 2, 3, 4]


@pytest.mark.process
def test_claims_of_a_process_that_is_gone_are_void_at_once(path):
    code = """
import sys; from pathlib import Path; from fairret.lab.experiment import Store
from toy_work import *
assert Store(Path(sys.argv[1])).claim(toy_run())
"""
    assert finish(start(code, path)) == (0, "", "")
    store = Store(path)
    assert list(store.status().values()) == ["claimed"]
    assert store.claim(toy_run())


def test_claims_of_another_host_are_void_after_the_lease(path, monkeypatch):
    one, two, run = Store(path), Store(path), toy_run()
    assert one.claim(run)
    change(path, "owner = ?", "elsewhere:1:7")
    assert not two.claim(run)
    change(path, "seen = seen - ?", LEASE + 1)
    assert two.claim(run)


def test_renew_claims_renews_the_lease_of_ones_own_claims(path):
    one, two = Store(path), Store(path)
    assert one.claim(toy_run(0))
    assert two.claim(toy_run(1))
    change(path, "seen = seen - ?", LEASE + 1)
    one.renew_claims()
    third = Store(path)
    assert not third.claim(toy_run(0))
    assert third.claim(toy_run(1))


def test_giving_back_drops_ones_own_claims_only(path):
    one, two = Store(path), Store(path)
    for run, store in zip(toy_runs(3), (one, one, two), strict=True):
        assert store.claim(run)
    one.finish(toy_run(0), 1.0, {})
    one.drop_claims()
    assert one.status() == {toy_run(0).key: "done", toy_run(2).key: "claimed"}


def test_result_comes_back_as_it_was_and_what_is_not_finite_as_null(path):
    store = Store(path)
    numbers = {"a": 1 / 3, "b": math.nan, "c": math.inf, "d": -math.inf, "e": 5e-324}
    store.finish(toy_run(), 2.5, numbers)
    store.fail(toy_run(1), "a 'reason' – with signs")
    (key, done), (_, failed) = Store(path).finished()
    assert key == toy_run().key
    assert done.result == {"a": 1 / 3, "b": None, "c": None, "d": None, "e": 5e-324}
    assert (done.status, done.seconds, done.reason) == ("done", 2.5, None)
    assert done.run == json.loads(json.dumps(done.run))
    assert (done.run["seed"], done.run["training"]["hidden"]) == (0, [6])
    assert failed.result == {}
    assert failed.reason == "a 'reason' – with signs"


def test_versions_are_texts_among_the_numbers(path):
    store = Store(path)
    result = {"commit": "0123abc", "torch": "2.9", "a": 0.5}
    store.finish(toy_run(), 1.0, result)
    ((_, done),) = store.finished()
    assert done.result == result
    change(path, "result = ?", '{"torch": 2.9}')
    with pytest.raises(StoreError, match=r"2\.9.* for `result`"):
        store.finished()


def test_failure_does_not_replace_a_result(path):
    store = Store(path)
    store.finish(toy_run(), 1.0, {"a": 1.0})
    store.fail(toy_run(), "came too late")
    assert [one.status for _, one in store.finished()] == ["done"]


def test_only_failures_of_the_given_runs_are_forgotten(path):
    store = Store(path)
    for run in toy_runs(3):
        store.fail(run, "no luck")
    store.finish(toy_run(3), 1.0, {})
    assert store.forget_failures([toy_run(1), toy_run(3), toy_run(8)]) == 1
    assert store.status().keys() == {toy_run(seed).key for seed in (0, 2, 3)}


def test_file_that_is_no_database_is_told_and_left_alone(tmp_path):
    path = tmp_path / "notes.sqlite"
    path.write_text("not a database, but something that somebody wants to keep\n" * 99)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"must be a SQLite file; .*notes\.sqlite is"):
        Store(path)
    assert path.read_bytes() == before


def test_damaged_database_is_told(path):
    store = Store(path)
    for run in toy_runs(40):
        store.finish(run, 1.0, {str(k): k / 7 for k in range(40)})
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged .*malformed"):
        store.finished()


def test_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"`store` must be .* can be written"):
        Store(tmp_path / "file" / "results.sqlite")
    with pytest.raises(StoreError, match="unable to open database file"):
        Store(tmp_path)  # a folder


def test_store_that_is_for_reading_only_can_be_read(path, monkeypatch):
    Store(path).finish(toy_run(), 1.0, {"a": 1.0})
    connect = sqlite3.connect  # file permissions do not stop an administrator
    monkeypatch.setattr(
        module.sqlite3,
        "connect",
        lambda path, **options: connect(f"file:{path}?mode=ro", uri=True, **options),
    )
    store = Store(path)
    assert len(store.finished()) == len(store.status()) == 1
    with pytest.raises(StoreError, match="readonly"):
        store.claim(toy_run(1))


FULL_DISK = """
import resource, sys
from pathlib import Path
from fairret.lab.experiment import Store, StoreError
from toy_work import *
store = Store(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
try:
    for run in toy_runs(100):
        store.finish(run, 1.0, {str(k): k / 7 for k in range(50)})
        print(run.seed, flush=True)
except StoreError as error:
    print(error)
"""


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="there are no such limits")
def test_full_disk_is_told_and_what_was_stored_is_intact(path):
    code, out, err = finish(start(FULL_DISK, path))
    assert (code, err) == (0, "")
    *seeds, message = out.splitlines()
    assert 3 < len(seeds) < 100
    assert "Earlier results are intact: free some space" in message
    assert is_sound(path)
    store = Store(path)
    assert [one.run["seed"] for _, one in store.finished()] == list(map(int, seeds))
    store.finish(toy_run(99), 1.0, {})  # there is room again


def test_owner_names_host_and_process(path):
    host, process, _ = Store(path).owner.rsplit(":", 2)
    assert (host, int(process)) == (socket.gethostname(), os.getpid())


def test_table_of_somebody_else_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE runs (distance REAL)")
    with pytest.raises(StoreError, match=r"`fairret run` made; .* another table of"):
        Store(path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("run", "{"),
        ("run", "[]"),
        ("run", '{"options": 3}'),
        ("run", "[" * 100_000),
        ("result", '{"a": "text"}'),
        ("result", "3"),
        ("status", "banana"),
    ],
)
def test_row_that_somebody_has_damaged_is_named(path, column, value):
    store = Store(path)
    store.finish(toy_run(), 1.0, {"a": 1.0})
    change(path, f"{column} = ?", value)
    with pytest.raises(StoreError, match=rf"key '{toy_run().key}' has .*`{column}`"):
        store.finished()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("owner", None),
        ("owner", "somebody"),
        ("owner", "host:pid:1"),
        ("owner", f"{socket.gethostname()}:{10**30}:1"),
        ("seen", None),
        ("status", "banana"),
    ],
)
def test_claim_that_somebody_has_damaged_is_named(path, column, value):
    store = Store(path)
    assert store.claim(toy_run())
    change(path, f"{column} = ?", value)
    with pytest.raises(StoreError, match=rf"key '{toy_run().key}' has .*`{column}`"):
        store.claim(toy_run())


def test_unknown_status_is_named_before_anything_is_trained(path):
    store = Store(path)
    store.finish(toy_run(), 1.0, {})
    change(path, "status = 'banana'")
    with pytest.raises(
        StoreError, match=r"has 'banana' for `status`\. Delete that row"
    ):
        store.status()
