"""Runs that take no time, for processes of their own to import."""

import os
import time
from pathlib import Path

from fairret.errors import DataFileError
from fairret.lab.experiment import Run
from fairret.lab.experiment.work import Outcome
from fairret.training import TrainingSettings

LOG = "TOY_LOG"  # a file that gets a line for each run that begins


def toy_run(seed=0, **changes):
    usual = {
        "dataset": "synthetic",
        "method": "Norm",
        "strength": 0.5,
        "statistic": "pr",
        "traits": "all",
        "seed": seed,
        "options": (("sharpness", 1.0),),
        "training": TrainingSettings(epochs=3, warm_up=1, batch=500, hidden=(6,)),
    }
    return Run(**{**usual, **changes})


def toy_runs(count):
    return [toy_run(seed) for seed in range(count)]


def instant(run):
    return Outcome(run, 0.25, {"number": run.seed / 7}, None)


def logged(run):
    """Tell that it begins, and take a while."""
    with Path(os.environ[LOG]).open("a") as file:
        file.write(f"{run.seed}\n")  # one short write: lines do not mix
    time.sleep(0.1)
    return instant(run)


def never_ends(run):
    """Tell again and again that it is there; five minutes are ever."""
    for _ in range(3000):
        with Path(os.environ[LOG]).open("a") as file:
            file.write(f"{run.seed}\n")
        time.sleep(0.1)
    return instant(run)


def every_third_fails(run):
    return Outcome(run, 0.0, {}, "no luck") if run.seed % 3 == 1 else instant(run)


def third_takes_its_process_down(run):
    if run.seed == 2:
        time.sleep(0.3)
        os._exit(9)
    return instant(run)


def third_lacks_its_data(run):
    if run.seed == 2:
        raise DataFileError("`data` must be there; the disk was taken out. Put it in.")
    return instant(run)


def begun(log):
    """The seeds of the runs that have begun, in this order."""
    return list(map(int, Path(log).read_text().split())) if Path(log).exists() else []
