"""Trains missing runs, on the cores of this machine or on a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from itertools import islice, takewhile
from typing import Any, Literal, NamedTuple, TypeAlias

from fairret.errors import ArgumentError, FairretError, missing_extra
from fairret.lab.experiment.grid import Run
from fairret.lab.experiment.store import FINISHED, LEASE, Store, StoreError
from fairret.lab.experiment.work import (
    NOT_READY,
    Outcome,
    check_ready,
    with_plugins,
    work,
)
from fairret.lab.plugins import Plugin

Backend: TypeAlias = Literal["local", "dask"]
CONNECT = 20.0  # seconds to wait for the scheduler
WORKERS = 60.0  # seconds to wait for the first worker
POLL = 1.0  # seconds between two checks that the parent process is alive
HANDED_OUT = 0.1  # seconds until a submitted run has a process


class WorkerLostError(FairretError, RuntimeError):
    """A process that trained, or the cluster, was lost."""


class Progress(NamedTuple):
    """How many runs have ended."""

    done: int
    failed: int
    total: int  # to be run now


def run_missing(
    runs: Sequence[Run],
    store: Store,
    *,
    jobs: int = 1,
    backend: Backend = "local",
    scheduler: str | None = None,
    plugins: Sequence[Plugin] = (),
    on_progress: Callable[[Progress, Outcome | None], object] = lambda *_: None,
    work: Callable[[Run], Outcome] = work,
) -> Progress:
    """Train the runs that the store lacks; store each result as soon as it is there.

    Args:
        runs: The runs that the store should have in the end.
        store: The results.
        jobs: Number of processes; a cluster trains one run per thread.
        backend: "local" for processes of this machine, "dask" for a cluster.
        scheduler: Address of the cluster.
        plugins: Those of the experiment, for the workers to import.
        on_progress: Called after every run.
        work: Trains a run.

    Returns:
        How many runs were done and how many failed.

    Raises:
        DataFileError: If a dataset is not available; no run is claimed then.
        MissingExtraError: If a method's package is not installed; likewise.
        StoreError: If a result cannot be stored; earlier ones are intact.
        WorkerLostError: If a process or the cluster is lost.
    """
    if jobs < 1:
        raise ArgumentError(
            f"`jobs` must be at least 1; got {jobs}. Pass the number of cores."
        )
    if scheduler is not None and backend != "dask":
        raise ArgumentError(
            f"`scheduler` requires the backend 'dask'; got {backend!r}. Pass "
            "`--backend dask`, or leave it out."
        )
    known = store.status()
    missing = [run for run in runs if known.get(run.key) not in FINISHED]
    progress = Progress(0, 0, len(missing))
    on_progress(progress, None)
    needs = ({run.dataset: 0 for run in missing}, {run.method: 0 for run in missing})
    check = partial(with_plugins, plugins, check_ready, *map(tuple, needs))
    do = partial(with_plugins, plugins, work)
    claimed = (run for run in missing if store.claim(run))
    if backend == "dask":
        outcomes = on_cluster(scheduler, check, do, claimed)
    else:
        outcomes = on_cores(jobs, check, do, claimed)
    with _claims_renewed(store), closing(outcomes) as each:
        for outcome in each:
            if outcome.reason is None:
                store.finish(outcome.run, outcome.seconds, outcome.result)
                progress = progress._replace(done=progress.done + 1)
            else:
                store.fail(outcome.run, outcome.reason)
                progress = progress._replace(failed=progress.failed + 1)
            on_progress(progress, outcome)
    return progress


@contextmanager
def _claims_renewed(store: Store) -> Iterator[None]:
    """Renew the claims while runs are trained; drop those that were not finished."""
    stop = threading.Event()

    def renew() -> None:
        while not stop.wait(LEASE / 4):
            with suppress(StoreError):  # a full disk may have space again later
                store.renew_claims()

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        with suppress(StoreError):  # the claims end with this process anyway
            store.drop_claims()


def on_cores(
    jobs: int,
    check: Callable[[], object],
    work: Callable[[Run], Outcome],
    runs: Iterator[Run],
) -> Generator[Outcome]:
    """Map over the runs in processes of this machine, in the order of their end.

    Args:
        jobs: Number of processes; 1 is this one.
        check: Called before any run is requested.
        work: Trains a run.
        runs: Requested as processes become free.
    """
    check()
    if jobs == 1:
        yield from map(work, runs)
        return
    try:
        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky.process_executor import BrokenProcessPool
    except ImportError:
        raise missing_extra("`jobs` above 1 needs", "joblib", "experiment") from None
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(
            n_jobs=jobs,
            pre_dispatch="n_jobs",
            batch_size=1,  # else a short run waits for others before it is stored
            return_as="generator_unordered",
        )
    parent = os.getpid()
    stop = threading.Event()
    wanted = takewhile(lambda run: not stop.is_set(), runs)
    tasks = parallel(delayed(_work)(parent, work, run) for run in wanted)
    try:
        for outcome in tasks:  # noqa: UP028, which would close it before `finally`
            yield outcome
    except BrokenProcessPool as error:
        raise WorkerLostError(
            "`jobs` must leave every process enough memory; one of "
            f"{jobs} was lost (killed, perhaps out of memory). Finished runs are "
            "stored: start again, with fewer jobs."
        ) from error
    finally:
        stop.set()
        time.sleep(HANDED_OUT)  # joblib's thread fails on tasks that still wait for it
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of joblib: the rest is not trained
            tasks.close()


def _work(parent: int, work: Callable[[Run], Outcome], run: Run) -> Outcome:
    _end_with(parent)
    return work(run)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent, which may be killed at any time."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        os._exit(1)

    if os.getppid() == parent:  # else another process has started this one
        threading.Thread(target=watch, daemon=True).start()


def on_cluster(
    scheduler: str | None,
    check: Callable[[], object],
    work: Callable[[Run], Outcome],
    runs: Iterator[Run],
) -> Generator[Outcome]:
    """Map over the runs on a Dask cluster; a lost run becomes a failure.

    Args:
        scheduler: Address of the cluster.
        check: Called on a worker before any run is requested, because the data must
            be there.
        work: Trains a run.
        runs: Requested as workers become free.
    """
    with _client(scheduler) as client:
        from distributed import TimeoutError as DaskTimeoutError
        from distributed import as_completed

        try:
            client.wait_for_workers(1, timeout=WORKERS)
        except DaskTimeoutError as error:
            raise WorkerLostError(
                f"`scheduler` must have workers; {scheduler} had none for "
                f"{WORKERS:g} seconds. Start one with `dask worker {scheduler}`."
            ) from error
        _check_on_worker(client, check)
        queued = 2 * sum(client.ncores().values())  # so that no worker waits for us
        pending: dict[Any, Run] = {}
        ended: Any = as_completed()  # type: ignore[no-untyped-call]  # untyped there

        def submit(count: int) -> None:
            for run in islice(runs, count):
                future = client.submit(work, run, pure=False)
                pending[future] = run
                ended.add(future)

        submit(queued)
        for future in ended:
            yield _outcome(future, pending.pop(future))
            submit(1)


def _client(scheduler: str | None) -> Any:
    if scheduler is None:
        raise ArgumentError(
            "`scheduler` is required by the backend 'dask'; got none. Pass its "
            "address, as in `--scheduler tcp://host:8786`."
        )
    try:
        from distributed import Client
    except ImportError:
        raise missing_extra("`backend` 'dask' needs", "distributed", "dask") from None
    try:
        return Client(scheduler, timeout=CONNECT)  # type: ignore[no-untyped-call]  # untyped
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"`scheduler` must be the address of a Dask scheduler that answers; "
            f"{scheduler} does not ({error}). Start one, or check the address."
        ) from error


def _check_on_worker(client: Any, check: Callable[[], object]) -> None:
    try:
        client.submit(check, pure=False).result()
    except FairretError:
        raise
    except Exception as error:
        raise WorkerLostError(
            "`scheduler` must have workers that can load the data; the first one "
            f"was lost ({type(error).__name__}: {error}). See its log."
        ) from error


def _outcome(future: Any, run: Run) -> Outcome:
    if future.status == "finished":
        outcome: Outcome = future.result()
        return outcome
    if future.status == "error":  # `work` catches most: else the worker was lost
        error = future.exception()
        if isinstance(error, NOT_READY):
            raise error
        return Outcome(run, 0.0, {}, f"{type(error).__name__}: {error}")
    raise WorkerLostError(
        f"`scheduler` must be there until the runs end; {run} was {future.status}. "
        "Finished runs are stored: restart the cluster, then this command."
    )
