"""What a tolerance asked of decisions and what they reached, for the audit's page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fairret.auditing.limits import keeps
from fairret.auditing.promise import Curve, CurvePoint, Promise, Reached
from fairret.control import (
    Certificate,
    CertifiedGap,
    GroupOutcome,
    Tolerance,
    Tradeoff,
    certificate,
)
from fairret.control.performance import measure_performance
from fairret.control.tradeoffs import TradeoffPoint
from fairret.estimator.features import Numbers
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name

OUT_OF_FOLD = "rows that fitted the rule, scored by models that had not seen them"
HELD_OUT = "rows that are not in the fit"


class Measured(NamedTuple):
    """Rows on which decisions are measured."""

    sens: Numbers  # (n, d_s)
    label: Numbers
    weight: Numbers
    names: tuple[str, ...]
    traits: Mapping[str, tuple[int, ...]]


def make_promise(
    rows: Measured,
    statistic: LinearFractionalStatistic,
    tolerance: Tolerance,
    certified: Certificate,
    *,
    plain: NDArray[np.bool_],
    decisions: Numbers,
    groups: Iterable[GroupOutcome],
    reached: tuple[bool, float] | None = None,
    required: bool = False,
    informed: bool,
    curve: Callable[[], Tradeoff] | None = None,
) -> Promise:
    """Compare decisions without and with a rule with the tolerance.

    Args:
        rows: The rows.
        statistic: What should be equal.
        tolerance: How far groups may be apart.
        certified: Certificate of the decisions of the rule.
        plain: Decisions without the rule.
        decisions: Decisions of the rule.
        groups: How the rule treats each group.
        reached: Whether the tolerance is met, and the number that tells; by default,
            those of the certificate.
        required: Whether the tolerance was to hold in the population.
        informed: Whether decisions use the traits.
        curve: Computes what other tolerances cost.
    """
    before = certificate(
        plain.astype(np.float64),
        rows.sens,
        rows.label,
        notion=statistic,
        kind=tolerance.kind,
        weight=rows.weight,
        names=rows.names,
        traits=rows.traits,
        confidence=certified.confidence,
        groups=limited_groups(tolerance),
    )
    met, value = reached or (_keeps(certified, tolerance), certified.estimate)
    limit = getattr(tolerance, tolerance.kind)
    which = OUT_OF_FOLD if certified.fitted else HELD_OUT
    return Promise(
        statistics=tuple(map(get_name, statistic.parts)),
        kind=tolerance.kind,
        limit=dict(limit) if isinstance(limit, Mapping) else float(limit),
        met=met,
        confidence=certified.confidence,
        bound=certified.bound,
        assured=certified.holds(tolerance),
        broken=_is_broken(certified, tolerance),
        required=required,
        reasons=certified.reasons,
        rows=f"{certified.n:,} {which}",
        before=_reached(before, plain.astype(np.float64), rows),
        after=_reached(certified, decisions, rows)._replace(value=value),
        notes=tuple(_notes(groups, certified)),
        mode="informed" if informed else "blind",
        curve=None if curve is None else Curve(lambda: _points(curve())),
    )


def _reached(found: Certificate, decisions: Numbers, rows: Measured) -> Reached:
    f, label, weight = map(torch.as_tensor, (decisions, rows.label, rows.weight))
    good = measure_performance(f, label, weight / weight.sum())
    return Reached(found.estimate, found.low, found.high, *good)


def limited_groups(tolerance: Tolerance) -> tuple[str, ...] | None:
    """Name the groups that have a limit of their own; None if all have the same."""
    limit = tolerance.max_violation
    return tuple(limit) if isinstance(limit, Mapping) else None


def _keeps(found: Certificate, tolerance: Tolerance) -> bool:
    """Whether the estimates keep the tolerance."""
    if math.isnan(found.estimate):
        return False
    return all(
        keeps(found.kind, gap.estimate, _limit(gap, tolerance))
        for gap in found.gaps
        if gap.certified
    )


def _is_broken(found: Certificate, tolerance: Tolerance) -> bool:
    """Whether a whole interval is beyond its limit."""
    return any(
        not keeps(found.kind, end, _limit(gap, tolerance))
        for gap in found.gaps
        if gap.certified
        for end in [gap.high if found.kind == "min_ratio" else gap.low]
    )


def _limit(gap: CertifiedGap, tolerance: Tolerance) -> float:
    limit = tolerance.max_violation
    if isinstance(limit, Mapping):
        return limit.get(gap.groups[0], math.inf)
    return tolerance.value


def _notes(groups: Iterable[GroupOutcome], certified: Certificate) -> list[str]:
    """Name the groups that the tolerance does not hold for as it was stated."""
    notes = []
    relaxed = [g for g in groups if g.treatment == "relaxed"]
    if relaxed:
        several = len({g.notion for g in relaxed}) > 1
        each = [
            f"{g.name}{f' ({g.notion})' * several} {g.allowed:.1%}" for g in relaxed
        ]
        notes.append(
            "Groups with too few rows to show the tolerance have a wider one, because "
            "chance alone explains as much. Distance from parity that they may have: "
            f"{', '.join(each)}."
        )
    few = list(dict.fromkeys(g.name for g in groups if g.treatment == "too few rows"))
    if few:
        notes.append(f"Too few rows to constrain: {', '.join(few)}.")
    if certified.too_few:
        notes.append(
            f"Not certified, with fewer than {certified.min_size:g} rows that count: "
            f"{', '.join(certified.too_few)}."
        )
    return notes


def _points(curve: Tradeoff) -> list[CurvePoint]:
    return [_point(point) for point in curve.points if point.tolerance is not None]


def _point(point: TradeoffPoint) -> CurvePoint:
    assert point.tolerance is not None
    reached = Reached(
        point.value,
        point.low,
        point.high,
        point.accuracy,
        point.balanced_accuracy,
        point.rate,
    )
    return CurvePoint(point.mode, point.tolerance, point.status == "met", reached)
