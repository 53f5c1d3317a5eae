"""Runs what is missing, on the cores of this machine or on a Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from fairret.errors import ArgumentError
from fairret.experiment.cluster import on_cluster
from fairret.experiment.cores import on_cores
from fairret.experiment.grid import Run
from fairret.experiment.plugins import Plugin
from fairret.experiment.readiness import check_ready, needs_of
from fairret.experiment.store import LEASE, Store, StoreError
from fairret.experiment.work import Outcome, with_plugins, work

Backend: TypeAlias = Literal["local", "dask"]


class Progress(NamedTuple):
    """How far the runs are."""

    done: int
    failed: int
    total: int  # that are to be run now


def run_missing(
    runs: Sequence[Run],
    store: Store,
    *,
    jobs: int = 1,
    backend: Backend = "local",
    scheduler: str | None = None,
    plugins: Sequence[Plugin] = (),
    on_progress: Callable[[Progress, Outcome | None], object] | None = None,
    work: Callable[[Run], Outcome] = work,
) -> Progress:
    """Train what the store lacks; keep each result as soon as it is there.

    Args:
        runs: What should be in the store in the end.
        store: The results.
        jobs: How many to train at a time; a cluster trains one in each thread.
        backend: "local" for processes of this machine, "dask" for a cluster.
        scheduler: Address of the cluster.
        plugins: Those of the experiment, for the workers to import.
        on_progress: Is called after every run.
        work: Does a run.

    Returns:
        How many were done and how many failed.

    Raises:
        DataFileError: If a dataset is not to be had; nothing is claimed then.
        MissingExtraError: If a method's package is not installed, likewise.
        StoreError: If a result cannot be stored; those stored before are intact.
        WorkerLostError: If a process or the cluster is lost.
    """
    if jobs < 1:
        raise ArgumentError(
            f"`jobs` must be at least 1; got {jobs}. Pass the number of cores, say."
        )
    if scheduler is not None and backend != "dask":
        raise ArgumentError(
            f"`scheduler` must come with the backend 'dask'; got {backend!r}. Pass "
            "`--backend dask`, or leave it out."
        )
    known = store.status()
    missing = [run for run in runs if known.get(run.key) not in ("done", "failed")]
    progress = Progress(0, 0, len(missing))
    tell = (lambda progress, last: None) if on_progress is None else on_progress
    tell(progress, None)
    claimed = (run for run in missing if store.claim(run))
    check = partial(with_plugins, plugins, check_ready, *needs_of(missing))
    do = partial(with_plugins, plugins, work)
    outcomes = _outcomes(backend, scheduler, jobs, check, do, claimed)
    with _signs_of_life(store), closing(outcomes) as each:
        for outcome in each:
            if outcome.reason is None:
                store.finish(outcome.run, outcome.seconds, outcome.result)
                progress = progress._replace(done=progress.done + 1)
            else:
                store.fail(outcome.run, outcome.reason)
                progress = progress._replace(failed=progress.failed + 1)
            tell(progress, outcome)
    return progress


@contextmanager
def _signs_of_life(store: Store) -> Iterator[None]:
    """Renew the claims while runs are trained; give back what was not finished."""
    stop = threading.Event()

    def renew() -> None:
        while not stop.wait(LEASE / 4):
            with suppress(StoreError):  # a full disk may have room again
                store.sign_of_life()

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        with suppress(StoreError):  # the claims end with this process anyway
            store.give_back()


def _outcomes(
    backend: Backend,
    scheduler: str | None,
    jobs: int,
    check: Callable[[], object],
    work: Callable[[Run], Outcome],
    runs: Iterator[Run],
) -> Generator[Outcome]:
    """Map over the runs, in whatever order they end."""
    if backend == "dask":
        yield from on_cluster(scheduler, check, work, runs)
        return
    check()
    if jobs == 1:
        yield from map(work, runs)
    else:
        yield from on_cores(jobs, work, runs)
