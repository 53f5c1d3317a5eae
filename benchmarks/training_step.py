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
HIDDEN = (256, 128, 32)
LEARNING_RATE = 1e-3
PLAIN = "plain step"
VIOLATION, PROJECTION = 1.03, 1.10  # targets

Variants = dict[str, tuple[FairnessLoss | None, float | None]]


def variants() -> Variants:
    """Each loss and the target of its ratio; a second plain step shows the noise."""
    return {
        PLAIN: (None, None),
        "a second plain step": (None, None),
        "NormLoss, PositiveRate": (NormLoss(PositiveRate()), VIOLATION),
        "NormLoss, TruePositiveRate": (NormLoss(TruePositiveRate()), VIOLATION),
        "SmoothMaxLoss, PositiveRate": (SmoothMaxLoss(PositiveRate()), VIOLATION),
        "KL projection, PositiveRate": (KLProjectionLoss(PositiveRate()), PROJECTION),
        "KL projection, TruePositiveRate": (
            KLProjectionLoss(TruePositiveRate()),
            PROJECTION,
        ),
    }


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
        self.model = network()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)
        columns = [torch.from_numpy(x) for x in (data.feat, data.sens, data.label)]
        self.batches = cycle(zip(*columns, strict=True))

    def __call__(self) -> Tensor:
        """Take a step at strength 1."""
        feat, sens, label = next(self.batches)
        self.optimizer.zero_grad()
        logit = self.model(feat)
        loss = F.binary_cross_entropy_with_logits(logit, label)
        if self.fairret is not None:
            loss = loss + self.fairret(logit, sens, label)
        torch.autograd.backward(loss)
        self.optimizer.step()
        return loss


def run(quick: bool) -> list[Row]:
    """Train all variants side by side."""
    data = make(BATCHES, BATCH, d_x=COLUMNS)
    chosen = variants()
    blocks = {k: block_of(Trainer(loss, data)) for k, (loss, _) in chosen.items()}
    times = interleave(
        blocks,
        dict.fromkeys(blocks, BATCHES // 2),
        rounds=8 if quick else 60,
        warm_up=3 * BATCHES,  # past the first steps, whose scores are all ½
    )
    rows = []
    for name, (_, target) in chosen.items():
        if name == PLAIN:
            continue
        cost = ratio(times[name], times[PLAIN])
        row = Row(
            f"2 training step, {name}",
            duration(median(times[name])),
            duration(median(times[PLAIN])),
            f"{cost.value:.3f} ({cost.low:.3f} to {cost.high:.3f})",
        )
        if target is not None:
            over = 100 * (cost.value - target)
            missed = [f"by {over:.1f} points"] if over > 0 else []
            row = row._replace(target=f"≤ {target:.2f}", verdict=verdict(missed))
        rows.append(row)
    return rows
