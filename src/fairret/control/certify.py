"""From decisions to a certificate.

An audit of the same rows has the same interval: both read it off
:class:`~fairret.metric.ParityResult`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from fairret.checks import check_share
from fairret.control.certificates import Certificate, CertifiedGap
from fairret.control.rows import Array, as_column, as_matrix, check_amounts
from fairret.control.tolerance import KINDS, Kind, check_groups
from fairret.errors import ArgumentError, RangeError, did_you_mean
from fairret.metric.result import ParityResult
from fairret.metric.simultaneous_intervals import (
    Intervals,
    Upper,
    difference_intervals,
    pairs_within,
    ratio_intervals,
    violation_intervals,
)
from fairret.metric.studentised_test import can_compare
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.stacked import StackedLinearFractionalStatistic, get_statistic


def certificate(
    decisions: Array,
    sens: Array,
    label: Array | None = None,
    *,
    notion: LinearFractionalStatistic | str | Sequence[str] = "pr",
    kind: Kind = "max_violation",
    weight: Array | None = None,
    names: Sequence[str] | None = None,
    traits: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] | None = None,
    groups: Iterable[str] | None = None,
    confidence: float = 0.95,
    fitted: bool = False,
    **inputs: object,
) -> Certificate:
    """Bound the violation of decisions in the population.

    The rows must not have trained the model: nothing in them tells that they did, and
    the bounds would be too low. Use held-out rows, or out-of-fold scores.

    Args:
        decisions: Decisions, 0 or 1, `(n,)`.
        sens: Memberships, `(n, d_s)`; NaN for a missing trait.
        label: Labels 0 and 1, `(n,)`, if the notion needs them.
        notion: Which statistics should be equal: a name, names, or a statistic.
        kind: What to bound: "max_violation", or "max_difference" or "min_ratio" within
            a trait.
        weight: Sample weights, `(n,)`.
        names: Names of the groups.
        traits: Which columns of `sens` belong to the same trait; by default, all.
        groups: Names of the groups that it is about, by default all: those of a
            tolerance with limits per group. As each has its own limit, their intervals
            hold at once.
        confidence: Probability that the interval covers, over draws of the rows.
        fitted: Whether these rows fitted the rule. It has used up their luck, so the
            upper bound is then corrected for the number of groups.
        **inputs: Further inputs of the statistic.

    Example:
        >>> import torch
        >>> seed = torch.Generator().manual_seed(0)
        >>> group = torch.randint(2, (4000,), generator=seed)
        >>> yes = torch.rand(4000, generator=seed) < 0.3 + 0.05 * group
        >>> sens = torch.nn.functional.one_hot(group, 2)
        >>> print(certificate(yes, sens, notion="pr"))
        With 95% confidence, the largest violation (pr) in the population is between ...
        The estimate is 0.07..., on 4,000 held-out rows.
    """
    if kind not in KINDS:
        raise ArgumentError(
            f"`kind` must be one of {', '.join(KINDS)}; got {kind!r}."
            f"{did_you_mean(kind, KINDS)}"
        )
    check_confidence(confidence)
    f = as_column("decisions", decisions)
    if not bool(((f == 0) | (f == 1)).all()):
        raise RangeError(
            f"`decisions` must be 0 or 1; got values from {float(f.min()):g} to "
            f"{float(f.max()):g}. Pass `score > threshold`."
        )
    s = as_matrix("sens", sens, len(f)).nan_to_num(nan=0.0)
    check_amounts(kind, s, traits, names)
    columns = {"label": label, "weight": weight}
    given = {k: as_column(k, x, len(f)) for k, x in columns.items() if x is not None}
    if isinstance(traits, Mapping):
        traits = list(traits.values())
    families = [range(s.shape[1])] if traits is None else traits
    result = _measure(read_notion(notion), f, s, {**inputs, **given}, names, confidence)
    return certify_result(result, families, kind=kind, groups=groups, fitted=fitted)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence below one half, whose bounds are on the wrong side."""
    if check_share("confidence", confidence) < 0.5:
        raise RangeError(
            f"`confidence` must be at least 0.5; got {confidence:g}. Pass 0.95."
        )


def read_notion(
    notion: LinearFractionalStatistic | str | Sequence[str],
) -> LinearFractionalStatistic:
    """Look up one notion, or stack several."""
    if isinstance(notion, str | LinearFractionalStatistic):
        return get_statistic(notion)
    return StackedLinearFractionalStatistic(*notion)


def _measure(
    statistic: LinearFractionalStatistic,
    f: Tensor,
    s: Tensor,
    inputs: Mapping[str, object],
    names: Sequence[str] | None,
    confidence: float,
) -> ParityResult:
    from fairret.metric.metrics import Parity  # imports torchmetrics, which is slow

    known = {"label"} - statistic.asks_for  # a notion refuses what it does not ask for
    kept = {name: x for name, x in inputs.items() if name not in known}
    metric = Parity(statistic, names=names, d_s=s.shape[1], confidence=confidence)
    metric.update(f, sens=s, **kept)
    result: ParityResult = metric.compute().scores
    return result


