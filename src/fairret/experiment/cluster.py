"""Runs on a Dask cluster.

Not by way of joblib: its Dask backend waits for ever for a task whose worker was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import Any

from fairret.errors import ArgumentError, FairretError, MissingExtraError
from fairret.experiment.grid import Run
from fairret.experiment.readiness import NOT_READY
from fairret.experiment.work import Outcome

CONNECT = 20.0  # seconds for the scheduler to answer
WORKERS = 60.0  # seconds for a first worker to come


class WorkerLostError(FairretError, RuntimeError):
    """What was training is gone: a process, or the cluster."""


def on_cluster(
    scheduler: str | None,
    check: Callable[[], object],
    work: Callable[[Run], Outcome],
    runs: Iterator[Run],
) -> Generator[Outcome]:
    """Map over the runs, in whatever order they end; a lost one becomes a failure.

    Args:
        scheduler: Address of the cluster.
        check: Is called on a worker before any run is asked for: the data must be
            there, not here.
        work: Does a run.
        runs: Are asked for when there is room for them.
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
        _call(client, check)
        room = 2 * sum(client.ncores().values())  # so that no worker waits for us
        going: dict[Any, Run] = {}
        ended: Any = as_completed()  # type: ignore[no-untyped-call]  # untyped there

        def submit(run: Run) -> None:
            future = client.submit(work, run, pure=False)
            going[future] = run
            ended.add(future)

        for run in islice(runs, room):
            submit(run)
        for future in ended:
            yield _outcome(future, going.pop(future))
            for run in islice(runs, 1):
                submit(run)


def _call(client: Any, check: Callable[[], object]) -> None:
    try:
        client.submit(check, pure=False).result()
    except FairretError:
        raise
    except Exception as error:
        raise WorkerLostError(
            "`scheduler` must have workers that can load the data; the first that was "
            f"asked was lost ({type(error).__name__}: {error}). Look at its log."
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
        "What was finished is stored: start the cluster and then this once more."
    )


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
        return Client(scheduler, timeout=CONNECT)  # type: ignore[no-untyped-call]  # untyped
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"`scheduler` must be the address of a Dask scheduler that answers; "
            f"{scheduler} does not ({error}). Start one, or check the address."
        ) from error
