"""Results in one SQLite file. It survives killed runs and serves several runners."""

from __future__ import annotations

import json
import math
import os
import re
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fairret.errors import FairretError
from fairret.lab.experiment.grid import LATER, Run

WAIT = 60.0  # seconds to wait for another process that writes
LEASE = 120.0  # seconds after which a claim that is not renewed expires
SHOWN = 60  # characters of a value in a message
OWNER = re.compile(r"(?P<host>.*):(?P<process>[0-9]{1,9}):[0-9]+", re.DOTALL)
FINISHED = ("done", "failed")
SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY,
    run TEXT NOT NULL,          -- the configuration, as JSON
    status TEXT NOT NULL,       -- claimed, done or failed
    owner TEXT,                 -- who claimed it: host, process, start
    seen REAL,                  -- when the owner last renewed its claim
    seconds REAL,               -- of training
    result TEXT,                -- numbers and versions by name, as JSON
    reason TEXT                 -- why it failed
) STRICT
"""
# texts among the numbers
PROVENANCE = ("commit", "fairret", "torch", "numpy", "packages")
COLUMNS = {"key", "run", "status", "owner", "seen", "seconds", "result", "reason"}
SETTINGS = {  # the types of a run's settings in JSON
    **dict.fromkeys(("dataset", "method", "statistic", "traits"), str),
    "strength": (int, float),
    "seed": int,
    "options": list,
    "training": dict,
}


class StoreError(FairretError, RuntimeError):
    """The file of results cannot be used."""


class DamagedRowError(ValueError):
    """A row holds a value that `fairret run` does not write."""

    def __init__(self, column: str, value: object) -> None:
        super().__init__(f"{shorten(value)} for `{column}`")


class Finished(NamedTuple):
    """A run that is done or has failed."""

    run: dict[str, Any]  # its settings
    status: str
    seconds: float | None
    result: dict[str, float | str | None]  # None where it was not a finite number
    reason: str | None


class Store:
    """The results of runs by their key.

    Args:
        path: The file; it is created if it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"
        with self._transaction("DEFERRED") as db:  # the file may be read-only
            columns = {row[1] for row in db.execute("PRAGMA table_info(runs)")}
        if columns and not columns >= COLUMNS:
            raise StoreError(
                f"`store` must be a file that `fairret run` made; {path} has another "
                "table of runs. Pass another file."
            )
        if not columns:
            with self._transaction() as db:
                db.execute(SCHEMA)

    @contextmanager
    def _transaction(
        self, mode: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE"
    ) -> Iterator[sqlite3.Connection]:
        """Open, write and close: no lock is held while a run is trained."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
            try:
                db.execute("PRAGMA synchronous = FULL")
                db.execute(f"BEGIN {mode}")
                yield db
                db.execute("COMMIT")
            finally:
                db.close()  # without COMMIT, this rolls back
        except (sqlite3.Error, OSError) as error:
            if type(error) is sqlite3.DatabaseError:  # not one of its subclasses
                raise StoreError(
                    f"`store` must be a SQLite file; {self.path} is not, or is damaged "
                    f"({error}). Pass another file, or move this one away."
                ) from error
            raise StoreError(
                f"`store` must be a SQLite file that can be written; {self.path} "
                f"cannot ({error}). Earlier results are intact: free some space or "
                "check the file, and start again."
            ) from error

    def claim(self, run: Run) -> bool:
        """Take a run, unless it is finished or another runner is training it."""
        now = time.time()
        with self._transaction() as db:
            row = db.execute(
                "SELECT status, owner, seen FROM runs WHERE key = ?", (run.key,)
            ).fetchone()
            with self._intact(run.key):
                if row is not None and not _has_expired(now, *row):
                    return False
            db.execute(
                "INSERT OR REPLACE INTO runs (key, run, status, owner, seen) "
                "VALUES (?, ?, 'claimed', ?, ?)",
                (run.key, json.dumps(run.settings), self.owner, now),
            )
        return True

    def finish(
        self, run: Run, seconds: float, result: Mapping[str, float | str]
    ) -> None:
        """Keep the result of a run."""
        plain = {
            k: v if isinstance(v, str) or math.isfinite(v) else None
            for k, v in result.items()
        }
        done = Finished(run.settings, "done", seconds, plain, None)
        with self._transaction() as db:
            db.execute("DELETE FROM runs WHERE key = ?", (run.key,))
            _insert(db, [(run.key, done)])

    def fail(self, run: Run, reason: str) -> None:
        """Keep the reason why a run failed, unless another runner has finished it."""
        failed = Finished(run.settings, "failed", None, {}, reason)
        with self._transaction() as db:
            db.execute(
                "DELETE FROM runs WHERE key = ? AND status != 'done'", (run.key,)
            )
            _insert(db, [(run.key, failed)])

    def restore(self, rows: Iterable[tuple[str, Finished]]) -> int:
        """Add finished runs from elsewhere unless they are here; return how many."""
        with self._transaction() as db:
            return _insert(db, rows)

    def renew_claims(self) -> None:
        """Tell other runners that this one is alive."""
        with self._transaction() as db:
            db.execute(
                "UPDATE runs SET seen = ? WHERE status = 'claimed' AND owner = ?",
                (time.time(), self.owner),
            )

    def drop_claims(self) -> None:
        """Drop the claims of this runner."""
        with self._transaction() as db:
            db.execute(
                "DELETE FROM runs WHERE status = 'claimed' AND owner = ?", (self.owner,)
            )

    def forget_failures(self, runs: Iterable[Run]) -> int:
        """Drop failed runs, so that they are trained again; return how many."""
        keys = [(run.key,) for run in runs]
        with self._transaction() as db:
            return db.executemany(
                "DELETE FROM runs WHERE status = 'failed' AND key = ?", keys
            ).rowcount

    def status(self) -> dict[str, str]:
        """The status of every run by its key."""
        with self._transaction("DEFERRED") as db:
            found = dict(db.execute("SELECT key, status FROM runs").fetchall())
        for key, status in found.items():
            with self._intact(key):
                _check_status(status)
        return found

    def finished(self) -> list[tuple[str, Finished]]:
        """All runs that are done or have failed, with their keys."""
        with self._transaction("DEFERRED") as db:
            rows = db.execute(
                "SELECT key, run, status, seconds, result, reason FROM runs "
                "WHERE status != 'claimed' ORDER BY rowid"
            ).fetchall()
        found = []
        for key, *cells in rows:
            with self._intact(key):
                found.append((key, _read_finished(cells)))
        return found

    @contextmanager
    def _intact(self, key: str) -> Iterator[None]:
        """Name the row that was changed by hand or by another program."""
        try:
            yield
        except DamagedRowError as error:
            raise StoreError(
                f"`store` must be a file that `fairret run` made; in {self.path}, the "
                f"run with key {key!r} has {error}. Delete that row, or move the file "
                "away and train again."
            ) from error


def _insert(db: sqlite3.Connection, rows: Iterable[tuple[str, Finished]]) -> int:
    """Insert runs whose key is new; return how many."""
    before = db.total_changes
    db.executemany(
        "INSERT OR IGNORE INTO runs (key, run, status, seconds, result, reason) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (key, json.dumps(run), status, seconds, json.dumps(result), reason)
            for key, (run, status, seconds, result, reason) in rows
        ],
    )
    return db.total_changes - before


def shorten(value: object) -> str:
    """Show a value on one line, without its end if it is long."""
    shown = repr(value)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


def parse_object(text: object) -> dict[str, Any] | None:
    """Parse a JSON object; None if it is anything else."""
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _check_status(status: str) -> str:
    if status not in (*FINISHED, "claimed"):
        raise DamagedRowError("status", status)
    return status


def _read_finished(cells: Sequence[Any]) -> Finished:
    run, status, seconds, result, reason = cells
    settings, numbers = parse_object(run), parse_object(result or "{}")
    if settings is None or not _are_settings(settings):
        raise DamagedRowError("run", run)
    if numbers is None or not all(
        x is None or _is(x, str if name in PROVENANCE else (int, float))
        for name, x in numbers.items()
    ):
        raise DamagedRowError("result", result)
    settings["training"] = LATER | settings["training"]
    return Finished(settings, _check_status(status), seconds, numbers, reason)


def _are_settings(found: dict[str, Any]) -> bool:
    """Whether a table of results can show these settings."""
    return all(_is(found.get(name), kind) for name, kind in SETTINGS.items()) and all(
        isinstance(x, list) and len(x) == 2 and isinstance(x[0], str)
        for x in found["options"]
    )


def _is(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _has_expired(now: float, status: str, owner: object, seen: object) -> bool:
    """Whether a claim has ended, because its owner has."""
    if _check_status(status) != "claimed":
        return False
    form = OWNER.fullmatch(owner) if isinstance(owner, str) else None
    if form is None:
        raise DamagedRowError("owner", owner)
    if not isinstance(seen, float | int):
        raise DamagedRowError("seen", seen)
    if form["host"] == socket.gethostname() and not _is_alive(int(form["process"])):
        return True
    return now - seen > LEASE


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 would be Ctrl+C there; the lease decides
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
