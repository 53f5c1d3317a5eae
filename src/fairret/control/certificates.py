"""What decisions promise for the population: a violation with its interval."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from fairret.control.tolerance import Kind, Tolerance
from fairret.errors import ArgumentError
from fairret.metric.rounding import at_least, at_most, percent

MEASURES: dict[Kind, str] = {
    "max_violation": "largest violation",
    "max_difference": "largest difference",
    "min_ratio": "smallest ratio",
}
TINY = 1e-300


@dataclass(frozen=True)
class CertifiedGap:
    """One group, or a pair of groups of a trait, with an interval for all at once."""

    notion: str
    groups: tuple[str, ...]
    estimate: float
    low: float
    high: float
    certified: bool  # whether enough rows count


@dataclass(frozen=True)
class Certificate:
    """Bounds of a violation, difference or ratio in the population.

    It is about `groups`: all, or those that have a limit of their own. `low` and `high`
    enclose it with the stated confidence. `bound` is the one-sided bound: an upper one,
    or a lower one of a ratio. All are NaN if some notion cannot be measured; `reasons`
    say why.
    """

    kind: Kind
    notions: tuple[str, ...]
    estimate: float
    low: float
    high: float
    bound: float
    confidence: float
    fitted: bool  # whether these rows fitted the rule
    n: int
    min_size: float
    gaps: tuple[CertifiedGap, ...]
    too_few: tuple[str, ...]  # groups that are not certified
    names: tuple[str, ...]  # of all groups
    groups: tuple[str, ...]  # that it is about
    reasons: tuple[str, ...]  # why nothing can be certified, if so

    def holds(self, tolerance: Tolerance) -> bool:
        """Whether the tolerance holds in the population, with this confidence.

        Groups that are not certified do not count; `too_few` names them. If no group
        counts that has a limit, nothing is known, so it does not hold.

        Raises:
            ArgumentError: If the certificate is of another kind than the tolerance, or
                not about all groups that the tolerance limits.
            NameNotFoundError: If the tolerance names a group that does not exist.
        """
        return self.excess(tolerance) <= 0

    def excess(self, tolerance: Tolerance) -> float:
        """By how much the bound exceeds the tolerance; 0 or less if it holds."""
        if tolerance.kind != self.kind:
            raise ArgumentError(
                f"This certificate is about `{self.kind}`; got a tolerance on "
                f"`{tolerance.kind}`. Pass `kind={tolerance.kind!r}` to `certificate`."
            )
        limits = tolerance.max_violation
        self._check_groups(tolerance)
        if math.isnan(self.bound):
            return math.inf
        if isinstance(limits, Mapping):
            own = [x for x in self.gaps if x.certified and x.groups[0] in limits]
            return max((self.excess_of(x, tolerance) for x in own), default=math.inf)
        if self.kind == "min_ratio":
            return tolerance.value - self.bound
        return self.bound - tolerance.value

    def excess_of(self, gap: CertifiedGap, tolerance: Tolerance) -> float:
        """By how much the interval of one gap exceeds the tolerance."""
        if not gap.certified:
            return -math.inf
        if self.kind == "min_ratio":
            return tolerance.value - gap.low
        limit = tolerance.max_violation
        if isinstance(limit, Mapping):
            return gap.high - limit.get(gap.groups[0], math.inf)
        return gap.high - tolerance.value

    def rows_needed(self, tolerance: Tolerance) -> float:
        """Estimate how many rows would certify the same decisions, as far as known.

        Intervals shrink with the root of the number of rows. Infinite if the estimate
        itself exceeds the tolerance; NaN if nothing is certified.
        """
        if self.reasons:
            return math.nan
        shares = [1.0]
        for gap in self.gaps:
            excess = self.excess_of(gap, tolerance)
            if excess <= 0:
                continue
            at, end, limit = gap.estimate, gap.high, gap.high - excess
            if self.kind == "min_ratio":
                ratios = gap.estimate, gap.low, tolerance.value
                at, end, limit = (-math.log(max(x, TINY)) for x in ratios)
            shares.append((end - at) / (limit - at) if limit > at else math.inf)
        return self.n * max(shares) ** 2

    def _check_groups(self, tolerance: Tolerance) -> None:
        """Refuse a tolerance on groups that the certificate is not about."""
        tolerance.check_names(self.names)
        limits = tolerance.max_violation
        limited = limits if isinstance(limits, Mapping) else self.names
        missing = [name for name in limited if name not in self.groups]
        if missing:
            raise ArgumentError(
                f"This certificate is about {', '.join(self.groups)}; the tolerance "
                f"also limits {', '.join(missing)}. Pass all of them to `certificate` "
                "as `groups`."
            )

    def to_dict(self) -> dict[str, object]:
        """All fields as plain values."""
        return asdict(self)

    def to_json(self) -> str:
        """All fields as JSON; NaN is null."""
        return json.dumps(plain(self.to_dict()), indent=2)

    def __str__(self) -> str:
        of = f"({' and '.join(self.notions)})"
        if len(self.groups) < len(self.names):
            of += f" of {', '.join(self.groups)}"
        rows = "rows that fitted the rule" if self.fitted else "held-out rows"
        if self.reasons:
            lines = [f"Nothing can be certified: {'; '.join(self.reasons)}."]
        else:
            lines = [
                f"With {percent(self.confidence)} confidence, the "
                f"{MEASURES[self.kind]} {of} in the population is between "
                f"{at_least(self.low)} and {at_most(self.high)}.",
                f"The estimate is {self.estimate:.3f}, on {self.n:,} {rows}.",
            ]
        if self.too_few:
            lines.append(
                f"Not certified, with fewer than {self.min_size:g} counted rows: "
                f"{', '.join(self.too_few)}."
            )
        return "\n".join(lines)


def plain(x: object) -> object:
    """Replace what JSON has not: NaN and infinity become None, tuples lists."""
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    if isinstance(x, Mapping):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [plain(v) for v in x]
    return x
