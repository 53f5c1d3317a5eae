"""One run: load, split, train, measure. It runs in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import torch

from fairret.dataset import Dataset
from fairret.errors import FairretError
from fairret.experiment.describe import describe
from fairret.experiment.grid import Run
from fairret.experiment.methods import METHODS, Task
from fairret.experiment.peers import Fitted
from fairret.experiment.plugins import Plugin, import_plugins, plugin_files
from fairret.experiment.readiness import NOT_READY, load_dataset
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
ONE_AT_A_TIME = threading.Lock()  # torch's seed is the process's; Dask has threads
MEASURED = ("pr", "tpr", "ppv", "fn_fp")  # those of the paper, for every run


class Outcome(NamedTuple):
    """What became of a run."""

    run: Run
    seconds: float
    result: dict[str, float]
    reason: str | None  # why it failed


@lru_cache(maxsize=2)
def _load(name: str) -> Dataset:
    return load_dataset(name)


@lru_cache(maxsize=1)
def _split(name: str, seed: int, settings: TrainingSettings) -> Split:
    data = _load(name)
    return split_rows(
        data.feat, data.sens, data.label, seed=seed, validation=settings.validation
    )


def _seen(name: str, traits: str) -> tuple[int, ...]:
    """Which columns of `sens` a run may see."""
    data = _load(name)
    if traits == "single":
        return data.traits[data.single]
    return tuple(range(data.sens.shape[1]))


@lru_cache(maxsize=2)
def _rows(name: str, seed: int, settings: TrainingSettings, traits: str) -> Split:
    seen = list(_seen(name, traits))
    own = [
        None if part is None else part._replace(sens=part.sens[:, seen])
        for part in _split(name, seed, settings)
    ]
    return Split(*own)  # type: ignore[arg-type]  # only validation is None


@lru_cache(maxsize=2)
def _warm_up(name: str, seed: int, settings: TrainingSettings, traits: str) -> WarmUp:
    """Warm up once for all methods: runs come dataset by dataset."""
    return warm_up(_rows(name, seed, settings, traits), settings, seed=seed)


def with_plugins(
    plugins: Sequence[Plugin], function: Callable[..., T], *arguments: object
) -> T:
    """Call a function in a process that may not have the plugins yet."""
    if import_plugins(plugins):  # what was loaded may be from an older one
        for cached in (_load, _split, _rows, _warm_up):
            cached.cache_clear()
    return function(*arguments)


def work(run: Run) -> Outcome:
    """Do a run; whatever goes wrong becomes its reason.

    Raises:
        DataFileError: If its data are not to be had: that is not the run's failure.
        MissingExtraError: If a package is not installed, likewise.
    """
    try:
        with ONE_AT_A_TIME:
            torch.set_num_threads(1)  # others run beside it
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
    traits = {which: _seen(run.dataset, which) for which in ("all", "single")}
    rows = _split(run.dataset, run.seed, run.training)
    result = {"epoch": float(done.epoch), "final_loss": done.loss}
    for part in ("train", "test"):
        people = getattr(rows, part)
        prob = done.scores[part]
        numbers = evaluate(prob, people.sens, people.label, statistics, traits)
        result |= {f"{part}/{name}": value for name, value in numbers.items()}
    return Outcome(run, done.seconds, result, None)


def _fit(run: Run, rows: Split) -> Fitted:
    """Train with a term, or leave it to a method that trains in its own way."""
    method, options = METHODS[run.method], dict(run.options)
    if method.fit is not None:
        settings = run.training
        return method.fit(
            rows, run.statistic, run.strength, settings, seed=run.seed, **options
        )
    term = None
    if method.make is not None:
        torch.manual_seed(run.seed)  # an adversary starts somewhere
        task = Task(run.statistic, rows.train.sens.shape[1], run.training.hidden[-1])
        term = method.make(task, **options)
    # stratified batches depend on the groups; others are the same for all traits
    traits = run.traits if run.training.stratified else "all"
    start = _warm_up(run.dataset, run.seed, run.training, traits)
    done = train(rows, term, run.strength, run.training, seed=run.seed, start=start)
    scores = {
        "train": score(done.network, rows.train.feat),
        "test": score(done.network, rows.test.feat),
    }
    return Fitted(scores, done.seconds, done.epoch, done.losses[-1])
