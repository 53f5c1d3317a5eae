"""Row 2: a training step of the paper's network with and without a fairret."""

from itertools import cycle, pairwise

import torch
from measure import block_of, interleave, median, ratio
from report import Row, duration, verdict
from samples import Batches, make
from torch import Tensor, nn
from torch.nn import functional as F

from fairret.loss import (
    FairnessLoss,
    KLProjectionLoss,
    NormLoss,
    SmoothMaxLoss,
)
from fairret.statistic import PositiveRate, TruePositiveRate

BATCH, COLUMNS, BATCHES = 4096, 64, 8
SMALL = 512  # rows of the paper's larger batches
HIDDEN = (256, 128, 32)
LEARNING_RATE = 1e-3
TARGETS = {SMALL: (1.20, 1.40), BATCH: (1.04, 1.10)}  # of violations, of projections


def variants(n: int) -> list[tuple[str, FairnessLoss | None, float | None]]:
    """Each loss and the target of its ratio; a second plain step shows the noise."""
    pr, tpr = PositiveRate(), TruePositiveRate()
    violation, projection = TARGETS[n]
    return [
        ("a second plain step", None, None),
        ("NormLoss, PositiveRate", NormLoss(pr), violation),
        ("NormLoss, TruePositiveRate", NormLoss(tpr), violation),
        ("SmoothMaxLoss, PositiveRate", SmoothMaxLoss(pr), violation),
        ("KL projection, PositiveRate", KLProjectionLoss(pr), projection),
        ("KL projection, TruePositiveRate", KLProjectionLoss(tpr), projection),
    ]


def network() -> nn.Sequential:
    """Build the network of the paper's experiments, always with the same weights."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise((COLUMNS, *HIDDEN)):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(HIDDEN[-1], 1))


class Trainer:
    """A network in training; each call is one step."""

    def __init__(self, fairret: FairnessLoss | None, data: Batches) -> None:
        self.fairret = fairret
        self.model: nn.Module = network()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)
        columns = [torch.from_numpy(x) for x in (data.feat, data.sens, data.label)]
        self.batches = cycle(zip(*columns, strict=True))

    def __call__(self) -> Tensor:
        """Take a step at strength 1."""
        batch = next(self.batches)
        self.optimizer.zero_grad()
        loss = self.loss(*batch)
        torch.autograd.backward(loss)
        self.optimizer.step()
        return loss

    def loss(self, feat: Tensor, sens: Tensor, label: Tensor) -> Tensor:
        """Compute the loss of a batch."""
        logit: Tensor = self.model(feat)
        loss = F.binary_cross_entropy_with_logits(logit, label)
        if self.fairret is not None:
            loss = loss + self.fairret(logit, sens, label)
        return loss


def run(quick: bool) -> list[Row]:
    """Pair each variant with the plain step, one step of each in turn."""
    rounds = 30 if quick else 150
    return [
        _compare(f"batch {n}, {name}", fairret, target, data, rounds)
        for n in TARGETS
        for data in [make(BATCHES, n, d_x=COLUMNS)]
        for name, fairret, target in variants(n)
    ]


def _compare(
    name: str,
    fairret: FairnessLoss | None,
    target: float | None,
    data: Batches,
    rounds: int,
) -> Row:
    steps = {"plain": Trainer(None, data), "fair": Trainer(fairret, data)}
    times = interleave(
        {which: block_of(step) for which, step in steps.items()},
        dict.fromkeys(steps, 1),
        rounds=rounds,
        warm_up=2 * BATCHES,  # past the first steps, whose scores are all ½
    )
    cost = ratio(times["fair"], times["plain"])
    row = Row(
        f"2 training step, {name}",
        duration(median(times["fair"])),
        duration(median(times["plain"])),
        f"{cost.value:.3f} ({cost.low:.3f} to {cost.high:.3f})",
    )
    if target is None:
        return row
    over = 100 * (cost.value - target)
    missed = [f"by {over:.1f} points"] if over > 0 else []
    return row._replace(target=f"≤ {target:.2f}", verdict=verdict(missed))
