"""What runs need beside their configuration: data, and packages of others.

Its want is not the failure of a run: nothing is stored, and the command ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairret.dataset import Dataset, load
from fairret.errors import DataFileError, FairretError, MissingExtraError
from fairret.experiment.describe import describe
from fairret.experiment.grid import Run
from fairret.experiment.methods import METHODS
from fairret.experiment.plugins import PluginError

NOT_READY = (DataFileError, MissingExtraError, PluginError)


def load_dataset(name: str) -> Dataset:
    """Load a dataset by its name.

    Raises:
        DataFileError: If its file is not to be had, or its loader breaks.
        MissingExtraError: If a package is not installed.
    """
    try:
        data = load(name)
    except FairretError:
        raise
    except Exception as error:  # a loader may be anybody's
        raise DataFileError(
            f"`datasets` must load; the loader of {name!r} ended with "
            f"{describe(error)}. Correct it, or leave the dataset out."
        ) from error
    if not isinstance(data, Dataset):
        raise DataFileError(
            f"`datasets` must load as a `fairret.dataset.Dataset`; the loader of "
            f"{name!r} gave {type(data).__name__}. `make_dataset` makes one."
        )
    return data


def check_ready(datasets: Iterable[str], methods: Iterable[str]) -> None:
    """Load each dataset once, and look for the packages of each method.

    Raises:
        DataFileError: If a dataset is not to be had.
        MissingExtraError: If a package is not installed.
    """
    for name in datasets:
        load_dataset(name)
    for name in methods:
        method = METHODS.get(name)
        if method is not None and method.check is not None:
            method.check()


def needs_of(runs: Iterable[Run]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the datasets and the methods of runs, each once."""
    both = [(run.dataset, run.method) for run in runs]
    return tuple(dict.fromkeys(x for x, _ in both)), tuple(
        dict.fromkeys(x for _, x in both)
    )
