"""Runs what is missing, on the cores of this machine or on a Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

from fairret.errors import ArgumentError, MissingExtraError
from fairret.experiment.grid import Run
from fairret.experiment.store import LEASE, Store
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
        jobs: How many to train at a time.
        backend: "local" for processes of this machine, "dask" for a cluster.
        scheduler: Address of the cluster.
        on_progress: Is called after every run.
        work: Does a run.

    Returns:
        How many were done and how many failed.
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
    outcomes = _outcomes(backend, scheduler, jobs, work, claimed)
    with _signs_of_life(store), outcomes as each:
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
            store.sign_of_life()

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        store.give_back()


@contextmanager
def _outcomes(
    backend: Backend,
    scheduler: str | None,
    jobs: int,
    work: Callable[[Run], Outcome],
    runs: Iterator[Run],
) -> Iterator[Iterator[Outcome]]:
    """Map over the runs, in whatever order they end."""
    if jobs == 1 and backend == "local":
        yield map(work, runs)
        return
    try:
        from joblib import Parallel, delayed, parallel_config
    except ImportError:
        raise MissingExtraError(
            "`jobs` above 1 needs joblib, which is not installed. Run `pip install "
            "'fairret[experiment]'`."
        ) from None
    tasks = (delayed(work)(run) for run in runs)
    options: dict[str, Any] = {"n_jobs": jobs, "return_as": "generator_unordered"}
    if backend == "local":
        with parallel_config(backend="loky", inner_max_num_threads=1):
            yield Parallel(pre_dispatch="n_jobs", **options)(tasks)
        return
    dask = parallel_config(backend="dask", wait_for_workers_timeout=60)
    with _client(scheduler), dask:
        yield Parallel(pre_dispatch="2 * n_jobs", **options)(tasks)


def _client(scheduler: str | None) -> Any:
    if scheduler is None:
        raise ArgumentError(
            "`scheduler` is required by the backend 'dask'; got none. Pass its "
            "address, as in `--scheduler tcp://host:8786`."
        )
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError(
            "`backend` 'dask' needs distributed, which is not installed. Run `pip "
            "install 'fairret[dask]'`."
        ) from None
    try:
        return Client(scheduler, timeout="20s")  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ArgumentError(
            f"`scheduler` must be the address of a Dask scheduler that answers; "
            f"{scheduler} does not ({error}). Start one, or check the address."
        ) from error
