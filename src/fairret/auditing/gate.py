"""A gate: whether decisions keep a limit, given the uncertainty of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal, NamedTuple, TypeAlias, cast

from fairret.auditing.findings import SELECTION, Findings, Section
from fairret.auditing.limits import Kind, keeps, same
from fairret.auditing.wording import (
    MOST_DIGITS,
    UNBOUNDED,
    confidence,
    first_few,
    number,
    percent,
    reason,
    rounded_up,
)
from fairret.errors import (
    PERCENT,
    ArgumentError,
    DtypeError,
    NameNotFoundError,
    RangeError,
    meant_share,
)
from fairret.metric.result import ParityResult
from fairret.metric.studentised_test import can_compare

Status: TypeAlias = Literal[
    "within", "violated", "undecided", "not measurable", "degenerate"
]
MODES = ("evidence", "assurance", "estimate")
MEASURES: dict[Kind, str] = {
    "max_violation": "the largest violation",
    "min_ratio": "the smallest ratio within a trait",
    "max_difference": "the largest difference within a trait",
}


@dataclass(frozen=True)
class Outcome:
    """Whether one notion keeps one limit."""

    notion: str
    kind: Kind
    limit: float
    estimate: float
    low: float
    high: float
    status: Status
    more_rows: int | None  # about how many would decide
    passed: bool
    text: str = ""


class Gate(NamedTuple):
    """The outcomes of a gate."""

    mode: str
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether every notion passes."""
        return all(outcome.passed for outcome in self.outcomes)


def judge(
    audit: Findings,
    limits: Mapping[str, float | None],
    *,
    mode: str,
    notions: Sequence[str] | None,
) -> Gate:
    """Compare the decisions of the last model with limits; see :meth:`Audit.gate`."""
    check_limits(limits, mode)
    outcomes = [
        _outcome(audit, section, cast("Kind", kind), limit, mode)
        for section in _chosen(audit, notions)
        for kind, limit in limits.items()
        if limit is not None
    ]
    return Gate(mode, tuple(outcomes))


def check_limits(
    limits: Mapping[str, float | None], mode: str, *, option: bool = False
) -> None:
    """Require a known mode, and at least one limit; each must be in its range.

    A violation may exceed 1, for example that of FN / FP. From 2 on, a limit is taken
    for a percentage.

    Args:
        limits: The limits.
        mode: The mode.
        option: Whether to name options of the command line in messages.

    Raises:
        ArgumentError: If there is no limit.
        DtypeError: If a limit is no number.
        NameNotFoundError: If the mode is unknown.
        RangeError: If a limit is out of range.
    """
    if mode not in MODES:
        raise NameNotFoundError(
            f"`{'--gate' if option else 'mode'}` must be one of {', '.join(MODES)}; "
            f"got {mode!r}."
        )
    if all(limit is None for limit in limits.values()):
        raise ArgumentError(
            "A gate needs a limit; got none. Pass `--max-violation 0.2`, `--min-ratio "
            "0.8` or `--max-difference 0.1` (in Python: `max_violation=0.2` etc.)."
        )
    for kind, limit in limits.items():
        name = f"--{kind.replace('_', '-')}" if option else kind
        given: object = limit
        if isinstance(given, bool) or not isinstance(given, Real | None):
            raise DtypeError(
                f"`{name}` must be a number; got {limit!r}. For example, pass 0.2 for "
                "20%."
            )
        if limit is None or (0 <= limit <= 1 and (limit > 0 or kind != "min_ratio")):
            continue
        if kind == "max_violation" and 1 < limit < PERCENT:
            continue
        hint = meant_share(limit, "For example, pass 0.2 for 20%.")
        required = "a share between 0 and 1"
        if kind == "max_violation":
            required = f"at least 0 and below {PERCENT}"
        raise RangeError(f"`{name}` must be {required}; got {limit:g}. {hint}")


def needs_notions() -> ArgumentError:
    """Explain why a gate must name its notions."""
    return ArgumentError(
        "A gate must name its notions, as in `--notion pr` (in Python: `notions`). The "
        "default notions cannot all hold at once if base rates differ, so a gate on "
        "all of them would reject every model."
    )


def _chosen(audit: Findings, notions: Sequence[str] | None) -> list[Section]:
    if notions is None:
        if not audit.settings.notions_named:
            raise needs_notions()
        return list(audit.sections)
    notions = [notions] if isinstance(notions, str) else list(notions)
    if not notions:
        raise needs_notions()
    sections = [audit.section(name) for name in notions]
    return list({section.name: section for section in sections}.values())


def _outcome(
    audit: Findings, section: Section, kind: Kind, limit: float, mode: str
) -> Outcome:
    estimate, low, high = _bounds(audit, section, kind)
    status: Status
    more: int | None = None
    if audit.degenerate:
        status = "degenerate"
    elif math.isnan(estimate):
        status = "not measurable"
    elif mode == "estimate":
        status = "within" if keeps(kind, estimate, limit) else "violated"
    elif keeps(kind, low, limit) and keeps(kind, high, limit):
        status = "within"
    elif not (keeps(kind, low, limit) or keeps(kind, high, limit)):
        status = "violated"
    else:
        status = "undecided"
        more = _more_rows(audit.settings.rows, (estimate, low, high), limit)
    passed = status == "within" or (status == "undecided" and mode == "evidence")
    found = Outcome(
        section.name, kind, limit, estimate, low, high, status, more, passed
    )
    return replace(found, text=_text(audit, section, found))


