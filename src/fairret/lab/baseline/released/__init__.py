"""The released fairret 0.1.3 as a method, in its own folder and process.

It has our import name, so one process cannot hold both.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import torch

from fairret.errors import FairretError, MissingExtraError
from fairret.lab.baseline.peers import Fitted
from fairret.training import Split, TrainingSettings

VERSION = "0.1.3"
HERE = Path(__file__).parent
WORKER, REQUIREMENTS, CONSTRAINTS = (
    str(HERE / name) for name in ("worker.py", "requirements.txt", "constraints.txt")
)
HOME = "FAIRRET_PEERS"  # where such packages are installed
SHOWN = ("fairret", "cvxpy", "scs", "scipy")
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
People: TypeAlias = tuple[Array, Array, Mapping[str, Array]]
LOG = logging.getLogger(__name__)  # unless configured, warnings go to standard error


class ReleasedError(FairretError, RuntimeError):
    """The released package failed to train."""


def folder() -> Path:
    """Return where the released package is, or will be, installed."""
    home = os.environ.get(HOME)
    base = Path(home) if home else Path.home() / ".cache" / "fairret"
    return base / f"fairret-{VERSION}"


def install() -> None:
    """Install the released package and cvxpy, but not torch, if they are missing.

    The package must have the hash in `requirements.txt`; cvxpy and its dependencies
    have the versions in `constraints.txt`. Only wheels are installed, so that no code
    of theirs runs.

    Raises:
        MissingExtraError: If pip cannot install them.
    """
    target = folder()
    stamp = target / ".installed"
    if stamp.exists():
        return
    LOG.warning(
        "fairret %s and cvxpy are not installed yet: installing them with pip into %s, "
        "outside of this environment. Set %s to use another folder.",
        *(VERSION, target, HOME),
    )
    options = "--quiet --upgrade --disable-pip-version-check --only-binary :all:"
    pip = [sys.executable, "-m", "pip", "install", *options.split()]
    pip += ["--target", str(target)]
    for name, what in (
        # its torch is that of this environment
        (f"fairret=={VERSION}", ["--no-deps", "--require-hashes", "-r", REQUIREMENTS]),
        ("cvxpy", ["-c", CONSTRAINTS, "cvxpy>=1.5"]),
    ):
        done = subprocess.run([*pip, *what], capture_output=True, text=True)
        if "DO NOT MATCH THE HASHES" in done.stderr:
            raise MissingExtraError(
                f"`pip install {name}` must get the file that was released; the "
                f"package index offers another one (its hash is not in {REQUIREMENTS})."
                " Use an index that mirrors PyPI."
            )
        if done.returncode:
            said = [x for x in done.stderr.splitlines() if x.startswith("ERROR")]
            raise MissingExtraError(
                f"`pip install {name}` must work to compare with fairret {VERSION}; it "
                f"failed ({said[-1] if said else 'no message'}). Check the connection "
                "to the package index and start again."
            )
    if (target / "torch").exists():
        raise MissingExtraError(
            f"The folder of fairret {VERSION} must not hold a torch of its own; "
            f"{target} does. Delete it, and start again."
        )
    stamp.touch()


def packages() -> dict[str, str]:
    """Versions of the released package and of what its projections are solved with."""
    found = metadata.distributions(path=[str(folder())])
    there = {one.name: one.version for one in found}
    return {name: there[name] for name in SHOWN if name in there}


def train_released(
    loss: str,
    rows: Split,
    statistic: str,
    strength: float,
    settings: TrainingSettings,
    *,
    seed: int,
    loss_options: Mapping[str, object] = MappingProxyType({}),
) -> Fitted:
    """Train with a loss of the released package.

    Args:
        loss: The class of the loss.
        rows: The people to train on and to score.
        statistic: A name in `worker.py`.
        strength: The factor of the loss.
        settings: Settings of the training.
        seed: Of the network and the batches.
        loss_options: Keywords of the class of the loss, instead of its defaults.

    Raises:
        ReleasedError: If its process ends with an error.
    """
    arrays = {**rows.train._asdict(), "test": rows.test.feat}
    order = {"loss": loss, "statistic": statistic, "strength": strength}
    order |= {"seed": seed, "loss_options": dict(loss_options), **asdict(settings)}
    found = _call(
        order,
        {name: x.numpy() for name, x in arrays.items()},
        f"{loss} and {statistic}",
    )
    scores = {part: torch.from_numpy(found[part]) for part in ("train", "test")}
    seconds, last_loss = float(found["seconds"]), float(found["loss"])
    return Fitted(scores, seconds, settings.epochs - 1, last_loss)


def run_recipe(
    path: Path, people: Mapping[str, People], goal: Mapping[str, object]
) -> dict[str, Array]:
    """Fit and decide with code for the released package.

    Args:
        path: A file with the functions `fit`, `predict` and `score`.
        people: Features, labels and traits under "fit" and "test".
        goal: Attributes of the last argument of these functions.

    Returns:
        Arrays: `decided` and `score` of the test people, `seconds` of the processor to
        fit and `predict_seconds`.

    Raises:
        ReleasedError: If its process ends with an error.
    """
    arrays: dict[str, Array] = {}
    for part, (feat, label, traits) in people.items():
        arrays |= {f"{part}/feat": feat, f"{part}/label": label}
        arrays |= {f"{part}/traits/{name}": x for name, x in traits.items()}
    order = {"recipe": str(path), "goal": dict(goal)}
    return _call(order, arrays, path.name)


def _call(
    order: Mapping[str, object], arrays: Mapping[str, Array], what: str
) -> dict[str, Array]:
    """Run the worker in a process of its own."""
    install()
    with tempfile.TemporaryDirectory() as here:
        job, answer = Path(here) / "job.npz", Path(here) / "answer.npz"
        np.savez(job, **arrays)  # type: ignore[arg-type]  # no option is named so
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [sys.executable, WORKER, str(folder()), str(job), str(answer)],
            input=json.dumps(order),
            env=env | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ReleasedError(
                f"fairret {VERSION} must train with {what}; it ended with an error "
                f"({last}). The error is in that package; leave the run out."
            )
        with np.load(answer) as found:
            return dict(found)
