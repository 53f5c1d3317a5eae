"""Experiments: a file that says what to compare, and a store of what came out."""

from fairret.experiment.config import ConfigError, Experiment, read_experiment
from fairret.experiment.grid import Run, runs_of
from fairret.experiment.runner import Progress, run_missing
from fairret.experiment.store import Store, StoreError

__all__ = [
    "ConfigError",
    "Experiment",
    "Progress",
    "Run",
    "Store",
    "StoreError",
    "read_experiment",
    "run_missing",
    "runs_of",
]