def _bounds(
    audit: Findings, section: Section, kind: Kind
) -> tuple[float, float, float]:
    """Measure a notion: the worst statistic, for the estimate and both ends.

    All are NaN if one of the statistics is unknown, or compares no groups.
    """
    found = []
    for part in section.parts:
        if kind == "max_violation":
            own = part.decisions.largest_violation
        elif kind == "max_difference":
            own = part.decisions.difference_bounds
        else:
            own = part.ratio(part.decisions, favourable=audit.settings.favourable)
        found.append([float(x) for x in own])
    unknown = any(math.isnan(own[0]) for own in found)
    if unknown or not all(_compares(part.decisions) for part in section.parts):
        return math.nan, math.nan, math.nan
    worst = min if kind == "min_ratio" else max
    estimate, low, high = (worst(ends) for ends in zip(*found, strict=True))
    return estimate, low, high


def _compares(result: ParityResult) -> bool:
    """Whether groups are compared with others, not with themselves."""
    return can_compare(result.judged.tolist(), result.traits.values())


def _more_rows(
    rows: int, measured: tuple[float, float, float], limit: float
) -> int | None:
    """Estimate how many more rows would move an end of the interval past the limit."""
    estimate, low, high = measured
    below, above = estimate - low, high - estimate
    half = below if estimate > limit else above
    if low == 0 or high == 1:  # an end at the boundary is not informative
        half = max(below, above)
    if same(estimate, limit) or not math.isfinite(half):
        return None
    factor = (half / (limit - estimate)) ** 2
    more = rows * (factor - 1)
    if not 0 < more < 1e12:
        return None
    return rounded_up(more)


def _why(section: Section, kind: Kind) -> str:
    """Explain why a notion cannot be measured."""
    if not section.decisions.can_be_judged:
        return reason(section)
    for part in section.parts:
        if not part.decisions.can_be_judged:
            least = f"{part.decisions.min_size:g}"
            return (
                f"{part.notion.title.lower()} has no group with {least} rows that count"
            )
    if kind == "min_ratio" and float(section.decisions.difference_bounds.high) >= 0:
        return "the statistic of everybody is zero"
    least = f"{section.decisions.min_size:g}"
    return f"no two groups of a trait have {least} rows that count"


def _measure(audit: Findings, section: Section, kind: Kind) -> str:
    """Name what a limit is about; if a yes is a harm, also the shares of a ratio."""
    if kind != "min_ratio" or audit.settings.favourable:
        return MEASURES[kind]
    shares = [
        "share of people without a flag"
        if part.name == SELECTION  # see `Part.ratio`
        else part.notion.measure
        for part in section.parts
    ]
    return f"{MEASURES[kind]} of the {' and the '.join(shares)}"


def _text(audit: Findings, section: Section, found: Outcome) -> str:
    """Describe an outcome."""
    notion = section.parts[0].notion
    relative = found.kind == "max_violation" or notion.unit == "share"

    def write(value: float, digits: int) -> str:
        if found.kind == "min_ratio":
            return f"{value:.{digits + 1}f}"
        if relative:
            return percent(value, digits)
        return number(value, notion, digits)

    for digits in range(1, MOST_DIGITS + 1):  # enough to tell it from its limit
        texts = write(found.estimate, digits), write(found.limit, digits)
        if texts[0] != texts[1] or same(found.estimate, found.limit):
            break

    def shown(value: float) -> str:
        return write(value, digits)

    limit = f"limit {shown(found.limit)}"
    if found.status == "not measurable":
        return (
            f"{section.title}: not measurable, which is not a pass: "
            f"{_why(section, found.kind)}."
        )
    measured = f"{_measure(audit, section, found.kind)} is {shown(found.estimate)}"
    if found.status == "degenerate":
        known = "" if math.isnan(found.estimate) else f"; {measured} ({limit})"
        return (
            f"{section.title}: not passed, because almost everybody gets the same "
            f"decision{known}."
        )
    sure = confidence(audit.settings.confidence)
    interval = f"{sure} interval {shown(found.low)} to {shown(found.high)}, {limit}"
    more = ""
    if found.status == "undecided":
        more = (
            f" (about {found.more_rows:,} more rows would decide)"
            if found.more_rows
            else " (no number of rows would decide soon)"
        )
        if math.isinf(found.high):
            more = f" ({UNBOUNDED})"
        more += "" if found.passed else ", which is not a pass"
    few = list(dict.fromkeys(group.name for _, group in section.too_few))
    text = f"{section.title}: {found.status}{more}; {measured} ({interval})."
    return f"{text} Too few to judge: {first_few(few)}." if few else text
