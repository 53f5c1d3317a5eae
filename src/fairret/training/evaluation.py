"""All the columns by which a method is judged, side by side.

AUROC against the violation of scores can be gamed: AUROC does not see a monotone change
of the scores, and a relative violation shrinks when all scores are inflated. So the
violation of decisions, the log-loss, the accuracy and the mean score stand beside it.
"""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from fairret.checks import check_batch
from fairret.metric.by_label import moments_by_label
from fairret.metric.result import results_of
from fairret.statistic import LinearFractionalStatistic
from fairret.statistic.registry import name_of

BINS = 15
CHANNELS = ("scores", "decisions", "decisions at the base rate")


def evaluate(
    prob: Tensor,
    sens: Tensor,
    label: Tensor,
    statistics: Sequence[LinearFractionalStatistic],
    traits: Mapping[str, Sequence[int]],
) -> dict[str, float]:
    """Measure scores.

    Args:
        prob: Scores, `(n,)`.
        sens: Memberships, `(n, d_s)`.
        label: Labels 0 and 1, `(n,)`.
        statistics: Whose violation is wanted.
        traits: Sets of columns of `sens` to measure, by name: all of them, say, and
            those of a single trait.

    Returns:
        Numbers by name: `auroc`, `log_loss`, ... and, for every statistic, channel and
        set of columns, `violation/pr/scores/all` and `floor/pr/scores/all`.
    """
    prob, label = prob.double(), label.double()
    half = (prob > 0.5).double()
    kept = at_base_rate(prob, label)
    numbers = {
        "auroc": auroc(prob, label),
        "log_loss": float(F.binary_cross_entropy(prob, label)),
        "accuracy": float((half == label).double().mean()),
        "accuracy_at_base_rate": float((kept == label).double().mean()),
        "mean_score": float(prob.mean()),
        "base_rate": float(label.mean()),
        "positive_rate": float(half.mean()),
        "calibration_error": calibration_error(prob, label),
        "rows": float(len(prob)),
    }
    for which, columns in traits.items():
        numbers |= _violations(
            (prob, half, kept), sens[:, list(columns)], label, statistics, which
        )
    return numbers


def _violations(
    channels: Sequence[Tensor],
    sens: Tensor,
    label: Tensor,
    statistics: Sequence[LinearFractionalStatistic],
    which: str,
) -> dict[str, float]:
    batch = check_batch(
        channels[0], None, sens, label, None, {}, name="prob", layout="given"
    )
    total = moments_by_label(batch, statistics, channels)
    names = [str(k) for k in range(sens.shape[1])]
    numbers = {}
    for k, channel in enumerate(CHANNELS):
        one = total._replace(first=total.first[[k]], second=total.second[[k]])
        one = one._replace(excess=total.excess[[k]])
        results = results_of(one, statistics, names=names, traits={}, confidence=0.95)
        for statistic in statistics:
            name = name_of(statistic)
            found = results[name].scores
            path = f"{name}/{channel}/{which}"
            numbers[f"violation/{path}"] = float(found.max_violation)
            numbers[f"floor/{path}"] = float(found.noise_floor)
    return numbers


def at_base_rate(prob: Tensor, label: Tensor) -> Tensor:
    """Say yes to as many of the highest scores as there are positives."""
    decision = torch.zeros_like(prob)
    decision[prob.argsort(descending=True, stable=True)[: int(label.sum())]] = 1
    return decision


def auroc(prob: Tensor, label: Tensor) -> float:
    """Chance that a positive has the higher score of a pair; a tie counts half."""
    positives = label.sum()
    pairs = positives * (len(label) - positives)
    if pairs == 0:
        return math.nan
    values, place = torch.unique(prob, return_inverse=True)
    ups = torch.zeros_like(values).index_add_(0, place, label)
    downs = torch.zeros_like(values).index_add_(0, place, 1 - label)
    below = downs.cumsum(0) - downs
    return float((ups * (below + downs / 2)).sum() / pairs)


def calibration_error(prob: Tensor, label: Tensor) -> float:
    """Mean distance of the share of positives from the score, in bins of the score."""
    place = (prob * BINS).long().clamp_max(BINS - 1)
    gap = torch.zeros(BINS, dtype=prob.dtype).index_add_(0, place, prob - label)
    return float(gap.abs().sum() / len(prob))
