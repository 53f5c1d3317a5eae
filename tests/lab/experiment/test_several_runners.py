"""Runners that are killed, and two at a time: nothing is lost or trained twice."""

import os
import sqlite3
import time
from collections import Counter

import pytest

import toy_work
from fairret.lab.experiment import Store
from processes import finish, kill, start, start_anew
from toy_work import begun

pytestmark = pytest.mark.process

N = 14
RUNNER = f"""
import sys
from pathlib import Path
from fairret.lab.experiment import Store, run_missing
from toy_work import *
print(run_missing(
    toy_runs({N}), Store(Path(sys.argv[1])), work=logged, jobs=int(sys.argv[2])
).done)
"""


def done(store):
    return [one.run["seed"] for _, one in store.finished()]


def test_killed_runner_loses_the_runs_in_flight_and_the_same_command_goes_on(tmp_path):
    jobs = 2
    path, log = tmp_path / "results.sqlite", tmp_path / "log"
    store = Store(path)
    first = start_anew(RUNNER, path, jobs, **{toy_work.LOG: str(log)})
    limit = time.monotonic() + 60
    while len(done(store)) < 4 and time.monotonic() < limit:
        time.sleep(0.02)
    kill(first)
    before = done(store)
    assert 4 <= len(before) < N
    code, out, err = finish(start_anew(RUNNER, path, jobs, **{toy_work.LOG: str(log)}))
    assert (code, err) == (0, "")
    assert int(out) == N - len(before)
    assert sorted(done(store)) == list(range(N))
    times = Counter(begun(log))
    assert all(times[seed] == 1 for seed in before)
    assert sum(times.values()) <= N + 2 * jobs  # in flight, and handed to a worker
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


WATCHED = """
import sys
from pathlib import Path
from fairret.lab.experiment import Store, run_missing
from toy_work import *
run_missing(toy_runs(2), Store(Path(sys.argv[1])), work=never_ends, jobs=2)
"""


@pytest.mark.skipif(os.name == "nt", reason="a process has no new parent there")
def test_workers_of_a_killed_runner_end_with_it(tmp_path):
    log = tmp_path / "log"
    runner = start_anew(WATCHED, tmp_path / "x.sqlite", **{toy_work.LOG: str(log)})
    limit = time.monotonic() + 60
    while len(set(begun(log))) < 2 and time.monotonic() < limit:
        time.sleep(0.05)
    assert len(set(begun(log))) == 2  # both workers are at it
    runner.kill()  # and none of those that it has started
    limit = time.monotonic() + 20
    silent = False
    while not silent and time.monotonic() < limit:
        before = log.stat().st_size
        time.sleep(1)
        silent = log.stat().st_size == before
    kill(runner)  # cleans up where they have not ended
    assert silent


def test_two_runners_train_each_run_exactly_once(tmp_path):
    path, log = tmp_path / "results.sqlite", tmp_path / "log"
    both = [start(RUNNER, path, 1, **{toy_work.LOG: str(log)}) for _ in range(2)]
    ended = list(map(finish, both))
    assert [(code, err) for code, _, err in ended] == [(0, "")] * 2
    counts = [int(out) for _, out, _ in ended]
    assert sum(counts) == N
    assert sorted(begun(log)) == list(range(N))
    assert sorted(done(Store(path))) == list(range(N))
