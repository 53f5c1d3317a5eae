"""What the demonstration measures on the test set."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torchmetrics.functional.classification import binary_auroc

from fairret.loss import FairnessLoss
from fairret.metric import LinearFractionalParity
from fairret.statistic import LinearFractionalStatistic

SHUFFLES = 200


@dataclass(frozen=True)
class Notion:
    """A notion of fairness, and the loss term that asks for it."""

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
    """What an audit needs to know of the people that training did not see."""

    sens: Tensor  # (n, d_s)
    groups: tuple[str, ...]  # names of the d_s columns
    label: Tensor  # (n,)

    @property
    def sizes(self) -> list[int | None]:
        """Number of people in every group; None for an amount, which has no members."""
        return [
            int(s.sum()) if ((s == 0) | (s == 1)).all() else None for s in self.sens.T
        ]


class Quality(NamedTuple):
    """How well scores predict, whoever is scored."""

    auroc: float
    log_loss: float
    accuracy: float
    mean_score: float


class Chance(NamedTuple):
    """The violations that a fair model stays below on 95 of 100 such test sets."""

    groups: list[float]  # of each group
    largest: float  # of the farthest group


class Measured(NamedTuple):
    """A statistic of scores or decisions, and how far it is from parity."""

    groups: list[float]
    overall: float
    violation: float  # of the farthest group, max_k v_k of Eq. 9
    chance: Chance

    def beyond_chance(self, k: int) -> bool:
        """Tell whether a group is farther off than its size explains."""
        gap = abs(self.groups[k] - self.overall)
        return gap > self.chance.groups[k] * abs(self.overall)


class Pair(NamedTuple):
    """One measurement without and with the loss term."""

    before: Measured
    after: Measured


@dataclass(frozen=True)
class Effect:
    """What one loss term changed."""

    notion: Notion
    quality: Quality
    scores: Pair
    decisions: Pair


def compare(notion: Notion, plain: Tensor, fair: Tensor, test: HeldOut) -> Effect:
    """Set the scores of two networks side by side, and the decisions at 1/2."""
    statistic = notion.statistic
    before, after = decide(plain), decide(fair)
    return Effect(
        notion,
        quality(fair, test.label),
        Pair(measure(statistic, plain, test), measure(statistic, fair, test)),
        Pair(measure(statistic, before, test), measure(statistic, after, test)),
    )


def decide(prob: Tensor) -> Tensor:
    """Accept whoever is more likely than not to do well."""
    return (prob > 0.5).to(prob)


def quality(prob: Tensor, label: Tensor) -> Quality:
    """Measure scores against labels."""
    return Quality(
        auroc=float(binary_auroc(prob, label.long())),
        log_loss=float(F.binary_cross_entropy(prob, label)),
        accuracy=float((decide(prob) == label).float().mean()),
        mean_score=float(prob.mean()),
    )


def measure(
    statistic: LinearFractionalStatistic, pred: Tensor, test: HeldOut
) -> Measured:
    """Compute the statistic of every group, and its largest violation."""
    metric = LinearFractionalParity(statistic, test.sens.shape[1])
    metric.update(pred, test.sens, test.label)
    return Measured(
        groups=statistic(pred, test.sens, test.label).tolist(),
        overall=float(statistic.overall(pred, test.label)),
        violation=float(metric.compute()),
        chance=chance(statistic, pred, test),
    )


def chance(statistic: LinearFractionalStatistic, pred: Tensor, test: HeldOut) -> Chance:
    """Tell which violations come from the size of the groups alone.

    Traits that are dealt out anew have nothing to do with the decisions.
    """
    deal = torch.Generator().manual_seed(0)
    overall = statistic.overall(pred, test.label)
    draws = []
    for _ in range(SHUFFLES):
        sens = test.sens[torch.randperm(len(pred), generator=deal)]
        draws.append((statistic(pred, sens, test.label) / overall - 1).abs())
    v = torch.stack(draws).nan_to_num()  # a group without anybody to count
    return Chance(v.quantile(0.95, 0).tolist(), float(v.amax(1).quantile(0.95)))
