"""Batches that the tests share: asymmetric, with sizes that differ pairwise."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from fairret.loss import (
    ChiSquaredProjectionLoss,
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    NormLoss,
    SmoothMaxLoss,
    SquaredEuclideanProjectionLoss,
    TotalVariationProjectionLoss,
)

VIOLATIONS = (NormLoss, SmoothMaxLoss)
SMOOTH_PROJECTIONS = (
    KLProjectionLoss,
    JensenShannonProjectionLoss,
    SquaredEuclideanProjectionLoss,
    ChiSquaredProjectionLoss,
)
PROJECTIONS = (*SMOOTH_PROJECTIONS, TotalVariationProjectionLoss)
LOSSES = (*VIOLATIONS, *PROJECTIONS)
STATISTICS = (
    "pr",
    "tpr",
    "fpr",
    "ppv",
    "for",
    "accuracy",
    "fn_fp",
    "fnr",
    "tnr",
    "npv",
    "fdr",
    "f_score",
)
KINDS = ("one", "three", "continuous")  # of groups, see below
STACKS = ("tpr+fpr", "tpr+ppv", "pr+tpr+fpr+ppv+accuracy")


def paired(losses, statistics=STATISTICS):
    """Pair every loss with a third of the statistics, and every statistic with some."""
    return [
        (loss, name)
        for i, loss in enumerate(losses)
        for j, name in enumerate(statistics)
        if (i + j) % 3 == 0
    ]


class Sample(NamedTuple):
    """A batch in float64."""

    logit: Tensor
    sens: Tensor
    label: Tensor

    def to(self, dtype: torch.dtype) -> "Sample":
        return Sample(*(x.to(dtype) for x in self))

    def numpy(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores h, memberships and labels."""
        return self.logit.sigmoid().numpy(), self.sens.numpy(), self.label.numpy()


def groups(kind: str, n: int, rng: torch.Generator) -> Tensor:
    """Memberships: one trait, three traits, or two with a continuous one."""

    def trait(d: int) -> Tensor:
        codes = torch.cat((torch.arange(d), torch.randint(d, (n,), generator=rng)))
        return one_hot(codes[:n], d).double()

    if kind == "one":
        return trait(3)
    if kind == "three":
        return torch.cat((trait(2), trait(4), trait(3)), 1)
    age = torch.rand(n, 1, generator=rng, dtype=torch.float64)
    return torch.cat((trait(2), trait(4), age), 1)


def sample(
    n: int, kind: str = "one", seed: int = 0, scale: float = 1.5, positive: float = 0.4
) -> Sample:
    """A batch whose scores depend on the first group, and whose labels on both."""
    rng = torch.Generator().manual_seed(seed)
    sens = groups(kind, n, rng)
    logit = scale * torch.randn(n, generator=rng, dtype=torch.float64)
    logit = logit + 0.7 * scale * sens[:, 0] - 0.3 * scale
    noise = torch.rand(n, generator=rng, dtype=torch.float64)
    label = (noise < positive + 0.1 * sens[:, -1]).double()
    label[0], label[1] = 1.0, 0.0
    return Sample(logit, sens, label)


def same_block_per_group(seed: int = 0, d_s: int = 3, block: int = 5) -> Sample:
    """Equal rows in each group: fair for every statistic."""
    rng = torch.Generator().manual_seed(seed)
    logit = torch.randn(block, generator=rng, dtype=torch.float64)
    label = torch.tensor([1.0, 0, 0, 1, 0], dtype=torch.float64)[:block]
    sens = torch.eye(d_s, dtype=torch.float64).repeat_interleave(block, 0)
    return Sample(logit.repeat(d_s), sens, label.repeat(d_s))


def balanced(
    seed: int = 0, d_s: int = 3, block: int = 17, positives: int = 7
) -> Sample:
    """Equal base rates in all groups: only so can five notions hold at once."""
    rng = torch.Generator().manual_seed(seed)
    sens = torch.eye(d_s, dtype=torch.float64).repeat_interleave(block, 0)
    label = (torch.arange(block) < positives).double().repeat(d_s)
    logit = 1.2 * torch.randn(len(label), generator=rng, dtype=torch.float64)
    return Sample(logit + sens[:, 0] + 0.8 * label, sens, label)
