"""The whole curve from unfair to fair: rules for many tolerances from one fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from fairret.control.calibration import Recalibration, recalibrate
from fairret.control.certificates import MEASURES, Certificate, plain
from fairret.control.certify import certificate, check_confidence, read_notion
from fairret.control.feasibility import is_infeasible
from fairret.control.find import BAND, Fit
from fairret.control.performance import measure_performance
from fairret.control.rows import Array, FitRows, check_amounts, read_rows
from fairret.control.rule import gain
from fairret.control.scores import warn_if_too_good
from fairret.control.solution import Solution, Status
from fairret.control.solve import solve_path
from fairret.control.tolerance import Kind, Tolerance
from fairret.errors import ArgumentError, RangeError, missing_extra
from fairret.metric.rounding import at_least, at_most, percent
from fairret.metric.studentised_test import MIN_SIZE
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Mode: TypeAlias = Literal["plain", "blind", "informed"]
DISTANCES: dict[Kind, tuple[float, ...]] = {
    "max_violation": (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.02),
    "max_difference": (0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.06, 0.04, 0.02, 0.01),
    "min_ratio": (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.02),
}
HEADER = ("rule", "tolerance", "accuracy", "balanced", "rate", "value", "low", "high")


@dataclass(frozen=True)
class TradeoffPoint:
    """One rule of the curve, on the rows that fitted it."""

    mode: Mode
    tolerance: float | None  # None without one
    status: Status | None
    accuracy: float
    balanced_accuracy: float
    rate: float
    value: float  # violation, difference or ratio
    low: float  # in the population, at the stated confidence
    high: float
    relaxed: bool = False  # whether small groups have a wider tolerance

    @property
    def cells(self) -> tuple[str, ...]:
        """The point as a row of a table."""
        stated = "none" if self.tolerance is None else f"{self.tolerance:g}"
        notes = [str(self.status)] if self.status not in (None, "met") else []
        notes += ["relaxed"] if self.relaxed else []
        note = f" ({', '.join(notes)})" if notes else ""
        numbers = (
            self.accuracy,
            self.balanced_accuracy,
            self.rate,
            self.value,
        )
        ends = at_least(self.low), at_most(self.high)
        return (self.mode, stated + note, *(f"{x:.3f}" for x in numbers), *ends)


@dataclass(frozen=True, repr=False)
class Tradeoff:
    """Rules from loose to strict tolerances, blind and informed.

    `recalibration` turns scores into those that the informed rules decide with; it is
    None if these were calibrated already.
    """

    kind: Kind
    notions: tuple[str, ...]
    confidence: float
    n: int
    points: tuple[TradeoffPoint, ...]
    solutions: Mapping[tuple[Mode, float], Solution]
    recalibration: Recalibration | None

    def at(self, tolerance: float, mode: Mode | None = None) -> Solution:
        """Take the solution of one tolerance.

        Args:
            tolerance: One of those that were tried.
            mode: "blind" or "informed"; by default blind if there are both.

        Raises:
            RangeError: If the tolerance was not tried.
            ArgumentError: If the curve does not have this kind of rule.
        """
        modes = list(dict.fromkeys(own for own, _ in self.solutions))
        chosen = modes[0] if mode is None else mode
        if chosen not in modes:
            raise ArgumentError(
                f"`mode` must be {' or '.join(map(repr, modes))}; got {chosen!r}. "
                "Blind rules need `q`."
            )
        tried = [value for own, value in self.solutions if own == chosen]
        for value in tried:
            if abs(value - tolerance) < 1e-9:
                return self.solutions[chosen, value]
        raise RangeError(
            f"`tolerance` must be one of {', '.join(f'{x:g}' for x in tried)}; got "
            f"{tolerance:g}. Pass it to `tradeoff` as one of `tolerances`."
        )

    def with_rule(self, tolerance: float, mode: Mode, found: Solution) -> Tradeoff:
        """Replace the rule for a tolerance by one that was found elsewhere.

        Args:
            tolerance: One of those that were tried.
            mode: "blind" or "informed".
            found: The new rule.
        """
        own = (mode, tolerance)
        point = _rule_point(*own, found, self.confidence)
        return replace(
            self,
            points=tuple(
                point if (x.mode, x.tolerance) == own else x for x in self.points
            ),
            solutions={**self.solutions, own: found},
        )

    def to_frame(self) -> pd.DataFrame:
        """All points as a data frame; needs pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise missing_extra("`to_frame` needs", "pandas", "frames") from None
        return pd.DataFrame([asdict(point) for point in self.points])

    def to_json(self) -> str:
        """All points as JSON."""
        whole = {
            "kind": self.kind,
            "notions": self.notions,
            "confidence": self.confidence,
            "n": self.n,
            "points": [asdict(point) for point in self.points],
        }
        return json.dumps(plain(whole), indent=2)

    def plot(self, ax: Axes | None = None) -> tuple[Figure, Axes]:
        """Draw accuracy against the violation, with intervals; needs matplotlib."""
        from fairret.control.figure import draw

        return draw(self, ax)

    def __repr__(self) -> str:
        return f"Tradeoff({self.kind!r}, n={self.n}, points={len(self.points)})"

    def __str__(self) -> str:
        rows = [HEADER, *_merge_equal(point.cells for point in self.points)]
        width = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(size) if place < 2 else cell.rjust(size)
                for place, (cell, size) in enumerate(zip(row, width, strict=True))
            ).rstrip()
            for row in rows
        ]
        about = (
            f"value: {MEASURES[self.kind]} ({' and '.join(self.notions)}) of "
            f"{self.n:,} rows; in the population between low and high, with "
            f"{percent(self.confidence)} confidence"
        )
        if any(point.relaxed for point in self.points):
            about += "; relaxed: small groups have a wider tolerance"
        return "\n".join([*lines, about])


