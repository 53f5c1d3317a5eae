"""Experiments: a file that says what to compare, and a store of what came out."""

from fairret.experiment.cluster import WorkerLostError
from fairret.experiment.config import Experiment, read_experiment
from fairret.experiment.grid import Run, runs_of
from fairret.experiment.methods import Method, Option, Task, register_method
from fairret.experiment.peers import Fitted
from fairret.experiment.plugins import Plugin, PluginError
from fairret.experiment.runner import Progress, run_missing
from fairret.experiment.store import Store, StoreError
from fairret.experiment.toml import ConfigError

__all__ = [
    "ConfigError",
    "Experiment",
    "Fitted",
    "Method",
    "Option",
    "Plugin",
    "PluginError",
    "Progress",
    "Run",
    "Store",
    "StoreError",
    "Task",
    "WorkerLostError",
    "read_experiment",
    "register_method",
    "run_missing",
    "runs_of",
]
