"""Row 1: the projection losses against those of the released package."""

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from itertools import cycle, product
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from measure import Block, Ratio, block_of, interleave, median, ratio
from peer import Peer
from report import Row, duration, verdict
from residual import residual
from samples import Batches, make, save
from torch.utils._python_dispatch import TorchDispatchMode

import fairret.loss
import fairret.statistic

N, BATCHES = 4096, 8
RESIDUAL = 1e-6  # targets, as are those of the speed
SPEED = {"KL": 85.0, "JS": 100.0, "SED": 200.0}
KERNELS, READS = 250, 1  # of a KL call where a host read is not free
LOSSES = {
    "KL": "KLProjectionLoss",
    "JS": "JensenShannonProjectionLoss",
    "SED": "SquaredEuclideanProjectionLoss",
}
ROUNDS = {"PositiveRate": 16, "TruePositiveRate": 6, "PositivePredictiveValue": 6}


class Case:
    """One of our losses with one statistic, with the batches in turn."""

    def __init__(self, loss: str, statistic: str, data: Batches) -> None:
        self.name, self.data = statistic, data
        self.loss = getattr(fairret.loss, loss)(getattr(fairret.statistic, statistic)())
        self.in_turn = cycle([self._call(i) for i in range(len(data.logit))])

    def _batch(self, index: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        logit, sens, label = map(torch.from_numpy, self.data.seen(index))
        return logit, sens, label

    def _call(self, index: int) -> Callable[[], object]:
        logit, sens, label = self._batch(index)
        logit.requires_grad_()
        inputs = () if self.name == "PositiveRate" else (label,)

        def forward_and_backward() -> None:
            logit.grad = None
            self.loss(logit, sens, *inputs).backward()

        return forward_and_backward

    def block(self) -> Block:
        """Give the block that times the loss."""
        return block_of(lambda: next(self.in_turn)())

    def residuals(self) -> list[float]:
        """Measure the projections that the loss uses, which are in float64."""
        found = []
        for index in range(len(self.data.logit)):
            logit, sens, label = self._batch(index)
            inputs = () if self.name == "PositiveRate" else (label,)
            f_star = self.loss.project(logit.double(), sens, *inputs).f_star
            seen = self.data.seen(index)
            found.append(residual(self.name, *seen, f_star.numpy()))
        return found


def run(quick: bool) -> list[Row]:
    """Measure every divergence with every statistic."""
    rounds = {"PositiveRate": 4} if quick else ROUNDS
    data = make(BATCHES, N)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batches.npz"
        save(data, path)
        with Peer(path) as peer:
            rows = [
                _compare(peer, short, statistic, data, rounds[statistic])
                for statistic, short in product(rounds, LOSSES)
            ]
            rows += [_compare_qdldl(peer, short, data, 4) for short in LOSSES]
    return [*rows, _count(data)]


class Count(TorchDispatchMode):
    """Count kernels, and how often the host reads a number."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # untyped
        self.kernels = self.reads = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call what was called."""
        self.reads += func.__name__.startswith("_local_scalar_dense")
        self.kernels += not func.is_view
        return func(*args, **(kwargs or {}))


def _count(data: Batches) -> Row:
    """Count the kernels of a KL call, as if reading a number made a device wait."""
    case = Case(LOSSES["KL"], "PositiveRate", data)

    def costly(_: torch.Tensor) -> bool:
        return False

    with (
        mock.patch("fairret.device.reads_are_free", costly),
        mock.patch("fairret.batch.reads_are_free", costly),
        mock.patch("torch.inference_mode", nullcontext),  # which hides reads
        Count() as count,
    ):
        next(case.in_turn)()
    missed = []
    if count.kernels > KERNELS:
        missed.append(f"by {count.kernels - KERNELS} kernels")
    if count.reads > READS:
        missed.append(f"by {count.reads - READS} reads")
    return Row(
        "1 KL projection, kernels where a host read is not free",
        f"{count.kernels} kernels, {count.reads} read",
        "–",
        "–",
        f"≤ {KERNELS}, {READS} read",
        verdict(missed),
    )


def _interleave(case: Case, theirs: Block, rounds: int) -> dict[str, list[list[float]]]:
    return interleave(
        {"ours": case.block(), "theirs": theirs},
        {"ours": 3 * BATCHES, "theirs": 2},
        rounds=rounds,
        warm_up=4,
    )


def _compare_qdldl(peer: Peer, short: str, data: Batches, rounds: int) -> Row:
    statistic = "PositiveRate"
    theirs = peer.block(LOSSES[short], statistic, qdldl=True)
    times = _interleave(Case(LOSSES[short], statistic, data), theirs, rounds)
    return Row(
        f"1 {short} projection, {statistic}, 0.1.3 with QDLDL",
        duration(median(times["ours"])),
        duration(median(times["theirs"])),
        _times(ratio(times["theirs"], times["ours"])),
        "–",
        "–",
    )


def _times(faster: Ratio) -> str:
    return f"{faster.value:.0f} × ({faster.low:.0f} to {faster.high:.0f})"


def _compare(peer: Peer, short: str, statistic: str, data: Batches, rounds: int) -> Row:
    case = Case(LOSSES[short], statistic, data)
    times = _interleave(case, peer.block(LOSSES[short], statistic), rounds)
    faster = ratio(times["theirs"], times["ours"])
    ours = max(case.residuals())
    theirs = {k: max(v) for k, v in peer.residuals(LOSSES[short], statistic).items()}
    missed = []
    if faster.value < SPEED[short]:
        missed.append(f"{faster.value / SPEED[short]:.2f} of the speed")
    if not ours <= RESIDUAL:
        missed.append(f"residual {ours:.0e}")
    return Row(
        f"1 {short} projection, {statistic}",
        f"{duration(median(times['ours']))}, residual {ours:.0e}",
        f"{duration(median(times['theirs']))}, residual {theirs['solver']:.0e} "
        f"({theirs['loss']:.0e} as used)",
        _times(faster),
        f"≥ {SPEED[short]:.0f} ×, ≤ {RESIDUAL:.0e}",
        verdict(missed),
    )
