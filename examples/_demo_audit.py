"""The measurements of the demonstration, on the test set."""

from dataclasses import dataclass
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor
from torchmetrics.functional.classification import binary_auroc

from fairret.loss import FairnessLoss
from fairret.metric import Parity, ParityResult
from fairret.statistic import LinearFractionalStatistic


@dataclass(frozen=True)
class Notion:
    """A notion of fairness, and the loss term that enforces it."""

    key: str
    name: str
    measure: str  # the statistic, in words
    loss: FairnessLoss
    strength: float

    @property
    def statistic(self) -> LinearFractionalStatistic:
        """The statistic that should be equal in all groups."""
        return self.loss.statistic

    @property
    def term(self) -> str:
        """The loss term in short."""
        return f"{self.strength:g} × {type(self.loss).__name__.removesuffix('Loss')}"


class HeldOut(NamedTuple):
    """The test rows, apart from their features."""

    sens: Tensor  # (n, d_s)
    groups: tuple[str, ...]  # names of the d_s columns
    label: Tensor  # (n,)

    @property
    def sizes(self) -> list[int | None]:
        """Number of people per group; None for a numeric trait."""
        return [
            int(s.sum()) if ((s == 0) | (s == 1)).all() else None for s in self.sens.T
        ]


class Quality(NamedTuple):
    """Predictive quality of the scores over all rows."""

    auroc: float
    log_loss: float
    accuracy: float
    mean_score: float


class Pair(NamedTuple):
    """A measurement without and with the loss term."""

    before: ParityResult
    after: ParityResult


@dataclass(frozen=True)
class Effect:
    """The effect of one loss term."""

    notion: Notion
    quality: Quality
    scores: Pair
    decisions: Pair


def compare(notion: Notion, plain: Tensor, fair: Tensor, test: HeldOut) -> Effect:
    """Compare the scores of two networks, and their decisions at 1/2."""
    before, after = (
        Parity(notion.statistic, names=test.groups, threshold=0.5)(
            prob, test.sens, test.label
        )
        for prob in (plain, fair)
    )
    return Effect(
        notion,
        quality(fair, test.label),
        Pair(before.scores, after.scores),
        Pair(before.decisions, after.decisions),
    )


def quality(prob: Tensor, label: Tensor) -> Quality:
    """Compare scores with labels."""
    return Quality(
        auroc=float(binary_auroc(prob, label.long())),
        log_loss=float(F.binary_cross_entropy(prob, label)),
        accuracy=float(((prob > 0.5) == label).float().mean()),
        mean_score=float(prob.mean()),
    )
