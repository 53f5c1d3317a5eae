"""Row 5: whole trainings with a projection, and what the runner adds to them."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from report import Row, duration, verdict

from fairret.lab.baseline.released import train_released
from fairret.lab.dataset import load
from fairret.lab.experiment import Run, Store, run_missing
from fairret.lab.experiment.work import work
from fairret.loss import KLProjectionLoss
from fairret.training import TrainingSettings, split_rows, train

STEP, FASTER, OVERHEAD, SPEED_UP = 1.15, 5.0, 1.05, 1.6
DATASET = "acsincome" if "FAIRRET_DATA_HOME" in os.environ else "synthetic"


def run(quick: bool) -> list[Row]:
    """Train a few epochs of each in turn."""
    epochs = 2 if quick else 6
    return [*trainings(epochs), *runner(epochs, 2 if quick else 3)]


def trainings(epochs: int) -> list[Row]:
    """Compare KL with nothing, and with the released package."""
    data = load(DATASET)
    rows = split_rows(data.feat, data.sens, data.label, seed=0)
    settings = TrainingSettings(epochs=epochs, warm_up=0)
    term = KLProjectionLoss("pr")
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(3):
        times["plain"].append(train(rows, None, 0.0, settings, seed=0).seconds)
        times["ours"].append(train(rows, term, 1.0, settings, seed=0).seconds)
    theirs = train_released("KLProjectionLoss", rows, "pr", 1.0, settings, seed=0)[1]
    plain, ours = (statistics.median(times[name]) for name in ("plain", "ours"))
    name = f"{data.card.title}, {epochs} epochs"
    step, faster = ours / plain, theirs / ours
    slow = [] if faster >= FASTER else [f"{faster / FASTER:.2f} of the speed"]
    return [
        Row(
            f"5 KL on {name}, over no term",
            duration(ours),
            duration(plain),
            f"{step:.3f}",
            f"≤ {STEP}",
            verdict([] if step <= STEP else [f"by {100 * (step - STEP):.1f} points"]),
        ),
        Row(
            f"5 KL on {name}, against 0.1.3",
            duration(ours),
            duration(theirs),
            f"{faster:.1f} ×",
            f"≥ {FASTER:g} ×",
            verdict(slow),
        ),
    ]


def runner(epochs: int, seeds: int) -> list[Row]:
    """Compare the runner with the bare loop, and two jobs with one."""
    settings = TrainingSettings(epochs=epochs * 4, warm_up=0)
    options = (("sharpness", 1.0), ("gradient", "paper"), ("max_iter", 0))
    runs = [
        Run("synthetic", "KL", 1.0, "pr", "all", seed, options, settings)
        for seed in range(2 * seeds)
    ]
    torch.set_num_threads(1)
    work(runs[0])  # loads the data
    bare = _time(lambda: [work(each) for each in runs])
    with tempfile.TemporaryDirectory() as folder:

        def with_jobs(jobs: int) -> float:
            store = Store(Path(folder) / f"{time.time_ns()}.sqlite")
            return _time(lambda: run_missing(runs, store, jobs=jobs))

        one = with_jobs(1)
        with_jobs(2)  # starts the processes
        two = with_jobs(2)
    over, up = one / bare, one / two
    return [
        Row(
            f"5 runner, {len(runs)} runs, over the bare loop",
            duration(one),
            duration(bare),
            f"{over:.3f}",
            f"≤ {OVERHEAD}",
            verdict([] if over <= OVERHEAD else [f"by {100 * (over - OVERHEAD):.1f}"]),
        ),
        Row(
            "5 runner, two jobs against one",
            duration(two),
            duration(one),
            f"{up:.2f} ×",
            f"≥ {SPEED_UP} ×",
            verdict([] if up >= SPEED_UP else [f"by {SPEED_UP - up:.2f}"]),
        ),
    ]


def _time(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
