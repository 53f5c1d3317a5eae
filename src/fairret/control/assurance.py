"""A tolerance that holds in the population: margins until the certificate agrees."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairret.control.certificates import Certificate
from fairret.control.solution import Solution, Status
from fairret.control.task import Task
from fairret.control.tolerance import Tolerance
from fairret.errors import ToleranceError
from fairret.metric.rounding import percent
from fairret.statistic.registry import get_name

if TYPE_CHECKING:
    from fairret.control.find import Fit

ATTEMPTS = 8
FASTER = 4.0  # times a margin that has changed no decision
MORE = 1.2  # times the excess of a certificate, by which a gap must shrink
LEAST_TOLERANCE = 0.005  # that must be left where a margin is subtracted
USABLE = 0.8  # share of the tolerance that margins may use up


def assure(fit: Fit, tolerance: Tolerance, confidence: float) -> Solution:
    r"""Find a rule whose certificate on the fit rows holds.

    The first rule has no margin. Where a certificate exceeds the tolerance, the next
    rule must be closer to parity by the excess. In the end, margins are about
    :math:`c\,\mathrm{se}_k`, with the max-t quantile c of the certificate. The status
    is "missed" if the certificate never agrees.

    Args:
        fit: The rows and the statistic.
        tolerance: What to promise.
        confidence: With which probability, over draws of the rows.

    Raises:
        ToleranceError: If a group has too few rows for any tolerance to be left, or a
            notion cannot be certified at all.
    """
    margin = torch.zeros_like(fit.error)
    start, last, factor = None, math.nan, 1.0
    for _ in range(ATTEMPTS):
        tolerances = [tolerance] * len(fit.statistic.parts)
        task = fit.with_tolerance(tolerances, margin=margin)
        _check_margin(fit, task, confidence)
        solution = fit.solve(task, start)
        found = solution.certify_fit(confidence)
        if found.holds(tolerance) or solution.status != "met":
            break
        _check_measured(found, confidence)
        # a margin by which nobody's decision changes must grow faster
        factor = FASTER * factor if found.bound == last else 1.0
        start, last = solution.found, found.bound
        margin = margin + factor * _missing_margin(fit, task, found, tolerance)
    fit.warn_of_granularity(task)
    status: Status = "met" if found.holds(tolerance) else "missed"
    return replace(solution, status=status, confidence=confidence)


def _missing_margin(
    fit: Fit, task: Task, found: Certificate, tolerance: Tolerance
) -> Tensor:
    """By how much margins must grow for the certificate to agree, `(J, d_s)`.

    A gap that exceeds the tolerance must shrink by the excess from where it is, which
    may be far within what its groups are allowed.
    """
    more = torch.zeros_like(fit.error)
    parts = [get_name(part) for part in fit.statistic.parts]
    for gap in found.gaps:
        excess = found.excess_of(gap, tolerance)
        if excess <= 0:
            continue
        part = parts.index(gap.notion)
        notion = task.notions[part]
        unit = notion.unit(fit.task)
        groups = [fit.rows.names.index(name) for name in gap.groups]
        allowed = notion.limit[groups].min() + unit * notion.slack[groups].mean()
        at = 1 - gap.estimate if found.kind == "min_ratio" else gap.estimate
        step = (MORE * excess + max(float(allowed) - at, 0.0)) / unit
        more[part, groups] = more[part, groups].clamp_min(step)
    return more


def _check_measured(found: Certificate, confidence: float) -> None:
    if found.reasons:
        raise ToleranceError(
            f"The tolerance cannot be assured with {percent(confidence)} confidence: "
            f"{'; '.join(found.reasons)}. Leave `confidence` out, or choose another "
            "notion."
        )


def _check_margin(fit: Fit, task: Task, confidence: float) -> None:
    """Refuse margins that leave no tolerance, and blame the smallest group."""
    lacking = []
    for n in task.notions:
        for k in n.compared:
            distance = float(n.limit[k]) / n.unit(fit.task)
            margin = -float(n.slack[k])
            if distance - margin < LEAST_TOLERANCE:
                counted = float(fit.counted[n.part, k])
                needed = counted * (margin / (USABLE * distance)) ** 2
                lacking.append((counted, fit.rows.names[k], needed))
    if lacking:
        counted, name, needed = min(lacking)
        raise ToleranceError(
            f"The tolerance cannot be assured with {percent(confidence)} confidence: "
            f"{name} has {counted:.0f} counted rows, and about {needed:,.0f} are "
            "needed. Widen the tolerance, or collect more rows."
        )
