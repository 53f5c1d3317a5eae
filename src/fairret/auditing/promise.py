"""A tolerance that decisions were fitted to keep, and what they reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fairret.auditing.limits import Kind, keeps, same
from fairret.metric.rounding import round_down, round_up

MEASURES: dict[Kind, str] = {
    "max_violation": "largest violation",
    "max_difference": "largest difference of two groups of a trait",
    "min_ratio": "smallest ratio of two groups of a trait",
}
MOST_DIGITS = 4


class Reached(NamedTuple):
    """What decisions reach: a violation, difference or ratio, and how good they are."""

    value: float
    low: float  # in the population, at the stated confidence
    high: float
    accuracy: float
    balanced_accuracy: float
    rate: float  # of people who get a yes


class CurvePoint(NamedTuple):
    """Decisions under another tolerance."""

    mode: str  # "blind" or "informed"
    tolerance: float
    met: bool
    reached: Reached


class Curve:
    """What other tolerances would cost; computed when it is first read."""

    def __init__(self, compute: Callable[[], Sequence[CurvePoint]]) -> None:
        self._compute = compute

    @cached_property
    def points(self) -> tuple[CurvePoint, ...]:
        """The points, from loose to strict tolerances."""
        return tuple(self._compute())

    def __getstate__(self) -> dict[str, Any]:
        return {"points": self.points}  # not the rows behind them


@dataclass(frozen=True, eq=False)
class Promise:
    """A stated tolerance, and the decisions without and with the rule that keeps it.

    Args:
        statistics: Names of the statistics that the tolerance is about.
        kind: What is limited.
        limit: The limit; one per group if it is a mapping.
        met: Whether the decisions keep it on the rows of the audit.
        confidence: Of the certificate.
        bound: One-sided bound of the certificate.
        assured: Whether the tolerance holds in the population, with this confidence.
        broken: Whether it does not hold there, with this confidence.
        required: Whether it was to hold there.
        reasons: Why nothing can be certified, if so.
        rows: How many and which rows were measured, in words.
        before: The decisions without the rule.
        after: The decisions of the rule.
        notes: Groups with another tolerance, or without one.
        mode: "blind" or "informed".
        curve: What other tolerances would cost, if that is known.
    """

    statistics: tuple[str, ...]
    kind: Kind
    limit: float | Mapping[str, float]
    met: bool
    confidence: float
    bound: float
    assured: bool
    rows: str
    before: Reached
    after: Reached
    notes: tuple[str, ...] = ()
    mode: str = "blind"
    curve: Curve | None = None
    broken: bool = False
    required: bool = False
    reasons: tuple[str, ...] = ()

    @property
    def strictest(self) -> float:
        """The limit; the smallest, if groups have their own."""
        limit = self.limit
        return min(limit.values()) if isinstance(limit, Mapping) else limit

    @property
    def measure(self) -> str:
        """What is limited, in words."""
        named = " of the named groups" if isinstance(self.limit, Mapping) else ""
        return MEASURES[self.kind] + named

    @property
    def small_groups(self) -> bool:
        """Whether small groups exceed the limit, although it counts as met."""
        if isinstance(self.limit, Mapping):
            most = max(self.limit.values())
            return self.met and not keeps(self.kind, self.after.value, most)
        return self.met and not self.keeps(self.after.value)

    @property
    def status(self) -> str:
        """Whether the tolerance is met, in words."""
        if not self.met:
            return "not met"
        if self.required and not self.assured:
            return "met on these rows, but not assured"
        return "met, up to chance" if self.small_groups else "met"

    @property
    def missed(self) -> bool:
        """Whether less was reached than was asked for."""
        return not self.met or (self.required and not self.assured)

    def keeps(self, value: float) -> bool:
        """Whether a number is within the limit, but for rounding."""
        return keeps(self.kind, value, self.strictest)

    def covers(self, statistics: Sequence[str]) -> bool:
        """Whether the tolerance is about all of these statistics."""
        return set(statistics) <= set(self.statistics)

    @property
    def asked(self) -> str:
        """The limit in words."""
        word = "at least" if self.kind == "min_ratio" else "at most"
        if isinstance(self.limit, Mapping):
            each = [f"{name} {self._short(x)}" for name, x in self.limit.items()]
            return f"{word}: {', '.join(each)}"
        return f"{word} {self._short(self.limit)}"

    def _short(self, limit: float) -> str:
        return f"{limit:g}" if self.kind == "min_ratio" else f"{100 * limit:.6g}%"

    def write(
        self, value: float, outwards: Callable[[float, int], float] = round
    ) -> str:
        """Write a violation, difference or ratio, distinct from the limit.

        Args:
            value: The number.
            outwards: How to round a bound, so that it does not say more than is known.
        """
        if math.isnan(value):
            return "–"
        limit = self.strictest
        for digits in range(1, MOST_DIGITS + 1):
            texts = [
                _write(self.kind, value, digits, outwards),
                _write(self.kind, limit, digits, round),
            ]
            if texts[0] != texts[1] or same(value, limit):
                break
        return texts[0]

    def ends(self, reached: Reached) -> tuple[str, str]:
        """Write the ends of the interval in the population, rounded outwards."""
        return self.write(reached.low, round_down), self.write(reached.high, round_up)

    @property
    def outcome(self) -> str:
        """What was asked and reached, in a sentence."""
        after, asked = self.write(self.after.value), self.asked
        text = f"The tolerance is {self.status}. The {self.measure} was to be {asked}"
        if self.small_groups:
            text += f", and is {after} with the rule if small groups are counted, on"
            return f"{text} {self.rows}."
        return f"{text}, and is {after} with the rule on {self.rows}."

    @property
    def mark(self) -> str:
        """The status as a character."""
        if self.missed:
            return "✗"
        return "~" if self.small_groups else "✓"

    @property
    def population(self) -> str:
        """What is certain about people beyond these rows, in a sentence."""
        sure = f"{100 * self.confidence:.6g}%"
        if math.isnan(self.after.high):
            why = self.reasons or ("no group has enough rows that count",)
            return f"Nothing can be certified: {'; '.join(why)}."
        low, high = self.ends(self.after)
        text = (
            f"Certificate: with {sure} confidence, the {self.measure} in the "
            f"population is between {low} and {high}."
        )
        word, outwards = "at most", round_up
        if self.kind == "min_ratio":
            word, outwards = "at least", round_down
        if self.assured:
            shown = f"It is {word} {self.write(self.bound, outwards)}"
            if isinstance(self.limit, Mapping):
                shown = "Each of them is within its own limit"
            return (
                f"{text} {shown} with the same confidence, so the tolerance holds in "
                "the population, too."
            )
        if self.broken:
            return f"{text} So the tolerance does not hold in the population."
        text += " So it is not certain that the tolerance holds in the population."
        if self.required:
            return text
        return f"{text} To require that, fit with the option confidence."


def _write(
    kind: Kind, value: float, digits: int, rounded: Callable[[float, int], float]
) -> str:
    if math.isinf(value):
        return "∞"
    if kind == "min_ratio":
        return f"{rounded(value, digits + 1):.{digits + 1}f}"
    return f"{rounded(value, digits + 2):.{digits}%}"
