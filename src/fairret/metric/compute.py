"""From the sums of all notions to their results, for scores and decisions."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch

from fairret.metric.delta_method import NotionMoments
from fairret.metric.evidence import Evidence
from fairret.metric.moments import Moments, select_notion
from fairret.metric.result import Measurement, ParityResult
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name

MANY_GROUPS = 100  # with more, testing the notions one by one needs less memory


class Measured(NamedTuple):
    """One notion in scores and in the decisions made of them (Remark 3)."""

    scores: ParityResult
    decisions: ParityResult | None  # None without a threshold


def compute_results(
    total: Moments,
    notions: Sequence[LinearFractionalStatistic],
    *,
    names: Sequence[str],
    traits: Mapping[str, Sequence[int]],
    confidence: float,
    min_size: float,
) -> dict[str, Measured]:
    """Compute every notion from the sums of scores and, if present, decisions."""
    sizes = [len(notion.parts) for notion in notions]
    starts = list(accumulate(sizes, initial=0))
    every = [select_notion(total, sizes, j) for j in range(len(notions))]
    channels: list[list[ParityResult]] = []
    for channel in range(len(total.first)):
        own = [NotionMoments(*(x[channel] for x in m)) for m in every]
        evidence = None
        if len(names) <= MANY_GROUPS:
            fields = zip(*(m.apart for m in own), strict=True)
            together = NotionMoments(*(torch.cat(x) for x in fields))
            evidence = Evidence(together, confidence, min_size)
        channels.append(
            [
                ParityResult(
                    Measurement(
                        get_name(notion),
                        tuple(get_name(part) for part in notion.parts),
                        tuple(names),
                        {trait: tuple(columns) for trait, columns in traits.items()},
                        total.members,
                        own[j],
                        total.decided[channel],
                        confidence,
                        min_size,
                        notion.stacked,
                    ),
                    evidence,
                    starts[j] if evidence else 0,
                )
                for j, notion in enumerate(notions)
            ]
        )
    return {
        get_name(notion): Measured(both[0], both[1] if len(both) > 1 else None)
        for notion, *both in zip(notions, *channels, strict=True)
    }
