"""Choose one of several trained models on held-out rows, within a tolerance."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from fairret.checks import check_share
from fairret.control.certificates import MEASURES, Certificate
from fairret.control.certify import certificate, check_confidence, read_notion
from fairret.control.performance import measure_performance
from fairret.control.rows import Array, as_column
from fairret.control.tolerance import Tolerance
from fairret.errors import ArgumentError, did_you_mean
from fairret.metric.rounding import at_least, at_most
from fairret.statistic.base import LinearFractionalStatistic

Basis: TypeAlias = Literal["estimate", "bound"]
Score: TypeAlias = Callable[[Tensor, Tensor], float]


@dataclass(frozen=True)
class Candidate:
    """One model on the held-out rows."""

    name: str
    score: float  # larger is better
    certificate: Certificate
    within: bool  # the tolerance


@dataclass(frozen=True, repr=False)
class Selection:
    """The chosen model; `within` is False if no model keeps the tolerance."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]
    tolerance: Tolerance
    by: Basis

    @property
    def name(self) -> str:
        """Name of the chosen model."""
        return self.chosen.name

    @property
    def within(self) -> bool:
        """Whether the chosen model keeps the tolerance."""
        return self.chosen.within

    def __repr__(self) -> str:
        return f"Selection({self.name!r}, within={self.within})"

    def __str__(self) -> str:
        best, count = self.chosen, len(self.candidates)
        limit = self.tolerance.in_words
        found = best.certificate
        measure = f"{MEASURES[found.kind]} {found.estimate:.3f}"
        if self.by == "bound":
            outwards = at_least if found.kind == "min_ratio" else at_most
            measure += f", bound {outwards(found.bound)}"
        passed = sum(candidate.within for candidate in self.candidates)
        if best.within:
            return (
                f"{best.name}: the best of {passed} of {count} candidates within the "
                f"tolerance ({limit}), with score {best.score:.3f} and {measure}."
            )
        return (
            f"No candidate is within the tolerance ({limit}). {best.name} is closest, "
            f"with score {best.score:.3f} and {measure}."
        )


def select_checkpoint(
    candidates: Mapping[str, Array],
    sens: Array,
    label: Array,
    *,
    notion: LinearFractionalStatistic | str | Sequence[str] = "pr",
    max_violation: float | Mapping[str, float] | None = None,
    max_difference: float | None = None,
    min_ratio: float | None = None,
    by: Basis = "estimate",
    metric: Literal["accuracy", "balanced_accuracy"] | Score = "accuracy",
    threshold: float = 0.5,
    weight: Array | None = None,
    names: Sequence[str] | None = None,
    traits: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] | None = None,
    confidence: float = 0.95,
    **inputs: object,
) -> Selection:
    """Choose the best model within a tolerance, by its held-out scores.

    Use it for the checkpoints of one training, or for trainings of several strengths.
    If no model is within the tolerance, the one closest to it is chosen.

    Args:
        candidates: Scores of every model on the same held-out rows, `(n,)` each.
        sens: Memberships, `(n, d_s)`; NaN for a missing trait.
        label: Labels 0 and 1, `(n,)`.
        notion: Which statistics should be equal: a name, names, or a statistic.
        max_violation: Tolerance; see :class:`Tolerance` for the three forms.
        max_difference: Tolerance within a trait.
        min_ratio: Tolerance within a trait.
        by: What must be within the tolerance: the "estimate", or the upper "bound" in
            the population, which is then corrected for the number of candidates.
        metric: What to maximise: "accuracy", "balanced_accuracy", or a function of
            scores and labels.
        threshold: Score above which a decision is a yes.
        weight: Sample weights, `(n,)`.
        names: Names of the groups.
        traits: Which columns of `sens` belong to the same trait.
        confidence: Of the bounds, for all candidates at once.
        **inputs: Further inputs of the statistic.

    Example:
        >>> import torch
        >>> label = torch.tensor([0, 1]).repeat(100)
        >>> sens = torch.nn.functional.one_hot(torch.arange(200) // 100, 2)
        >>> unfair = 0.2 + 0.6 * label * sens[:, 0]
        >>> fair = 0.2 + 0.6 * label
        >>> scores = {"0": unfair, "0.1": fair}
        >>> print(select_checkpoint(scores, sens, label, max_violation=0.1))
        0.1: the best of 1 of 2 candidates within the tolerance (max_violation 0.1), ...
    """
    tolerance = Tolerance(max_violation, max_difference, min_ratio)
    check_share("threshold", threshold)
    check_confidence(confidence)
    _check_options(candidates, by)
    y = as_column("label", label)
    w = torch.ones_like(y) if weight is None else as_column("weight", weight, len(y))
    measured = []
    for name, prediction in candidates.items():
        h = as_column(f"candidates[{name!r}]", prediction, len(y))
        f = (h > threshold).to(y)
        found = certificate(
            f,
            sens,
            y,
            notion=read_notion(notion),
            kind=tolerance.kind,
            weight=w,
            names=names,
            traits=traits,
            groups=max_violation if isinstance(max_violation, Mapping) else None,
            confidence=1 - (1 - confidence) / len(candidates),
            **inputs,  # type: ignore[arg-type]  # their names are the statistic's own
        )
        score = _score(metric, h, f, y, w / w.sum())
        excess = _excess(found, tolerance, by)
        measured.append((excess, Candidate(str(name), score, found, excess <= 0)))
    chosen = _choose(measured)
    return Selection(chosen, tuple(own for _, own in measured), tolerance, by)


def _check_options(candidates: Mapping[str, Array], by: Basis) -> None:
    if not candidates:
        raise ArgumentError(
            "`candidates` must have at least one model; got none. Pass a dictionary of "
            "held-out scores by name."
        )
    if by not in ("estimate", "bound"):
        raise ArgumentError(
            f"`by` must be 'estimate' or 'bound'; got {by!r}."
            f"{did_you_mean(by, ('estimate', 'bound'))}"
        )


def _choose(measured: Sequence[tuple[float, Candidate]]) -> Candidate:
    """Take the best score within the tolerance, or else the smallest excess."""
    inside = [candidate for _, candidate in measured if candidate.within]
    if inside:
        return max(inside, key=lambda candidate: candidate.score)
    return min(measured, key=lambda pair: pair[0])[1]


def _score(
    metric: str | Score, h: Tensor, f: Tensor, label: Tensor, share: Tensor
) -> float:
    if callable(metric):
        return float(metric(h, label))
    performance = measure_performance(f, label, share)
    known = {
        "accuracy": performance.accuracy,
        "balanced_accuracy": performance.balanced_accuracy,
    }
    if metric not in known:
        raise ArgumentError(
            f"`metric` must be {' or '.join(map(repr, known))}, or a function of "
            f"scores and labels; got {metric!r}.{did_you_mean(metric, known)}"
        )
    return known[metric]


def _excess(found: Certificate, tolerance: Tolerance, by: Basis) -> float:
    """By how much the estimate or the bound exceeds the tolerance."""
    if by == "bound":
        return found.excess(tolerance)
    if math.isnan(found.estimate):  # no group has enough rows
        return math.inf
    tolerance.check_names(found.names)
    limit = tolerance.max_violation
    if isinstance(limit, Mapping):
        each = [
            gap.estimate - limit[gap.groups[0]]
            for gap in found.gaps
            if gap.certified and gap.groups[0] in limit
        ]
        return max(each, default=math.inf)
    if found.kind == "min_ratio":
        return tolerance.value - found.estimate
    return found.estimate - tolerance.value