def _merge_equal(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Write one row for tolerances that give the same rule, as in "0.2 to 0.5"."""
    for _, same in groupby(rows, lambda row: (row[0], row[2:])):
        own = list(same)
        if len(own) == 1:
            yield own[0]
            continue
        ends = sorted((own[0][1], own[-1][1]), key=lambda x: float(x.split()[0]))
        yield (own[0][0], " to ".join(ends), *own[0][2:])


def tradeoff(
    eta: Array,
    sens: Array,
    label: Array,
    *,
    notion: LinearFractionalStatistic | str | Sequence[str] = "pr",
    kind: Kind = "max_violation",
    tolerances: Sequence[float] | None = None,
    q: tuple[Array, Array] | None = None,
    informed: Array | None = None,
    weight: Array | None = None,
    names: Sequence[str] | None = None,
    traits: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] | None = None,
    threshold: float = 0.5,
    min_rate: float = BAND,
    min_size: float = MIN_SIZE,
    adapt: bool = True,
    confidence: float = 0.95,
    **inputs: object,
) -> Tradeoff:
    """Find the best rules for a path of tolerances, blind and informed.

    Args:
        eta: Scores :math:`P(Y = 1 | x)`, `(n,)`, out-of-fold or held-out. Without `q`,
            they must be calibrated given S.
        sens: Memberships, `(n, d_s)`; NaN for a missing trait.
        label: Labels 0 and 1, `(n,)`.
        notion: Which statistics should be equal: a name, names, or a statistic.
        kind: The form of the tolerances; see :class:`Tolerance`.
        tolerances: The values to try; by default ten.
        q: Estimates of :math:`E[S | x, y]` for y = 0 and y = 1, for blind rules. With
            them, there are both kinds of rules; without, informed rules alone.
        informed: Scores :math:`P(Y = 1 | x, s)` for the informed rules; by default,
            `eta` is recalibrated given S if there is a `q`.
        weight: Sample weights, `(n,)`.
        names: Names of the groups.
        traits: Which columns of `sens` belong to the same trait.
        threshold: Score from which a yes pays off without a tolerance.
        min_rate: How much of the positive rate, and of the negative rate, must remain.
        min_size: Rows that must count for a group to be constrained.
        adapt: Whether small groups get a tolerance of at least two standard errors, and
            more if a blind rule cannot tell who they are.
        confidence: Of the intervals.
        **inputs: Further inputs of the statistic.

    Example:
        >>> import torch
        >>> seed = torch.Generator().manual_seed(0)
        >>> group = torch.randint(2, (4000,), generator=seed)
        >>> x = torch.randn(4000, generator=seed) + 0.8 * group
        >>> eta = torch.sigmoid(2 * x - 1)
        >>> label = (torch.rand(4000, generator=seed) < eta).float()
        >>> sens = torch.nn.functional.one_hot(group, 2)
        >>> curve = tradeoff(eta, sens, label, tolerances=[0.3, 0.1])
        >>> [point.status for point in curve.points]
        [None, 'met', 'met']
        >>> rule = curve.at(0.1).rule
    """
    check_confidence(confidence)
    statistic = read_notion(notion)
    read = partial(
        read_rows,
        sens=sens,
        label=label,
        weight=weight,
        names=names,
        traits=traits,
        inputs=inputs,
    )
    first = read(eta)
    warn_if_too_good(first.eta, first.label, first.weight)
    values = _read_tolerances(kind, tolerances)
    check_amounts(kind, first.sens, traits, names)
    mapping: Recalibration | None = None
    rows: dict[Mode, FitRows] = {}
    if q is not None:
        rows["blind"] = read(eta, q=q)
        if informed is None:
            mapping = recalibrate(first.eta, first.sens, first.label, first.weight)
            informed = mapping(first.eta, first.sens)
    rows["informed"] = first if informed is None else read(informed)
    solutions: dict[tuple[Mode, float], Solution] = {}
    for mode, own in rows.items():
        fit = Fit(
            own, statistic, threshold=threshold, min_rate=min_rate, min_size=min_size
        )
        found = _solve(fit, kind, values, adapt)
        solutions |= {(mode, x): one for x, one in zip(values, found, strict=True)}
    points = [_plain_point(first, statistic, kind, threshold, confidence)]
    points += [_rule_point(*key, one, confidence) for key, one in solutions.items()]
    notions = tuple(map(get_name, statistic.parts))
    size = len(first.eta)
    return Tradeoff(kind, notions, confidence, size, tuple(points), solutions, mapping)


def _read_tolerances(kind: Kind, given: Sequence[float] | None) -> list[float]:
    """Sort tolerances from loose to strict."""
    if given is not None and len(given) == 0:
        raise ArgumentError("`tolerances` must have at least one value; got none.")
    if given is None:
        return list_tolerances(kind)
    return sorted(map(float, given), reverse=kind != "min_ratio")


def list_tolerances(kind: Kind, stated: float | None = None) -> list[float]:
    """List the usual tolerances from loose to strict, with a stated one among them."""
    ratio = kind == "min_ratio"
    usual = [round(1 - x, 6) if ratio else x for x in DISTANCES[kind]]
    if stated is None:
        return usual
    others = [x for x in usual if abs(x - stated) >= 1e-9]
    return sorted([*others, stated], reverse=not ratio)


def _solve(
    fit: Fit, kind: Kind, values: Sequence[float], adapt: bool
) -> list[Solution]:
    """Solve from loose to strict; stricter than infeasible is infeasible too."""
    limits = [Tolerance(**{kind: value}) for value in values]
    parts = len(fit.statistic.parts)
    tasks = [fit.with_tolerance([limit] * parts, adapt=adapt) for limit in limits]
    fit.check_groups(tasks[0])
    solutions = []
    proved = False
    for task, found in zip(tasks, solve_path(tasks), strict=True):
        status: Status = "met"
        if not found.met:
            proved = proved or is_infeasible(task)
            status = "infeasible" if proved else "missed"
        solutions.append(fit.report(task, found, status))
    return solutions


def _plain_point(
    rows: FitRows,
    statistic: LinearFractionalStatistic,
    kind: Kind,
    threshold: float,
    confidence: float,
) -> TradeoffPoint:
    """Measure the decisions without a tolerance, which no row has fitted."""
    f = (gain(rows.eta, threshold) > 0).to(rows.eta)
    options: dict[str, Any] = dict(rows.inputs)
    certified = certificate(
        f,
        rows.sens,
        rows.label,
        notion=statistic,
        kind=kind,
        weight=rows.weight,
        names=rows.names,
        traits=rows.traits,
        confidence=confidence,
        **options,
    )
    performance = measure_performance(f, rows.label, rows.share)
    return TradeoffPoint("plain", None, None, *performance, *_bounds(certified))


def _rule_point(
    mode: Mode, tolerance: float, found: Solution, confidence: float
) -> TradeoffPoint:
    """Measure the decisions of a rule on the rows that fitted it."""
    rows = found.rows
    performance = measure_performance(found.decisions, rows.label, rows.share)
    bounds = _bounds(found.certify_fit(confidence))
    relaxed = any(group.treatment == "relaxed" for group in found.groups)
    return TradeoffPoint(mode, tolerance, found.status, *performance, *bounds, relaxed)


def _bounds(found: Certificate) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high