def certify_result(
    result: ParityResult,
    traits: Sequence[Sequence[int]],
    *,
    kind: Kind = "max_violation",
    groups: Iterable[str] | None = None,
    fitted: bool = False,
) -> Certificate:
    """Certify what a metric measured on decisions.

    Args:
        result: The result of :class:`~fairret.metric.Parity`.
        traits: Which groups belong to the same trait.
        kind: What to bound.
        groups: Names of the groups that it is about; by default, all.
        fitted: Whether the rows fitted the rule.
    """
    about = tuple(result.names if groups is None else groups)
    check_groups("groups", about, result.names)
    among = torch.tensor([name in about for name in result.names])
    at_once = fitted or groups is not None
    parts = result.parts
    alpha = (1 - result.confidence) / len(parts)  # of each notion, where all must hold
    each: list[CertifiedGap] = []
    worst: list[tuple[float, float, float, float]] = []
    reasons: list[str] = []
    for name, part in parts.items():
        judged = part.judged & among
        certified = _is_certified(judged, traits, kind)
        reason = _why_unknown(part, among, certified, traits, kind)
        of = f"of {name}, " if len(parts) > 1 else ""
        if reason is not None:
            reasons.append(of + reason)
        if not judged.any():
            continue
        find = partial(_find_intervals, part, judged, traits, kind)
        gaps = find(1 - alpha, "simultaneous" if at_once else "two-sided")
        names = _group_names(part.names, traits, kind)
        numbers = torch.stack(gaps.each)[:, 0].T.tolist()
        each += [
            CertifiedGap(
                name,
                own,
                *_in_units(kind, *values),
                certified=known and reason is None,
            )
            for own, values, known in zip(names, numbers, certified, strict=True)
            if set(own) <= set(about)
        ]
        if reason is not None:
            continue
        low = float(gaps.largest.low) if part.beyond_chance else 0.0
        high = bound = float(gaps.largest.high)
        if not at_once:  # a maximum fails only where that of its own group fails
            if len(parts) > 1:
                high = float(find(result.confidence, "two-sided").largest.high)
            bound = float(find(result.confidence, "one-sided").largest.high)
        worst.append((float(gaps.largest.estimate), low, high, bound))
        if any(map(math.isnan, worst[-1])):
            reasons.append(f"{of}the statistic of a group is undefined")
    known = not reasons  # what is unknown of one notion may be worse than all others
    found = [max(x) for x in zip(*worst, strict=True)] if known else [math.nan] * 4
    estimate, low, high = _in_units(kind, *found[:3])
    bound = math.exp(-found[3]) if kind == "min_ratio" else found[3]
    return Certificate(
        kind,
        tuple(parts),
        estimate,
        low,
        high,
        bound,
        result.confidence,
        fitted,
        result.n,
        result.min_size,
        tuple(each),
        tuple(name for name in result.too_few if name in about),
        tuple(result.names),
        about,
        tuple(reasons),
    )


def _why_unknown(
    part: ParityResult,
    among: Tensor,
    certified: Sequence[bool],
    traits: Sequence[Sequence[int]],
    kind: Kind,
) -> str | None:
    """Say why nothing can be certified of one notion, or None."""
    overall = float(part.overall)
    if math.isnan(overall):
        return "no row counts"
    if overall == 0 and kind != "max_difference":
        return "the statistic of everybody is 0, so nothing is known of ratios to it"
    if any(certified) and can_compare(part.judged.tolist(), traits):
        return None
    own = [name for name, here in zip(part.names, among, strict=True) if here]
    large = [name for name in own if name not in part.too_few]
    if not large:
        return f"no group has {part.min_size:g} counted rows"
    if kind == "max_violation" and not any(certified):
        return f"{large[0]} is everybody, so there is nothing to compare it with"
    return (
        f"no trait has two groups with {part.min_size:g} counted rows, so there is "
        "nothing to compare"
    )


def _find_intervals(
    part: ParityResult,
    judged: Tensor,
    traits: Sequence[Sequence[int]],
    kind: Kind,
    confidence: float,
    upper: Upper,
) -> Intervals:
    m, own = part.moments, judged[None]
    if kind == "max_violation":
        return violation_intervals(m, own, confidence, upper)
    if kind == "max_difference":
        return difference_intervals(m, traits, own, confidence, upper)
    return ratio_intervals(m, traits, own, confidence, upper)


def _is_certified(
    judged: Tensor, traits: Sequence[Sequence[int]], kind: Kind
) -> list[bool]:
    if kind == "max_violation":
        found: list[bool] = judged.tolist()
        return found
    left, right = pairs_within(traits)
    both: list[bool] = (judged[left] & judged[right]).tolist()
    return both


def _group_names(
    names: Sequence[str], traits: Sequence[Sequence[int]], kind: Kind
) -> list[tuple[str, ...]]:
    if kind == "max_violation":
        return [(name,) for name in names]
    left, right = (x.tolist() for x in pairs_within(traits))
    return [(names[k], names[j]) for k, j in zip(left, right, strict=True)]


def _in_units(
    kind: Kind, estimate: float, low: float, high: float
) -> tuple[float, float, float]:
    r"""Turn :math:`|\log(\gamma_k / \gamma_l)|` into a ratio of at most 1."""
    if kind != "min_ratio":
        return estimate, low, high
    return math.exp(-estimate), math.exp(-high), math.exp(-low)
