"""Row 6: many groups, compiled and mixed-precision steps, two processes."""

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from measure import Block, block_of, interleave, median, ratio
from report import Row, duration, verdict
from samples import Batches, make
from torch.nn.parallel import DistributedDataParallel
from training_step import BATCH, BATCHES, COLUMNS, Trainer

from fairret.loss import FairnessLoss, KLProjectionLoss, SmoothMaxLoss

GROUPS = (400, 350, 250)  # of three traits
MANY = 2.5  # target
PROCESSES = 0.95  # target: of the gain without a term
STEPS = 8  # that processes take between two looks at the clock
MESSAGE, NUMBERS = "message", 44  # the gap and half of the Hessian for d_s = 8
TERMS: Mapping[str, Callable[[], FairnessLoss | None]] = {
    "no term": lambda: None,
    "SmoothMaxLoss": lambda: SmoothMaxLoss("pr"),
    "KL projection": lambda: KLProjectionLoss("pr"),
}


def run(quick: bool) -> list[Row]:
    """Measure all of it."""
    rounds = 15 if quick else 60
    return [
        *_many_groups(rounds),
        *_other_ways(rounds),
        *_two_processes(8 if quick else 30),
    ]


def _compare(
    what: str, steps: Mapping[str, Callable[[], object]], rounds: int, target: float = 0
) -> Row:
    """Take a step of each in turn; the first is the baseline."""
    base, ours = steps
    times = interleave(
        {which: block_of(step) for which, step in steps.items()},
        dict.fromkeys(steps, 1),
        rounds=rounds,
        warm_up=2 * BATCHES,
    )
    cost = ratio(times[ours], times[base])
    row = Row(
        f"6 {what}",
        duration(median(times[ours])),
        duration(median(times[base])),
        f"{cost.value:.3f} ({cost.low:.3f} to {cost.high:.3f})",
    )
    if not target:
        return row
    missed = [f"by {cost.value - target:.2f}"] if cost.value > target else []
    return row._replace(target=f"≤ {target:g}", verdict=verdict(missed))


def _many_groups(rounds: int) -> list[Row]:
    data = make(BATCHES, BATCH, d_x=COLUMNS)
    rng = np.random.default_rng(0)
    sens = np.zeros((BATCHES, BATCH, sum(GROUPS)), np.float32)
    first = 0
    for size in GROUPS:
        own = first + rng.integers(size, size=(BATCHES, BATCH, 1))
        np.put_along_axis(sens, own, 1.0, axis=2)
        first += size
    data = data._replace(sens=sens)
    what = f"step with {sum(GROUPS)} groups of 3 traits, {{}}, over no term"
    return [
        _compare(
            what.format(name),
            {"plain": Trainer(None, data), "fair": Trainer(fairret, data)},
            rounds,
            target,
        )
        for name, fairret, target in (
            ("SmoothMaxLoss", SmoothMaxLoss("pr"), 0),
            ("KL projection", KLProjectionLoss("pr"), MANY),
        )
    ]


class Autocast:
    """A trainer whose network computes in bfloat16 where torch deems that safe."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    def __call__(self) -> object:
        """Take a step."""
        with torch.autocast("cpu", torch.bfloat16):
            return self._trainer()


def _other_ways(rounds: int) -> list[Row]:
    """Compiled steps against eager ones, and autocast against float32."""
    data = make(BATCHES, BATCH, d_x=COLUMNS)
    rows = []
    for name, fairret in (
        ("no term", None),
        ("SmoothMaxLoss", SmoothMaxLoss("pr")),
        ("KL projection", KLProjectionLoss("pr")),
    ):
        plain, compiled = Trainer(fairret, data), Trainer(fairret, data)
        compiled.loss = torch.compile(  # type: ignore[method-assign]
            compiled.loss, fullgraph=True
        )
        mixed = Autocast(Trainer(fairret, data))
        for way, other in (("compiled", compiled), ("autocast", mixed)):
            steps = {"plain": plain, way: other}
            against = "eager" if way == "compiled" else "float32"
            rows.append(_compare(f"{way} step, {name}, over {against}", steps, rounds))
    return rows


def _two_processes(rounds: int) -> list[Row]:
    """The same global batch in one process and in two, by the clock on the wall."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        gangs = [_start(context, size, Path(folder) / str(size)) for size in (1, 2)]
        gains: list[float] = []
        rows = [_speed_up(name, gangs, rounds, gains) for name in TERMS]
        message = [_take(gangs[1], MESSAGE) for _ in range(rounds)]
        for gang in gangs:
            for pipe in gang:
                pipe.send(None)
    seconds = duration(statistics.median(message) / STEPS)
    what = f"6 one message of {NUMBERS} numbers between two processes"
    return [*rows, Row(what, seconds, "–", "–")]


def _speed_up(
    name: str, gangs: list[list[Connection]], rounds: int, gains: list[float]
) -> Row:
    """Compare with the first of the gains, which is that without a term."""

    def block_of_steps(gang: list[Connection]) -> Block:
        return lambda repeats: [_take(gang, name) for _ in range(repeats)]

    one, two = gangs
    times = interleave(
        {"one": block_of_steps(one), "two": block_of_steps(two)},
        {"one": 1, "two": 1},
        rounds=rounds,
        warm_up=2,
    )
    gain = ratio(times["one"], times["two"])
    gains.append(gain.value)
    target = PROCESSES * gains[0]
    missed = [f"{gain.value / target:.2f} of it"] if gain.value < target else []
    return Row(
        f"6 step on two processes, {name}, against one with the whole batch",
        duration(median(times["two"]) / STEPS),
        duration(median(times["one"]) / STEPS),
        f"{gain.value:.2f} × ({gain.low:.2f} to {gain.high:.2f})",
        f"≥ {target:.2f} ×",
        verdict(missed),
    )


def _start(
    context: multiprocessing.context.SpawnContext, size: int, meet: Path
) -> list[Connection]:
    pipes = []
    for rank in range(size):
        here, there = context.Pipe()
        arguments = (rank, size, str(meet), there)
        context.Process(target=_serve, args=arguments, daemon=True).start()
        pipes.append(here)
    for pipe in pipes:
        pipe.recv()  # it is ready
    return pipes


def _take(gang: list[Connection], what: str) -> float:
    """Let all processes take some steps, and look at the clock."""
    start = time.perf_counter()
    for pipe in gang:
        pipe.send(what)
    for pipe in gang:
        pipe.recv()
    return time.perf_counter() - start


def _serve(rank: int, size: int, meet: str, pipe: Connection) -> None:
    torch.set_num_threads(1)
    if sys.platform == "linux":  # a core of its own, and fewer switches between threads
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    data = make(BATCHES, BATCH, d_x=COLUMNS)
    own = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
    share = Batches(*(column[:, own] for column in data))
    if size > 1:
        dist.init_process_group(
            "gloo", init_method=f"file://{meet}", rank=rank, world_size=size
        )
    numbers = torch.zeros(NUMBERS, dtype=torch.float64)
    ways: dict[str, Callable[[], object]] = {MESSAGE: lambda: dist.all_reduce(numbers)}
    for name, make_term in TERMS.items():
        trainer = Trainer(make_term(), share)
        if size > 1:
            trainer.model = DistributedDataParallel(trainer.model)
        for _ in range(2 * BATCHES):
            trainer()
        ways[name] = trainer
    pipe.send(True)
    while what := pipe.recv():
        for _ in range(STEPS):
            ways[what]()
        pipe.send(True)
    if size > 1:
        dist.destroy_process_group()
