"""The released fairret 0.1.3 as a method: in a folder and a process of its own.

Its import name is ours, so that the two cannot be in one process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairret.errors import FairretError, MissingExtraError
from fairret.training import Split, TrainingSettings

VERSION = "0.1.3"
WORKER = Path(__file__).with_name("worker.py")
HOME = "FAIRRET_PEERS"  # where such packages are installed


class ReleasedError(FairretError, RuntimeError):
    """The released package does not train."""


def folder() -> Path:
    """Where the released package is, or will be."""
    home = os.environ.get(HOME)
    base = Path(home) if home else Path.home() / ".cache" / "fairret"
    return base / f"fairret-{VERSION}"


def install() -> None:
    """Install the released package and cvxpy, but not torch, unless they are there.

    Raises:
        MissingExtraError: If they are not to be had.
    """
    target = folder()
    stamp = target / ".installed"
    if stamp.exists():
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade"]
    pip += ["--disable-pip-version-check", "--target", str(target)]
    for what in (
        ["--no-deps", f"fairret=={VERSION}"],  # its torch is that of this environment
        ["cvxpy>=1.5"],
    ):
        done = subprocess.run([*pip, *what], capture_output=True, text=True)
        if done.returncode:
            said = [x for x in done.stderr.splitlines() if x.startswith("ERROR")]
            raise MissingExtraError(
                f"`pip install {what[-1]}` must work to compare with fairret "
                f"{VERSION}; it failed ({said[-1] if said else 'no message'}). Check "
                "the connection to the package index and start again."
            )
    if (target / "torch").exists():
        raise MissingExtraError(
            f"The folder of fairret {VERSION} must not hold a torch of its own; "
            f"{target} does. Delete it, and start again."
        )
    stamp.touch()


def train_released(
    split: Split,
    loss: str,
    statistic: str,
    strength: float,
    settings: TrainingSettings,
    *,
    seed: int,
) -> tuple[dict[str, Tensor], float, float]:
    """Train with a loss of the released package.

    Returns:
        Scores of the training and the test rows, seconds, and the last epoch's loss.

    Raises:
        ReleasedError: If its process ends with an error.
    """
    install()
    with tempfile.TemporaryDirectory() as here:
        job, answer = Path(here) / "job.npz", Path(here) / "answer.npz"
        np.savez(
            job,
            feat=split.train.feat.numpy(),
            sens=split.train.sens.numpy(),
            label=split.train.label.numpy(),
            test=split.test.feat.numpy(),
        )
        order = {
            "loss": loss,
            "statistic": statistic,
            "strength": strength,
            "seed": seed,
            **asdict(settings),
        }
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            [sys.executable, str(WORKER), str(folder()), str(job), str(answer)],
            input=json.dumps(order),
            env=env | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ReleasedError(
                f"fairret {VERSION} must train with {loss} and {statistic}; it ended "
                f"with an error ({last}). This is its own; leave the run out."
            )
        with np.load(answer) as found:
            scores = {part: torch.from_numpy(found[part]) for part in ("train", "test")}
            return scores, float(found["seconds"]), float(found["loss"])
