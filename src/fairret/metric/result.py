"""What a metric tells of one notion: every group's statistic, and parity as a whole."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.errors import ArgumentError
from fairret.loss.violation import norm, smooth_max
from fairret.metric.moments import Moments, of_notion
from fairret.metric.uncertainty import (
    Departure,
    NotionMoments,
    ParityTest,
    covariance,
    departure,
    group_noise_floor,
    interval,
    noise_floor,
    rows_that_count,
    standard_error,
    wald_test,
)
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import name_of
from fairret.statistic.sums import Sums, violation

EVERYBODY = "everybody"


@dataclass(frozen=True)
class GroupValue:
    """A statistic of one group."""

    name: str
    count: float  # of members; of memberships, where these are soft
    counted: float  # rows that the statistic rests on, as positives do for recall
    statistic: float
    standard_error: float
    low: float  # of the confidence interval
    high: float
    violation: float  # |statistic / overall - 1| (Eq. 9)
    noise_floor: float  # what a fair model's violation stays below in this group
    estimable: bool  # else nobody counts, and all of these are NaN

    @property
    def beyond_chance(self) -> bool:
        """Whether the group is farther off than its size explains."""
        return self.violation > self.noise_floor


class ParityResult:
    r"""How far a statistic is from being equal in all groups, and how sure that is.

    Vectors have an entry for every group, in the order of `names`; those of a stack are
    `(K, d_s)`. Everything is in float64 on the CPU.

    Args:
        notion: Name of what was measured.
        part_names: Names of the K statistics.
        names: Names of the d_s groups.
        traits: For every trait, which groups belong to it.
        count: Members of everybody and of every group, `(d_s + 1,)`.
        moments: The sums.
        confidence: Of intervals and noise floors.
        stacked: Whether the results have a dimension for the K statistics.
    """

    def __init__(
        self,
        notion: str,
        part_names: Sequence[str],
        names: Sequence[str],
        traits: Mapping[str, Sequence[int]],
        count: Tensor,
        moments: NotionMoments,
        *,
        confidence: float,
        stacked: bool,
    ) -> None:
        self.notion = notion
        self.part_names = tuple(part_names)
        self.names = tuple(names)
        self.traits = {trait: tuple(columns) for trait, columns in traits.items()}
        self.confidence = confidence
        self.stacked = stacked
        self._count = count
        self._moments = moments

    def _shaped(self, values: Tensor) -> Tensor:
        return values if self.stacked else values[0]

    @property
    def count(self) -> Tensor:
        """Members of every group, `(d_s,)`."""
        return self._count[1:]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._count[0])

    @property
    def statistic(self) -> Tensor:
        r"""The statistic :math:`\gamma(k; h)` of every group, or NaN."""
        values = self._moments.gamma[:, 1:].masked_fill(~self._estimable, torch.nan)
        return self._shaped(values)

    @property
    def overall(self) -> Tensor:
        r"""The statistic of everybody, :math:`\bar\gamma(h)`: `()`, stacked `(K,)`."""
        return self._shaped(self._moments.gamma[:, 0])

    @property
    def standard_error(self) -> Tensor:
        """Standard error of every group's statistic."""
        return self._shaped(self._errors[:, 1:])

    @property
    def low(self) -> Tensor:
        """Lower end of every group's confidence interval."""
        return self._shaped(self._interval[0][:, 1:])

    @property
    def high(self) -> Tensor:
        """Upper end of every group's confidence interval."""
        return self._shaped(self._interval[1][:, 1:])

    @property
    def estimable(self) -> Tensor:
        """Whether anybody counts in a group."""
        return self._shaped(self._estimable)

    @property
    def violation(self) -> Tensor:
        r"""Every group's :math:`v_k = |\gamma_k / \bar\gamma - 1|` (Eq. 9), or NaN."""
        return self._shaped(self._violation.masked_fill(~self._estimable, torch.nan))

    @property
    def group_noise_floor(self) -> Tensor:
        """The violation that each group of a fair model stays below."""
        return self._shaped(group_noise_floor(self._departure, self.confidence))

    @property
    def covariance(self) -> Tensor:
        """Covariance of the groups' statistics, `(d_s, d_s)` or `(K, d_s, K, d_s)`."""
        cov = covariance(self._moments)[:, 1:, :, 1:]
        return cov if self.stacked else cov[0, :, 0]

    @property
    def max_violation(self) -> Tensor:
        """The largest violation, `()`; NaN if no group is estimable."""
        return self._overall_number(self._violation.amax())

    @property
    def difference(self) -> Tensor:
        """The largest statistic minus the smallest, `()`; the worst one of a stack."""
        high = self._among_estimable(-math.inf).amax(-1)
        low = self._among_estimable(math.inf).amin(-1)
        return self._overall_number((high - low).amax())

    @property
    def ratio(self) -> Tensor:
        """The smallest statistic divided by the largest, `()`; the worst of a stack.

        The four-fifths rule asks for at least 0.8.
        """
        high = self._among_estimable(-math.inf).amax(-1)
        low = self._among_estimable(math.inf).amin(-1)
        share = torch.where(high == low, 1.0, low / high)  # 0 / 0 is parity
        share = share.masked_fill(~self._estimable.any(-1), math.inf)
        return self._overall_number(share.amin())

    @property
    def norm(self) -> Tensor:
        """The 1-norm of the violations, the value of `NormLoss` (Def. 7), `()`."""
        return self._overall_number(norm(self._violation, 1))

    @property
    def smooth_max(self) -> Tensor:
        """The smooth maximum of the violations, the value of `SmoothMaxLoss`, `()`."""
        return self._overall_number(smooth_max(self._violation))

    @cached_property
    def test(self) -> ParityTest:
        """Wald test that all groups have the overall statistic."""
        return wald_test(self._departure)

    @cached_property
    def noise_floor(self) -> Tensor:
        """What a fair model's `max_violation` stays below on rows like these, `()`.

        It does so with the probability `confidence`.
        """
        return noise_floor(self._departure, self.confidence)

    @property
    def beyond_chance(self) -> bool:
        """Whether the largest violation is above the noise floor."""
        return bool(self.max_violation > self.noise_floor)

    @property
    def parts(self) -> dict[str, "ParityResult"]:
        """The statistics of a stack one by one; a single one is its only part."""
        return {
            name: self._restrict([j], range(1, len(self.names) + 1), stacked=False)
            for j, name in enumerate(self.part_names)
        }

    @property
    def by_trait(self) -> dict[str, "ParityResult"]:
        """The result for the groups of each trait alone."""
        every = range(len(self.part_names))
        return {
            trait: self._restrict(every, [1 + k for k in columns], self.stacked)
            for trait, columns in self.traits.items()
        }

    @property
    def groups(self) -> dict[str, GroupValue]:
        """Every group by name; of a stack, take one of the `parts` first."""
        return {value.name: value for value in self._values()[1:]}

    @property
    def everybody(self) -> GroupValue:
        """The overall statistic, with its uncertainty."""
        return self._values()[0]

    def __repr__(self) -> str:
        return (
            f"ParityResult({self.notion!r}, n={self.n}, groups={len(self.names)}, "
            f"max_violation={self.max_violation:.4g}, "
            f"noise_floor={self.noise_floor:.4g}, p_value={self.test.p_value:.3g})"
        )

    def _values(self) -> list[GroupValue]:
        if len(self.part_names) > 1:
            raise ArgumentError(
                "`groups` and `everybody` are of a single statistic; got a stack of "
                f"{len(self.part_names)}. Take one, as in "
                f"`result.parts[{self.part_names[0]!r}].groups`."
            )
        nan = torch.full((1,), torch.nan, dtype=torch.float64)
        floor = group_noise_floor(self._departure, self.confidence)[0]
        known = self._moments.estimable[0]
        columns = {
            "counted": rows_that_count(self._moments)[0],
            "statistic": self._moments.gamma[0],
            "standard_error": self._errors[0],
            "low": self._interval[0][0],
            "high": self._interval[1][0],
            "violation": torch.cat((torch.zeros_like(nan), self._violation[0])),
            "noise_floor": torch.cat((nan, floor)),
        }
        table = {
            field: values.masked_fill(~known, torch.nan).tolist()
            for field, values in columns.items()
        }
        return [
            GroupValue(
                name=name,
                count=float(self._count[k]),
                estimable=bool(known[k]),
                **{field: values[k] for field, values in table.items()},
            )
            for k, name in enumerate((EVERYBODY, *self.names))
        ]

    def _restrict(
        self, parts: Sequence[int], columns: Sequence[int], stacked: bool
    ) -> "ParityResult":
        groups = [0, *columns]
        first, second, excess = self._moments
        second = second[parts][:, :, parts][..., groups, :][..., groups]
        place = {k - 1: at for at, k in enumerate(columns)}
        name = self.notion if len(parts) > 1 else self.part_names[parts[0]]
        return ParityResult(
            name,
            [self.part_names[j] for j in parts],
            [self.names[k - 1] for k in columns],
            {
                trait: [place[k] for k in own]
                for trait, own in self.traits.items()
                if place.keys() >= set(own)
            },
            self._count[groups],
            NotionMoments(first[parts][..., groups], second, excess[:, parts]),
            confidence=self.confidence,
            stacked=stacked,
        )

    @property
    def _estimable(self) -> Tensor:
        known = self._moments.estimable
        return known[:, 1:] & known[:, :1]

    @cached_property
    def _departure(self) -> Departure:
        return departure(self._moments)

    @cached_property
    def _errors(self) -> Tensor:
        known = self._moments.estimable
        return standard_error(self._moments).masked_fill(~known, torch.nan)

    @cached_property
    def _interval(self) -> tuple[Tensor, Tensor]:
        known = self._moments.estimable
        low, high = interval(self._moments, self.confidence)
        return low.masked_fill(~known, torch.nan), high.masked_fill(~known, torch.nan)

    @property
    def _violation(self) -> Tensor:
        """With 0 where not estimable, as the losses have it."""
        num, den = self._moments.groups
        return violation(Sums(num[:, 1:], den[:, 1:]), Sums(num[:, 0], den[:, 0]))

    def _among_estimable(self, otherwise: float) -> Tensor:
        return self._moments.gamma[:, 1:].masked_fill(~self._estimable, otherwise)

    def _overall_number(self, value: Tensor) -> Tensor:
        return value if self._estimable.any() else torch.full_like(value, torch.nan)


class Measured(NamedTuple):
    """One notion in scores and in the decisions made of them (Remark 3)."""

    scores: ParityResult
    decisions: ParityResult | None  # None without a threshold


def results_of(
    total: Moments,
    notions: Sequence[LinearFractionalStatistic],
    *,
    names: Sequence[str],
    traits: Mapping[str, Sequence[int]],
    confidence: float,
) -> dict[str, Measured]:
    """Read every notion off the sums of scores and, as second channel, decisions."""
    sizes = [len(notion.parts) for notion in notions]
    results = {}
    for j, notion in enumerate(notions):
        own = of_notion(total, sizes, j)
        channels = [
            ParityResult(
                name_of(notion),
                [name_of(part) for part in notion.parts],
                names,
                traits,
                total.members,
                NotionMoments(*(x[channel] for x in own)),
                confidence=confidence,
                stacked=notion.stacked,
            )
            for channel in range(len(total.first))
        ]
        decisions = channels[1] if len(channels) > 1 else None
        results[name_of(notion)] = Measured(channels[0], decisions)
    return results
