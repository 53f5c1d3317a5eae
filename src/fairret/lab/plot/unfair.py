"""Scores of one unfair model on its test rows, trained once and kept."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairret.lab.dataset import load
from fairret.lab.experiment import ConfigError, Experiment, Run
from fairret.lab.experiment.trade_off import UNFAIR
from fairret.training import score, split_rows, train

KEPT = ("title", "h", "s", "y", "single", "names")


class UnfairScores(NamedTuple):
    """Scores of a model without a fairness term on the test rows."""

    title: str  # of the dataset, and whether it is a sample
    statistic: str
    h: Tensor  # (n,), float64
    s: Tensor  # (n, d_s), float64
    y: Tensor  # (n,), float64
    single: tuple[int, ...]  # columns of the single trait
    names: tuple[str, ...]  # of the columns


def unfair_scores(
    experiment: Experiment,
    folder: Path,
    on_epoch: Callable[[int], object] = lambda epoch: None,
) -> UnfairScores:
    """Train on the first dataset and seed of an experiment, or read kept scores.

    Args:
        experiment: What to train on.
        folder: Where scores are kept, under the key of the run.
        on_epoch: Called after every epoch of a training.
    """
    if len(experiment.datasets) > 1:
        raise ConfigError(
            "`datasets` must be one for this figure; got "
            f"{', '.join(experiment.datasets)}. Keep one of them."
        )
    dataset, seed = experiment.datasets[0], experiment.seeds[0]
    run = Run(dataset, UNFAIR, 0.0, "", "all", seed, (), experiment.training)
    path = folder / f"unfair_{dataset}_{run.key[:12]}.npz"
    try:
        with path.open("rb") as file, np.load(file) as kept:
            arrays = {name: kept[name] for name in KEPT}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        arrays = _train(run, on_epoch)
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # its options
    h, s, y = (torch.from_numpy(arrays[name]).double() for name in "hsy")
    single = tuple(map(int, arrays["single"]))
    names = tuple(map(str, arrays["names"]))
    title, statistic = str(arrays["title"]), experiment.statistics[0]
    return UnfairScores(title, statistic, h, s, y, single, names)


def _train(
    run: Run, on_epoch: Callable[[int], object]
) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    data = load(run.dataset)
    settings = replace(run.training, validation=0.0)
    split = split_rows(data.feat, data.sens, data.label, seed=run.seed)
    done = train(split, None, 0.0, settings, seed=run.seed, on_epoch=on_epoch)
    test = split.test
    return {
        "title": np.array(data.card.title),
        "h": score(done.network, test.feat).numpy(),
        "s": test.sens.numpy(),
        "y": test.label.numpy(),
        "single": np.array(data.traits[data.single]),
        "names": np.array(data.sens_names),
    }
