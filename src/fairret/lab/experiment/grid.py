"""The runs of an experiment. Each has a key: a hash of all that decides its outcome."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from fairret import __version__
from fairret.lab.experiment.config import Experiment, MethodGrid
from fairret.training import TrainingSettings

REVISION = 2  # increase it when the same configuration would give other numbers
LATER = {"stratified": False, "patience": 0}
"""Settings that the keys of older runs do not contain."""


@dataclass(frozen=True)
class Run:
    """All settings that decide the outcome of one training."""

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
        """Hash of the settings and the version of the code."""
        return self.key_for(__version__, REVISION)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings with the types of JSON."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found

    def key_for(self, version: str, revision: int) -> str:
        """Compute the key of this run in another version of the code."""
        own = asdict(self)
        for name, default in LATER.items():
            if own["training"][name] == default:
                del own["training"][name]
        content = json.dumps([own, version, revision], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def __str__(self) -> str:
        parts = [self.dataset, self.method, self.statistic, f"{self.strength:g}"]
        parts += [f"{k}={v}" for k, v in self.options]
        return " ".join([*filter(None, parts), f"seed {self.seed}"])


def list_runs(experiment: Experiment) -> list[Run]:
    """List the runs seed by seed, so that a stopped experiment is balanced."""
    found = [
        Run(dataset, grid.method.name, strength, statistic, traits, seed, options, how)
        for seed in experiment.seeds
        for dataset in experiment.datasets
        for grid in experiment.methods
        if dataset in grid.datasets and seed in grid.seeds
        for how, statistic, traits, strength, options in product(
            experiment.trainings,
            grid.statistics or ("",),
            _traits(experiment, grid),
            grid.strengths,
            _options(grid),
        )
    ]
    return list(dict.fromkeys(found))


def _traits(experiment: Experiment, grid: MethodGrid) -> tuple[str, ...]:
    if grid.method.plain:
        return ("all",)  # it uses none of them
    return ("single",) if grid.method.single else experiment.traits


def _options(grid: MethodGrid) -> list[tuple[tuple[str, object], ...]]:
    """List the combinations; defaults that were added later are not in a key."""
    known = grid.method.options
    return [
        tuple(
            (name, value)
            for name, value in zip(grid.options, values, strict=True)
            if not (known[name].later and value == known[name].default)
        )
        for values in product(*grid.options.values())
    ]
