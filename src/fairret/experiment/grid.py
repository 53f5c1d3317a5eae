"""From an experiment to its runs, each with a key of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product

from fairret import __version__
from fairret.experiment.config import Experiment, MethodGrid
from fairret.experiment.methods import Method
from fairret.training import TrainingSettings

REVISION = 1  # raise it when the same configuration would give other numbers
LATER = {"stratified": False}  # settings that older runs have no word of in their key


@dataclass(frozen=True)
class Run:
    """All that decides the outcome of one training."""

    dataset: str
    method: str
    strength: float
    statistic: str  # "" where the method does not depend on one
    traits: str  # "all", or "single" for the paper's one trait
    seed: int
    options: tuple[tuple[str, object], ...]
    training: TrainingSettings

    @property
    def key(self) -> str:
        """Content of the configuration and version of the code, hashed."""
        own = asdict(self)
        for name, usual in LATER.items():
            if own["training"][name] == usual:
                del own["training"][name]
        content = json.dumps([own, __version__, REVISION], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def __str__(self) -> str:
        parts = [self.dataset, self.method, self.statistic, f"{self.strength:g}"]
        parts += [f"{k}={v}" for k, v in self.options]
        return " ".join([*filter(None, parts), f"seed {self.seed}"])


def runs_of(experiment: Experiment) -> list[Run]:
    """List the runs, seed by seed, so that a stopped experiment is even."""
    found = [
        run
        for seed in experiment.seeds
        for dataset in experiment.datasets
        for grid in experiment.methods
        for run in _runs(experiment, grid, dataset, seed)
    ]
    return list(dict.fromkeys(found))


def _runs(
    experiment: Experiment, grid: MethodGrid, dataset: str, seed: int
) -> Iterator[Run]:
    method = grid.method
    statistics = experiment.statistics if method.for_statistic else ("",)
    if method.statistics is not None:
        statistics = tuple(x for x in statistics if x in method.statistics)
    traits = experiment.traits
    if method.plain:
        traits = ("all",)  # it does not look at any
    elif method.single:
        traits = ("single",)
    axes = product(experiment.trainings, statistics, traits, grid.strengths)
    for training, statistic, which, strength in axes:
        for values in product(*grid.options.values()):
            options = tuple(
                (name, value)
                for name, value in zip(grid.options, values, strict=True)
                if not _is_usual(method, name, value)
            )
            yield Run(
                dataset,
                method.name,
                strength,
                statistic,
                which,
                seed,
                options,
                training,
            )


def _is_usual(method: Method, name: str, value: object) -> bool:
    """Whether an option is as it was before there was one."""
    option = method.options[name]
    return option.later and value == option.default
