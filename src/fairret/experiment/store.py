"""Results in one SQLite file that survives a killed run and takes several runners."""

from __future__ import annotations

import json
import math
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fairret.errors import FairretError
from fairret.experiment.grid import Run

LEASE = 120.0  # seconds without a sign of life after which a claim is void
WAIT = 60.0  # seconds to wait for another process that writes

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    key TEXT PRIMARY KEY,
    run TEXT NOT NULL,          -- the configuration, as JSON
    status TEXT NOT NULL,       -- claimed, done or failed
    owner TEXT,                 -- who claimed it: host, process, start
    seen REAL,                  -- the owner's last sign of life
    seconds REAL,               -- of training
    result TEXT,                -- numbers by name, as JSON
    reason TEXT                 -- why it failed
) STRICT
"""
COLUMNS = {"key", "run", "status", "owner", "seen", "seconds", "result", "reason"}


class StoreError(FairretError, RuntimeError):
    """The file of results cannot be used."""


class Finished(NamedTuple):
    """A run that was done, or failed."""

    run: dict[str, Any]
    status: str
    seconds: float | None
    result: dict[str, float | None]  # None where it was not a finite number
    reason: str | None


class Store:
    """The results of runs by their key.

    Args:
        path: The file; it is made if it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"
        with self._transaction("DEFERRED") as db:  # a store may be only for reading
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
        """Open, write and close: nothing is held while a run is trained."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
            try:
                db.execute("PRAGMA synchronous = FULL")
                db.execute(f"BEGIN {mode}")
                yield db
                db.execute("COMMIT")
            finally:
                db.close()  # without COMMIT, that is a rollback
        except (sqlite3.Error, OSError) as error:
            if type(error) is sqlite3.DatabaseError:  # not one of its subclasses
                raise StoreError(
                    f"`store` must be a SQLite file; {self.path} is not, or is damaged "
                    f"({error}). Pass another file, or move this one away."
                ) from error
            raise StoreError(
                f"`store` must be a SQLite file that can be written; {self.path} "
                f"cannot ({error}). What was stored is intact: free some space or "
                "check the file, and start again."
            ) from error

    def claim(self, run: Run) -> bool:
        """Take a run, unless it is done, has failed, or somebody is at it."""
        now = time.time()
        with self._transaction() as db:
            row = db.execute(
                "SELECT status, owner, seen FROM runs WHERE key = ?", (run.key,)
            ).fetchone()
            if row is not None and not _void(row[0], row[1], row[2], now):
                return False
            db.execute(
                "INSERT OR REPLACE INTO runs (key, run, status, owner, seen) "
                "VALUES (?, ?, 'claimed', ?, ?)",
                (run.key, json.dumps(asdict(run)), self.owner, now),
            )
        return True

    def finish(self, run: Run, seconds: float, result: Mapping[str, float]) -> None:
        """Keep the result of a run."""
        plain = {k: v if math.isfinite(v) else None for k, v in result.items()}
        self._close(run, "done", seconds, json.dumps(plain), None)

    def fail(self, run: Run, reason: str) -> None:
        """Keep the reason why a run failed."""
        self._close(run, "failed", None, None, reason)

    def _close(
        self,
        run: Run,
        status: str,
        seconds: float | None,
        result: str | None,
        reason: str | None,
    ) -> None:
        with self._transaction() as db:
            if status == "failed" and _is_done(db, run):
                return  # by somebody who took over: a result is worth more
            db.execute(
                "INSERT OR REPLACE INTO runs "
                "(key, run, status, seconds, result, reason) VALUES (?, ?, ?, ?, ?, ?)",
                (run.key, json.dumps(asdict(run)), status, seconds, result, reason),
            )

    def restore(self, rows: Iterable[tuple[str, Finished]]) -> int:
        """Take finished runs from elsewhere, but those that are here; say how many."""
        with self._transaction() as db:
            before = db.total_changes
            db.executemany(
                "INSERT OR IGNORE INTO runs "
                "(key, run, status, seconds, result, reason) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        key,
                        json.dumps(one.run),
                        one.status,
                        one.seconds,
                        json.dumps(one.result),
                        one.reason,
                    )
                    for key, one in rows
                ],
            )
            return db.total_changes - before

    def sign_of_life(self) -> None:
        """Tell others that this runner's claims hold."""
        with self._transaction() as db:
            db.execute(
                "UPDATE runs SET seen = ? WHERE status = 'claimed' AND owner = ?",
                (time.time(), self.owner),
            )

    def give_back(self) -> None:
        """Drop the claims of this runner."""
        with self._transaction() as db:
            db.execute(
                "DELETE FROM runs WHERE status = 'claimed' AND owner = ?", (self.owner,)
            )

    def forget_failures(self, runs: Iterable[Run]) -> int:
        """Drop those that failed, so that they are tried again; say how many."""
        keys = [(run.key,) for run in runs]
        with self._transaction() as db:
            return db.executemany(
                "DELETE FROM runs WHERE status = 'failed' AND key = ?", keys
            ).rowcount

    def status(self) -> dict[str, str]:
        """The status of every run by its key."""
        with self._transaction("DEFERRED") as db:
            return dict(db.execute("SELECT key, status FROM runs").fetchall())

    def finished(self) -> list[tuple[str, Finished]]:
        """All runs that were done or have failed, with their keys."""
        with self._transaction("DEFERRED") as db:
            rows = db.execute(
                "SELECT key, run, status, seconds, result, reason FROM runs "
                "WHERE status != 'claimed' ORDER BY rowid"
            ).fetchall()
        return [
            (key, Finished(json.loads(run), status, s, json.loads(result or "{}"), why))
            for key, run, status, s, result, why in rows
        ]


def _is_done(db: sqlite3.Connection, run: Run) -> bool:
    found = db.execute(
        "SELECT 1 FROM runs WHERE key = ? AND status = 'done'", (run.key,)
    )
    return found.fetchone() is not None


def _void(status: str, owner: str, seen: float, now: float) -> bool:
    """Tell whether a claim holds no more: its owner is gone."""
    if status != "claimed":
        return False
    host, process, _ = owner.rsplit(":", 2)
    if host == socket.gethostname() and not _alive(int(process)):
        return True
    return now - seen > LEASE


def _alive(process: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 would be Ctrl+C there; the lease tells
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
