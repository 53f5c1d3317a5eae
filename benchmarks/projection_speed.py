"""Row 1: the projection losses against those of the released package."""

import tempfile
from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path

import torch
from measure import Block, block_of, interleave, median, ratio
from peer import Peer
from report import Row, duration, verdict
from residual import residual
from samples import Batches, make, save

import fairret.loss
import fairret.statistic

N, BATCHES = 4096, 8
SPEED, RESIDUAL = 100.0, 1e-6  # targets
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
    return rows


def _compare(peer: Peer, short: str, statistic: str, data: Batches, rounds: int) -> Row:
    case = Case(LOSSES[short], statistic, data)
    times = interleave(
        {"ours": case.block(), "theirs": peer.block(LOSSES[short], statistic)},
        {"ours": 3 * BATCHES, "theirs": 2},
        rounds=rounds,
        warm_up=4,
    )
    faster = ratio(times["theirs"], times["ours"])
    ours = max(case.residuals())
    theirs = {k: max(v) for k, v in peer.residuals(LOSSES[short], statistic).items()}
    missed = []
    if faster.value < SPEED:
        missed.append(f"{faster.value / SPEED:.2f} of the speed")
    if not ours <= RESIDUAL:
        missed.append(f"residual {ours:.0e}")
    return Row(
        f"1 {short} projection, {statistic}",
        f"{duration(median(times['ours']))}, residual {ours:.0e}",
        f"{duration(median(times['theirs']))}, residual {theirs['solver']:.0e} "
        f"({theirs['loss']:.0e} as used)",
        f"{faster.value:.0f} × ({faster.low:.0f} to {faster.high:.0f})",
        f"≥ {SPEED:.0f} ×, ≤ {RESIDUAL:.0e}",
        verdict(missed),
    )
