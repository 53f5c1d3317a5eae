"""Runs what is missing, on the cores of this machine or on a Dask cluster."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from fairret.errors import ArgumentError, MissingExtraError
from fairret.experiment.cluster import WorkerLostError, on_cluster
from fairret.experiment.grid import Run
from fairret.experiment.readiness import check_ready, needs_of
from fairret.experiment.store import LEASE, Store, StoreError
from fairret.experiment.work import Outcome, work

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
    known = store.status()
    missing = [run for run in runs if known.get(run.key) not in ("done", "failed")]
    progress = Progress(0, 0, len(missing))
    tell = (lambda progress, last: None) if on_progress is None else on_progress
    tell(progress, None)
    claimed = (run for run in missing if store.claim(run))
    check = partial(check_ready, *needs_of(missing))
    outcomes = _outcomes(backend, scheduler, jobs, check, work, claimed)
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
        yield from _on_cores(jobs, work, runs)


def _on_cores(
    jobs: int, work: Callable[[Run], Outcome], runs: Iterator[Run]
) -> Generator[Outcome]:
    try:
        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky.process_executor import BrokenProcessPool
    except ImportError:
        raise MissingExtraError(
            "`jobs` above 1 needs joblib, which is not installed. Run `pip install "
            "'fairret[experiment]'`."
        ) from None
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(
            n_jobs=jobs,
            pre_dispatch="n_jobs",
            batch_size=1,  # else a quick run waits for others before it is kept
            return_as="generator_unordered",
        )
    tasks = parallel(delayed(work)(run) for run in runs)
    try:
        for outcome in tasks:  # noqa: UP028, which would close it before `finally`
            yield outcome
    except BrokenProcessPool as error:
        raise WorkerLostError(
            "`jobs` must leave every process enough memory; one of "
            f"{jobs} was lost (killed, perhaps for want of memory). What was finished "
            "is stored: start again, with fewer jobs."
        ) from error
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib says that the rest is not trained
            tasks.close()
