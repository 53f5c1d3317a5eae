"""All measures by which a method is judged.

AUROC against the violation of scores can be gamed: AUROC ignores monotone changes of
the scores, and a relative violation shrinks when all scores are inflated. So the
violation of decisions, the log-loss, the accuracy and the mean score are reported too.
"""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from fairret.batch import read_batch
from fairret.metric.by_label import moments_by_label
from fairret.metric.compute import compute_results
from fairret.metric.studentised_test import MIN_SIZE
from fairret.statistic import LinearFractionalStatistic
from fairret.statistic.registry import get_name

BINS = 15
CHANNELS = ("scores", "decisions", "decisions at the base rate")


def evaluate(
    prob: Tensor,
    sens: Tensor,
    label: Tensor,
    statistics: Sequence[LinearFractionalStatistic],
    traits: Mapping[str, Mapping[str, Sequence[int]]],
) -> dict[str, float]:
    """Compute all measures of some scores.

    Args:
        prob: Scores, `(n,)`.
        sens: Memberships, `(n, d_s)`.
        label: Labels 0 and 1, `(n,)`.
        statistics: Statistics whose violation is measured.
        traits: Sets of traits to measure, by name, such as all of them and a single
            one. Each set has the columns of `sens` that belong to each of its traits.

    Returns:
        Numbers by name: `auroc`, `log_loss`, ... and, per statistic, channel and set of
        traits, the largest violation (`violation/pr/scores/all`), its noise floor
        (`floor/...`), the p-value of the joint Wald test (`p_value/...`), the verdict
        adjusted for the number of groups (`beyond_chance/...`: 1 or 0, NaN if no group
        can be judged), and the violation beyond chance
        (`violation_beyond_chance/...`).
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
    for which, own in traits.items():
        found = _violations((prob, half, kept), sens, label, statistics, own)
        numbers |= {f"{name}/{which}": value for name, value in found.items()}
    return numbers


def _violations(
    channels: Sequence[Tensor],
    sens: Tensor,
    label: Tensor,
    statistics: Sequence[LinearFractionalStatistic],
    traits: Mapping[str, Sequence[int]],
) -> dict[str, float]:
    columns = sorted(k for own in traits.values() for k in own)
    sens = sens[:, columns]
    batch = read_batch(channels[0], (sens, label), {}, layout="given")
    total = moments_by_label(batch, statistics, channels)
    names = [str(k) for k in range(sens.shape[1])]
    numbers: dict[str, float] = {}
    for k, channel in enumerate(CHANNELS):
        of_channel = ("first", "second", "decided", "excess")
        one = total._replace(**{x: getattr(total, x)[[k]] for x in of_channel})
        results = compute_results(
            one,
            statistics,
            names=names,
            traits={x: [*map(columns.index, own)] for x, own in traits.items()},
            confidence=0.95,
            min_size=MIN_SIZE,
        )
        for statistic in statistics:
            name = get_name(statistic)
            found = results[name].scores
            verdict = found.beyond_chance if found.can_be_judged else math.nan
            of_name = {
                "violation": found.max_violation,
                "floor": found.noise_floor,
                "p_value": found.test.p_value,
                "beyond_chance": verdict,
                "violation_beyond_chance": found.violation_beyond_chance,
            }
            path = f"{name}/{channel}"
            numbers |= {f"{key}/{path}": float(x) for key, x in of_name.items()}
    return numbers


def at_base_rate(prob: Tensor, label: Tensor) -> Tensor:
    """Decide positively on as many of the highest scores as there are positives."""
    decision = torch.zeros_like(prob)
    decision[prob.argsort(descending=True, stable=True)[: int(label.sum())]] = 1
    return decision


def auroc(prob: Tensor, label: Tensor) -> float:
    """Area under the ROC curve; NaN if there is only one class."""
    from torchmetrics.functional.classification import binary_auroc  # a slow import

    if label.min() == label.max():
        return math.nan
    return float(binary_auroc(prob, label.long(), validate_args=False))


def calibration_error(prob: Tensor, label: Tensor) -> float:
    """Expected calibration error over 15 bins of equal width."""
    from torchmetrics.functional.classification import binary_calibration_error

    below_one = prob.clamp_max(1 - torch.finfo(prob.dtype).eps)  # 1 has no own bin
    error = binary_calibration_error(
        below_one, label.long(), n_bins=BINS, validate_args=False
    )
    return float(error)
