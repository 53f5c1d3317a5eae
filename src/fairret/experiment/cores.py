"""Runs on the cores of this machine, each in a process that ends with its parent."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from functools import cache

from fairret.errors import MissingExtraError
from fairret.experiment.cluster import WorkerLostError
from fairret.experiment.grid import Run
from fairret.experiment.work import Outcome

LOOK = 1.0  # seconds between two looks at whether the parent is there


def on_cores(
    jobs: int, work: Callable[[Run], Outcome], runs: Iterator[Run]
) -> Generator[Outcome]:
    """Map over the runs, in whatever order they end.

    Args:
        jobs: How many processes.
        work: Does a run.
        runs: Are asked for when there is room for them.
    """
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
    parent = os.getpid()
    tasks = parallel(delayed(_work)(parent, work, run) for run in runs)
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


def _work(parent: int, work: Callable[[Run], Outcome], run: Run) -> Outcome:
    _end_with(parent)
    return work(run)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent, which may be killed at any moment."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    if os.getppid() == parent:  # else somebody else has started this process
        threading.Thread(target=watch, daemon=True).start()
