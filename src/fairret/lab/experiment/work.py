"""One run: load, split, train, measure. It runs in a process of its own."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from fairret import __version__
from fairret.errors import DataFileError, FairretError, MissingExtraError
from fairret.lab.baseline.peers import Fitted
from fairret.lab.dataset import Dataset, load
from fairret.lab.experiment.grid import Run
from fairret.lab.experiment.methods import METHODS, Task
from fairret.lab.plugins import (
    Plugin,
    PluginError,
    describe,
    import_plugins,
    plugin_files,
)
from fairret.statistic import get_statistic
from fairret.training import (
    Split,
    TrainingSettings,
    WarmUp,
    evaluate,
    score,
    split_rows,
    train,
    warm_up,
)

T = TypeVar("T")
NOT_READY = (DataFileError, MissingExtraError, PluginError)
ONE_AT_A_TIME = threading.Lock()  # torch has one seed per process; Dask has threads
MEASURED = ("pr", "tpr", "ppv", "fn_fp")  # those of the paper, for every run


class Outcome(NamedTuple):
    """The result of a run, or the reason why it failed."""

    run: Run
    seconds: float
    result: dict[str, float | str]
    reason: str | None  # why it failed


def check_ready(datasets: Iterable[str], methods: Iterable[str]) -> None:
    """Load each dataset once, and check for the packages of each method.

    Raises:
        DataFileError: If a dataset is not available.
        MissingExtraError: If a package is not installed.
    """
    for name in datasets:
        _load.__wrapped__(name)  # not cached: this process may train nothing
    for name in methods:
        method = METHODS.get(name)
        if method is not None and method.check is not None:
            method.check()


@lru_cache(maxsize=2)
def _load(name: str) -> Dataset:
    try:
        data = load(name)
    except FairretError:
        raise
    except Exception as error:  # a loader may be a user's own
        raise DataFileError(
            f"`datasets` must load; the loader of {name!r} ended with "
            f"{describe(error)}. Correct it, or leave the dataset out."
        ) from error
    if not isinstance(data, Dataset):
        raise DataFileError(
            f"`datasets` must load as a `fairret.lab.dataset.Dataset`; the loader of "
            f"{name!r} returned {type(data).__name__}. `make_dataset` makes one."
        )
    return data


@lru_cache(maxsize=1)
def _split(name: str, seed: int, settings: TrainingSettings) -> Split:
    data = _load(name)
    return split_rows(
        data.feat, data.sens, data.label, seed=seed, validation=settings.validation
    )


def _columns(name: str, traits: str) -> tuple[int, ...]:
    """Columns of `sens` that a run uses."""
    data = _load(name)
    if traits == "single":
        return data.traits[data.single]
    return tuple(range(data.sens.shape[1]))


@lru_cache(maxsize=2)
def _rows(name: str, seed: int, settings: TrainingSettings, traits: str) -> Split:
    columns = list(_columns(name, traits))
    own = [
        None if part is None else part._replace(sens=part.sens[:, columns])
        for part in _split(name, seed, settings)
    ]
    return Split(*own)  # type: ignore[arg-type]  # only validation is None


@lru_cache(maxsize=2)
def _warm_up(name: str, seed: int, settings: TrainingSettings, traits: str) -> WarmUp:
    """Warm up once for all methods: runs are ordered by dataset."""
    return warm_up(_rows(name, seed, settings, traits), settings, seed=seed)


def with_plugins(
    plugins: Sequence[Plugin], function: Callable[..., T], *arguments: object
) -> T:
    """Call a function in a process that may not have the plugins yet."""
    if import_plugins(plugins):  # the caches may hold data of an older one
        for cached in (_load, _split, _rows, _warm_up):
            cached.cache_clear()
    return function(*arguments)


def work(run: Run) -> Outcome:
    """Train and measure one run; an error becomes its reason.

    Missing data or packages do not count as a failed run.

    Raises:
        DataFileError: If its data are not available.
        MissingExtraError: If a package is not installed.
    """
    try:
        with ONE_AT_A_TIME:
            torch.set_num_threads(1)  # other runs use the other cores
            return _work(run)
    except NOT_READY:
        raise
    except FairretError as error:
        return Outcome(run, 0.0, {}, str(error))
    except Exception as error:  # the other runs go on
        return Outcome(run, 0.0, {}, describe(error, plugin_files()))


def _work(run: Run) -> Outcome:
    done = _fit(run, _rows(run.dataset, run.seed, run.training, run.traits))
    wanted = dict.fromkeys((*MEASURED, run.statistic or MEASURED[0]))
    statistics = [get_statistic(name) for name in wanted]
    data = _load(run.dataset)
    traits = {"all": data.traits, "single": {data.single: data.traits[data.single]}}
    rows = _split(run.dataset, run.seed, run.training)
    result: dict[str, float | str] = {**provenance()}
    versions = METHODS[run.method].packages()
    if versions:
        result["packages"] = ", ".join(f"{k} {v}" for k, v in versions.items())
    result |= {"epoch": float(done.epoch), "final_loss": done.loss}
    for part, prob in done.scores.items():
        people = getattr(rows, part)
        numbers = evaluate(prob, people.sens, people.label, statistics, traits)
        result |= {f"{part}/{name}": value for name, value in numbers.items()}
    return Outcome(run, done.seconds, result, None)


@cache
def provenance() -> dict[str, str]:
    """Git commit of this package, if it is in a repository, and library versions."""
    tracked = _git("ls-files", "__init__.py")  # not if it is installed
    commit = tracked and _git("describe", "--always", "--dirty", "--abbrev=40")
    found = {
        "commit": commit,
        "fairret": __version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
    }
    return {name: version for name, version in found.items() if version}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parents[2]), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:  # git is not installed
        return ""


def _fit(run: Run, rows: Split) -> Fitted:
    """Train with a fairness term, or with the method's own loop."""
    method, options = METHODS[run.method], dict(run.options)
    settings, seed = run.training, run.seed
    if method.fit is not None:
        return method.fit(
            rows, run.statistic, run.strength, settings, seed=seed, **options
        )
    term = None
    if method.make is not None:
        torch.manual_seed(seed)  # for the weights of an adversary
        widths = (rows.train.feat.shape[1], *settings.hidden)
        task = Task(run.statistic, rows.train.sens.shape[1], widths[-1])
        term = method.make(task, **options)
    # stratified batches depend on the groups; others are the same for all traits
    traits = run.traits if settings.stratified else "all"
    start = _warm_up(run.dataset, seed, settings, traits)
    done = train(rows, term, run.strength, settings, seed=seed, start=start)
    parts = {"train": rows.train, "validation": rows.validation, "test": rows.test}
    scores = {
        part: score(done.network, people.feat)
        for part, people in parts.items()
        if people is not None
    }
    return Fitted(scores, done.seconds, done.epoch, done.losses[-1])
