"""Experiments: a file that says what to compare, and a store of the results."""

from fairret.lab.baseline.peers import Fitted
from fairret.lab.experiment.config import Experiment, read_experiment
from fairret.lab.experiment.grid import Run, list_runs
from fairret.lab.experiment.methods import Method, Option, Task, register_method
from fairret.lab.experiment.runner import Progress, WorkerLostError, run_missing
from fairret.lab.experiment.store import Store, StoreError
from fairret.lab.experiment.toml import ConfigError
from fairret.lab.plugins import Plugin, PluginError

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
    "list_runs",
    "read_experiment",
    "register_method",
    "run_missing",
]
