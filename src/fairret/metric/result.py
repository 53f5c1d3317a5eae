"""The result of one notion: every group's statistic, and parity as a whole."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.errors import ArgumentError
from fairret.metric.delta_method import (
    NotionMoments,
    covariance,
    enough_rows,
    standard_error,
)
from fairret.metric.evidence import Evidence
from fairret.metric.group_value import GroupValue, group_values
from fairret.metric.parity_test import (
    Deviation,
    ParityTest,
    deviation,
    noise_floor,
    wald_test,
)
from fairret.metric.relative import mean_square_violation
from fairret.metric.simultaneous_intervals import (
    Bounds,
    Intervals,
    difference_intervals,
    ratio_intervals,
)
from fairret.metric.studentised_test import StudentisedTest
from fairret.metric.wilson import interval
from fairret.statistic.sums import Sums
from fairret.statistic.violation import norm, smooth_max, violation

SAME_DECISION = 0.01  # share of the rarer decision below which a model is degenerate
OF_BASE_RATE = 0.2  # unless positives are as rare: then this share of theirs


class Measurement(NamedTuple):
    """What a result is computed from."""

    notion: str  # name of what was measured
    part_names: tuple[str, ...]  # of the K statistics
    names: tuple[str, ...]  # of the d_s groups
    traits: dict[str, tuple[int, ...]]  # the groups of each trait
    members: Tensor  # (d_s + 1,): of everybody and of every group
    moments: NotionMoments
    decided: Tensor  # (3,): sums of w h, w and w y
    confidence: float  # of intervals, and that a fair model has no group beyond chance
    min_size: float  # rows that must count for a group to be judged
    stacked: bool  # whether results have a dimension for the K statistics


class ParityResult:
    r"""How far a statistic is from being equal in all groups, and how certain that is.

    Vectors have one entry per group, in the order of `names`; those of a stack are
    `(K, d_s)`. Everything is in float64 on the CPU.

    Args:
        data: The sums, with their names and settings.
        evidence: Tests and intervals of these and other statistics, if shared.
        place: Which statistic of the evidence is the first of these.
    """

    def __init__(
        self, data: Measurement, evidence: Evidence | None = None, place: int = 0
    ) -> None:
        self.notion, self.part_names, self.names, self.traits = data[:4]
        self.members, self.moments, self._decided = data[4:7]
        self.confidence, self.min_size, self.stacked = data[7:]
        self._data, self._place = data, place
        self._evidence = evidence or Evidence(
            self.moments.apart, self.confidence, self.min_size
        )

    @cached_property
    def studentised(self) -> StudentisedTest:
        """The studentised test of every group, `(K, d_s)` each."""
        return StudentisedTest(*(x[self._rows] for x in self._evidence.test))

    @cached_property
    def intervals(self) -> Intervals:
        """Simultaneous intervals of the violations, `(K, d_s)`, and of the largest."""
        found = self._evidence.intervals
        return Intervals(*(Bounds(*(x[self._rows] for x in own)) for own in found))

    @property
    def count(self) -> Tensor:
        """Members of every group, `(d_s,)`."""
        return self.members[1:]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.members[0])

    @property
    def statistic(self) -> Tensor:
        r"""The statistic :math:`\gamma(k; h)` of every group, or NaN."""
        values = self.moments.gamma[:, 1:].masked_fill(~self._estimable, torch.nan)
        return self._shaped(values)

    @property
    def overall(self) -> Tensor:
        r"""The overall statistic, :math:`\bar\gamma(h)`: `()`, stacked `(K,)`."""
        return self._shaped(self.moments.gamma[:, 0])

    @property
    def standard_error(self) -> Tensor:
        """Standard error of every group's statistic."""
        return self._of_groups(standard_error(self.moments))

    @property
    def low(self) -> Tensor:
        """Lower end of every group's confidence interval."""
        return self._of_groups(interval(self.moments, self.confidence)[0])

    @property
    def high(self) -> Tensor:
        """Upper end of every group's confidence interval."""
        return self._of_groups(interval(self.moments, self.confidence)[1])

    @property
    def estimable(self) -> Tensor:
        """Whether any row of a group is counted."""
        return self._shaped(self._estimable)

    @property
    def violation(self) -> Tensor:
        r"""Every group's :math:`v_k = |\gamma_k / \bar\gamma - 1|` (Eq. 9), or NaN."""
        return self._shaped(self._violation.masked_fill(~self._estimable, torch.nan))

    @property
    def judged(self) -> Tensor:
        """Whether a group has enough counted rows for a verdict."""
        return self._shaped(self.studentised.judged)

    @property
    def p_value(self) -> Tensor:
        r"""Every group's p-value, adjusted for the number of groups; NaN if not judged.

        It is the probability that the largest :math:`|z|` of a fair model is at least
        the group's.
        """
        return self._shaped(self.studentised.p_value)

    @property
    def group_beyond_chance(self) -> Tensor:
        """Which groups deviate from parity by more than chance explains."""
        return self._shaped(self.studentised.beyond)

    @property
    def covariance(self) -> Tensor:
        """Covariance of the groups' statistics, `(d_s, d_s)` or `(K, d_s, K, d_s)`."""
        cov = covariance(self.moments)[:, 1:, :, 1:]
        return cov if self.stacked else cov[0, :, 0]

    @property
    def max_violation(self) -> Tensor:
        """The largest violation, `()`; NaN if no group is estimable."""
        return self._number(self._violation.amax())

    @property
    def difference(self) -> Tensor:
        """The largest statistic minus the smallest within a trait, `()`.

        It is that of the worst trait and, in a stack, of the worst statistic. Without
        traits, all groups are compared with each other. Groups count however few their
        rows are; `difference_bounds` is about the judged ones.
        """
        high, low = self._extremes()
        return self._number((high - low).amax())

    @property
    def ratio(self) -> Tensor:
        """The smallest statistic divided by the largest within a trait, `()`.

        It is that of the worst trait and, in a stack, of the worst statistic. The
        four-fifths rule asks for at least 0.8. Groups count however few their rows are;
        `ratio_bounds` is about the judged ones, as are the ratios of an audit.
        """
        high, low = self._extremes()
        share = torch.where(high == low, 1.0, low / high)  # 0 / 0 is parity
        return self._number(share.nan_to_num(nan=math.inf).amin())

    @cached_property
    def largest_violation(self) -> Bounds:
        """The largest violation of the judged groups, with [L, U], `()` each.

        The interval covers the largest violation in the population with probability
        `confidence`. All are NaN if no group is judged.
        """
        return _worst(self.intervals.largest)

    @cached_property
    def difference_bounds(self) -> Bounds:
        """The `difference` of the judged groups, with its interval, `()` each."""
        return self._largest(difference_intervals)

    @cached_property
    def ratio_bounds(self) -> Bounds:
        """The `ratio` of the judged groups, with its interval, `()` each."""
        estimate, low, high = self._largest(ratio_intervals)  # of |log ratio|
        return Bounds((-estimate).exp(), (-high).exp(), (-low).exp())

    @cached_property
    def violation_beyond_chance(self) -> Tensor:
        r"""The typical violation, without the contribution of chance, `()`.

        .. math::
            \sqrt{\max\left(0, \sum_k q_k (v_k^2 - \mathrm{Var}\,v_k)\right)}

        where :math:`q_k` is the group's share of the counted rows of its trait,
        averaged over traits and over the statistics of a stack. Apart from the cut at
        0, the square is unbiased, so tables of different sizes can be compared.
        """
        judged = self.studentised.judged
        square = mean_square_violation(self.moments, self._families, judged)
        return square.nanmean().clamp_min(0).sqrt()

    @property
    def norm(self) -> Tensor:
        """The 1-norm of the violations, the value of `NormLoss` (Def. 7), `()`."""
        return self._number(norm(self._violation, 1))

    @property
    def smooth_max(self) -> Tensor:
        """The smooth maximum of the violations, the value of `SmoothMaxLoss`, `()`."""
        return self._number(smooth_max(self._violation))

    @cached_property
    def test(self) -> ParityTest:
        """Wald test that all judged groups have the overall statistic."""
        judged = self._deviation.estimable & self.studentised.judged
        return wald_test(self._deviation._replace(estimable=judged))

    @cached_property
    def noise_floor(self) -> Tensor:
        """Quantile of the `max_violation` of a fair model on rows like these, `()`.

        The rarest group sets it, so do not judge by it: `beyond_chance` compares every
        group with its own standard error.
        """
        return noise_floor(self._deviation, self.confidence)

    @property
    def beyond_chance(self) -> bool:
        """Whether a group deviates from parity by more than chance explains."""
        return bool(self.studentised.beyond.any())

    @property
    def can_be_judged(self) -> bool:
        """Whether any group has enough rows."""
        return bool(self.studentised.judged.any())

    @cached_property
    def too_few(self) -> tuple[str, ...]:
        """Names of the groups that have too few rows to be judged in some statistic."""
        few = ~(self._estimable & enough_rows(self.moments, self.min_size)).all(0)
        return tuple(name for name, here in zip(self.names, few, strict=True) if here)

    @property
    def positive_rate(self) -> float:
        """Mean score, or share of positive decisions, of everybody."""
        yes, weight, _ = self._decided.tolist()
        return yes / weight if weight else math.nan

    @property
    def degenerate(self) -> bool:
        """Whether almost everybody gets the same score or decision.

        That is, the share of the rarer decision is below 1 %, and below a fifth of that
        of the rarer label.
        """
        _, weight, positives = self._decided.tolist()
        if not weight:
            return False
        base = min(positives, weight - positives) / weight
        limit = min(SAME_DECISION, OF_BASE_RATE * base) if base else SAME_DECISION
        return min(self.positive_rate, 1 - self.positive_rate) < limit

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats for a reader of the numbers, as sentences."""
        notes = []
        if self.degenerate:
            notes.append(
                f"The positive rate is {self.positive_rate:.2%}: almost everybody gets "
                "the same decision, so that equal statistics say little."
            )
        if self.too_few:
            notes.append(
                f"Too few rows to judge (fewer than {self.min_size:g} that count): "
                f"{', '.join(self.too_few)}."
            )
        return tuple(notes)

    @property
    def complement(self) -> "ParityResult":
        """The result for 1 minus a share, such as the rate of negative decisions."""
        notion, *parts = (f"1 - {name}" for name in (self.notion, *self.part_names))
        moments = self.moments.complement
        return ParityResult(
            self._data._replace(notion=notion, part_names=tuple(parts), moments=moments)
        )

    @property
    def parts(self) -> dict[str, "ParityResult"]:
        """The statistics of a stack one by one; a single one is its only part."""
        if not self.stacked:
            return {self.part_names[0]: self}
        first, second, excess = self.moments
        results = {}
        for j, name in enumerate(self.part_names):
            own = NotionMoments(first[[j]], second[[j]][:, :, [j]], excess[:, [j]])
            data = self._data._replace(
                notion=name, part_names=(name,), moments=own, stacked=False
            )
            results[name] = ParityResult(data, self._evidence, self._place + j)
        return results

    @property
    def by_trait(self) -> dict[str, "ParityResult"]:
        """The groups of each trait alone, with the same verdict."""
        return {trait: self._restrict(own) for trait, own in self.traits.items()}

    @property
    def groups(self) -> dict[str, GroupValue]:
        """Every group by name; for a stack, use one of its `parts`."""
        return {value.name: value for value in self._values[1:]}

    @property
    def everybody(self) -> GroupValue:
        """The overall statistic, with its uncertainty."""
        return self._values[0]

    def __repr__(self) -> str:
        return (
            f"ParityResult({self.notion!r}, n={self.n}, groups={len(self.names)}, "
            f"max_violation={self.max_violation:.4g}, "
            f"beyond_chance={self.beyond_chance}, p_value={self.test.p_value:.3g})"
        )

    @cached_property
    def _values(self) -> list[GroupValue]:
        if len(self.part_names) > 1:
            raise ArgumentError(
                "`groups` and `everybody` are of a single statistic; got a stack of "
                f"{len(self.part_names)}. Take one, as in "
                f"`result.parts[{self.part_names[0]!r}].groups`."
            )
        return group_values(self)

    def _restrict(self, columns: Sequence[int]) -> "ParityResult":
        groups = [0, *(1 + k for k in columns)]
        place = {k: at for at, k in enumerate(columns)}
        first, second, excess = self.moments
        second = second[..., groups, :][..., groups]
        moments = NotionMoments(first[..., groups], second, excess)
        traits = {
            trait: tuple(place[k] for k in own)
            for trait, own in self.traits.items()
            if place.keys() >= set(own)
        }
        data = self._data._replace(
            notion=self.notion if len(self.part_names) > 1 else self.part_names[0],
            names=tuple(self.names[k] for k in columns),
            traits=traits,
            members=self.members[groups],
            moments=moments,
        )
        whole = self.studentised._asdict().items()
        test = {key: x[:, list(columns)] for key, x in whole if key != "critical"}
        test["critical"] = self.studentised.critical
        settings = self.confidence, self.min_size
        evidence = Evidence(moments.apart, *settings, StudentisedTest(**test))
        return ParityResult(data, evidence)

    @property
    def _rows(self) -> slice:
        """Which statistics of the evidence these are."""
        return slice(self._place, self._place + len(self.part_names))

    @property
    def _families(self) -> list[Sequence[int]]:
        """Which groups to compare with each other."""
        return list(self.traits.values()) or [range(len(self.names))]

    @cached_property
    def _deviation(self) -> Deviation:
        return deviation(self.moments)

    @property
    def _estimable(self) -> Tensor:
        known = self.moments.estimable
        return known[:, 1:] & known[:, :1]

    @property
    def _violation(self) -> Tensor:
        """With 0 if not estimable, as in the losses."""
        num, den = self.moments.groups
        return violation(Sums(num[:, 1:], den[:, 1:]), Sums(num[:, 0], den[:, 0]))

    def _extremes(self) -> tuple[Tensor, Tensor]:
        """The extreme statistics within each trait, `(K, traits)`; ∓inf if none."""
        gamma, known = self.moments.gamma[:, 1:], self._estimable
        high, low = (
            gamma.masked_fill(~known, -math.inf),
            gamma.masked_fill(~known, math.inf),
        )
        traits = [list(own) for own in self._families]
        return (
            torch.stack([high[:, own].amax(-1) for own in traits], -1),
            torch.stack([low[:, own].amin(-1) for own in traits], -1),
        )

    def _largest(self, find: Callable[..., Intervals]) -> Bounds:
        """Bound the largest gap within traits; from 0 if parity is within chance."""
        judged = self.studentised.judged
        found = find(self.moments, self._families, judged, self.confidence)
        bounds = _worst(found.largest)
        if self.beyond_chance or bounds.low.isnan():
            return bounds
        return bounds._replace(low=torch.zeros_like(bounds.low))

    def _shaped(self, values: Tensor) -> Tensor:
        return values if self.stacked else values[0]

    def _of_groups(self, values: Tensor) -> Tensor:
        """Leave out everybody, with NaN for groups that are not estimable."""
        known = self.moments.estimable
        return self._shaped(values.masked_fill(~known, torch.nan)[:, 1:])

    def _number(self, value: Tensor) -> Tensor:
        return value if self._estimable.any() else torch.full_like(value, torch.nan)


def _worst(bounds: Bounds) -> Bounds:
    """The largest of the statistics of a stack, `()` each; NaN if none is judged."""
    known = ~bounds.estimate.isnan()
    if not known.any():
        return Bounds(*(x.new_tensor(math.nan) for x in bounds))
    return Bounds(*(x[known].amax() for x in bounds))
