r"""A tolerance on the statistics of decisions, written as linear constraints.

A statistic whose denominator does not depend on decisions (positive rate, recall,
accuracy) is itself linear in them. Any other is compared with a fixed number c, its
overall value, as in Prop. 1: :math:`N_k - c D_k` is linear.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.control.columns import Layout
from fairret.control.dual import Programme
from fairret.control.tolerance import Tolerance
from fairret.statistic.sums import Sums

LEVEL_SHARE = 0.2  # of the tolerance, by which the overall statistic may miss c
LEVEL_MOST = 0.01


class Level(NamedTuple):
    """Where the overall statistic is, if its denominator depends on decisions."""

    low: float
    high: float
    least: float  # what groups are compared with from below
    most: float  # and from above

    @classmethod
    def point(cls, c: float, distance: float) -> "Level":
        """A value c that groups are compared with."""
        width = abs(c) * min(LEVEL_MOST, distance * LEVEL_SHARE)
        return cls(c - width, c + width, c, c)

    @classmethod
    def interval(cls, low: float, high: float) -> "Level":
        """All values in an interval: what is infeasible for it is so for each."""
        return cls(low, high, low, high)


@dataclass(frozen=True)
class Notion:
    """One statistic with its tolerance; groups are those behind everybody."""

    part: int
    tolerance: Tolerance
    limit: Tensor  # (d_s,): distance allowed to each group; infinite where it is free
    slack: Tensor  # (d_s,): added to the limit, relative to the overall statistic
    traits: tuple[tuple[int, ...], ...]
    share: bool  # whether its values are between 0 and 1

    @property
    def constrained(self) -> Tensor:
        """Which groups have a limit, `(d_s,)`."""
        return self.limit.isfinite()

    @property
    def allowed(self) -> Tensor:
        """The distance from the overall statistic that each group may have."""
        return self.limit + self.slack

    def unit(self, task: "Task") -> float:
        """What a slack of 1 in all groups is, on the scale of the tolerance."""
        if self.tolerance.kind == "max_violation":
            return 1.0
        both = 2.0  # groups of a pair have a slack
        if self.tolerance.kind == "max_difference":
            return both * float(task.plain_statistics[self.part, 0])
        return both

    def excess(self, gamma: Tensor) -> float:
        r"""How far :math:`\gamma`, `(1 + d_s,)`, exceeds the tolerance.

        It is 0 or less if the tolerance is met.

        A statistic that is undefined in a constrained group counts as an excess of 1.
        """
        own = self.constrained
        if not own.any():
            return -torch.inf
        overall, each = gamma[0], gamma[1:]
        if not overall.isfinite() or not each[own].isfinite().all():
            return 1.0
        if self.tolerance.kind == "max_violation":
            v = violation(gamma)
            return float((v - self.allowed)[own].max())
        worst = -torch.inf
        for k in self.pairs:
            high = (each - self.slack * overall)[k].max()
            low = (each + self.slack * overall)[k].min()
            if self.tolerance.kind == "max_difference":
                found = high - low - self.tolerance.distance
            else:
                ratio = low / high if high > 0 else torch.ones(())
                found = self.tolerance.value - ratio
            worst = max(worst, float(found))
        return worst

    def distance(self, gamma: Tensor) -> Tensor:
        r"""The distance from parity that groups may have at :math:`\gamma`, `(d_s,)`.

        Of a pair, both groups have a slack, relative to the overall statistic:
        :math:`e + (r_k + r_l) \bar\gamma` for differences, and for ratios
        :math:`1 - \rho + (r_k + \rho r_l) \bar\gamma / \gamma_l` with the higher
        :math:`\gamma_l`. The largest of all pairs of a group counts.
        """
        allowed = self.allowed.clone()
        if self.tolerance.kind == "max_violation":
            return allowed
        overall, each = float(gamma[0]), gamma[1:].tolist()
        r, e = self.slack.tolist(), self.tolerance.distance
        for groups in self.pairs:
            for k in groups:
                found = []
                for j in set(groups) - {k}:
                    low, high = sorted((k, j), key=lambda x: each[x])
                    if self.tolerance.kind == "max_difference":
                        found.append(e + (r[k] + r[j]) * overall)
                    elif each[high] > 0:
                        more = (r[low] + (1 - e) * r[high]) * overall / each[high]
                        found.append(min(e + more, 1.0))
                allowed[k] = max(found, default=1.0)
        return allowed

    def exceeding(self, gamma: Tensor) -> list[int]:
        """The groups that exceed the tolerance, or that of a pair which does."""
        if self.tolerance.kind == "max_violation":
            over = violation(gamma) > self.allowed
            return [k for k in self.compared if over[k]]
        return self.compared if self.excess(gamma) > 0 else []

    @property
    def pairs(self) -> list[list[int]]:
        """The constrained groups of every trait that has two of them."""
        own = [[k for k in trait if self.constrained[k]] for trait in self.traits]
        return [k for k in own if len(k) > 1]

    @property
    def compared(self) -> list[int]:
        """The groups that the tolerance compares with others or with everybody."""
        if self.tolerance.kind == "max_violation":
            return [int(k) for k in self.constrained.nonzero()[:, 0]]
        return sorted({k for groups in self.pairs for k in groups})


def violation(gamma: Tensor) -> Tensor:
    r""":math:`|\gamma_k / \bar\gamma - 1|`; :math:`|\gamma_k|` if the overall is 0."""
    overall, each = gamma[..., :1], gamma[..., 1:]
    zero = overall == 0
    return torch.where(zero, each, each / overall.masked_fill(zero, 1) - 1).abs()


@dataclass
class _Rows:
    """Constraints as they are collected."""

    width: int
    matrix: list[Tensor] = field(default_factory=list)
    constant: list[float] = field(default_factory=list)
    level: list[tuple[int, float] | None] = field(default_factory=list)

    def add(
        self, row: Tensor, constant: float, level: tuple[int, float] | None = None
    ) -> None:
        self.matrix.append(row)
        self.constant.append(constant)
        self.level.append(level)


@dataclass(frozen=True)
class Task:
    """What a rule shall maximise, under which tolerance, on which rows."""

    gain: Tensor  # (n,)
    known: Tensor  # (p, n): columns that the rule has when it decides
    true: Tensor  # (p, n): columns from real groups and labels
    share: Tensor  # (n,)
    layout: Layout
    intercept: Sums  # of all parts, (J, 1 + d_s) each
    notions: tuple[Notion, ...]
    band: tuple[float, float]  # of the share of people who get a yes
    plain: Sums  # of the decisions without a tolerance, (J, 1 + d_s)

    def with_notions(self, notions: Sequence[Notion]) -> "Task":
        """The same with other tolerances."""
        return replace(self, notions=tuple(notions))

    def sample(self, size: int) -> "Task":
        """Take some rows, the same ones every time; sums stay those of all rows."""
        seed = torch.Generator().manual_seed(0)
        rows = torch.randperm(len(self.gain), generator=seed)[:size]
        share = self.share[rows]
        return replace(
            self,
            gain=self.gain[rows],
            known=self.known[:, rows],
            true=self.true[:, rows],
            share=share / share.sum(),
        )

    def sums(self, means: Tensor) -> Sums:
        """Add the means of the columns, `(p,)`, to the intercepts."""
        num, den = self.intercept.num.clone(), self.intercept.den.clone()
        for side in self.layout.sides:
            target = den if side.denominator else num
            target[side.part] += means[side.start : side.start + self.layout.groups]
        return Sums(num, den)

    def statistics(self, means: Tensor) -> Tensor:
        """Statistics of all parts, `(J, 1 + d_s)`; NaN where nobody counts."""
        num, den = self.sums(means)
        return torch.where(den == 0, torch.nan, num / den.masked_fill(den == 0, 1))

    def excess(self, gamma: Tensor) -> float:
        """How far the statistics of all parts, `(J, 1 + d_s)`, exceed the tolerance."""
        return max(notion.excess(gamma[notion.part]) for notion in self.notions)

    def is_linear(self, notion: Notion) -> bool:
        """Whether the denominator does not depend on decisions."""
        return self.layout.start(notion.part, denominator=True) is None

    def programme(self, level: dict[int, Level], tightness: float) -> Programme:
        """Write the linear programme.

        Args:
            level: Of every part whose denominator depends on decisions.
            tightness: Share of the tolerance that is used: below 1, so that a small
                error does not break it.
        """
        rows = _Rows(self.layout.width)
        levels = 0
        for notion in self.notions:
            if not self.is_linear(notion):
                self._add_fixed(rows, notion, level[notion.part], tightness)
            elif notion.tolerance.kind == "max_violation":
                self._add_violations(rows, notion, tightness)
            else:
                levels = self._add_pairs(rows, notion, tightness, levels)
        one = torch.zeros(self.layout.width, dtype=self.gain.dtype)
        one[-1] = 1
        rows.add(-one, self.band[0])
        rows.add(one, -self.band[1])
        free = torch.zeros(len(rows.level), levels, dtype=self.gain.dtype)
        for j, entry in enumerate(rows.level):
            if entry is not None:
                free[j, entry[0]] = entry[1]
        constant = torch.tensor(rows.constant, dtype=self.gain.dtype)
        return Programme(
            self.gain,
            self.known,
            self.share,
            torch.stack(rows.matrix),
            constant,
            free,
        )

    def first_levels(self) -> Tensor:
        """Where free levels start: in the middle of the statistics of their trait."""
        gamma = self.plain_statistics
        found = [
            (gamma[n.part, 1:][k].max() + gamma[n.part, 1:][k].min()) / 2
            for n in self.notions
            if self.is_linear(n) and n.tolerance.kind != "max_violation"
            for k in n.pairs
        ]
        return torch.stack(found) if found else self.gain.new_zeros(0)

    @property
    def plain_statistics(self) -> Tensor:
        """Statistics without a tolerance, `(J, 1 + d_s)`."""
        return self.plain.num / self.plain.den

    def _ratio(self, notion: Notion, k: int) -> tuple[Tensor, float]:
        r""":math:`\gamma_k` of a linear statistic: a row of the matrix, a constant."""
        row = torch.zeros(self.layout.width, dtype=self.gain.dtype)
        den = float(self.intercept.den[notion.part, k])
        start = self.layout.start(notion.part, denominator=False)
        if start is not None:
            row[start + k] = 1 / den
        return row, float(self.intercept.num[notion.part, k]) / den

    def _add_violations(self, rows: _Rows, notion: Notion, tightness: float) -> None:
        r""":math:`(1 - e) \bar\gamma \le \gamma_k \le (1 + e) \bar\gamma`."""
        overall, a_bar = self._ratio(notion, 0)
        for k in notion.compared:
            e = tightness * float(notion.allowed[k])
            own, a = self._ratio(notion, k + 1)
            rows.add(own - (1 + e) * overall, a - (1 + e) * a_bar)
            rows.add((1 - e) * overall - own, (1 - e) * a_bar - a)

    def _add_pairs(
        self, rows: _Rows, notion: Notion, tightness: float, levels: int
    ) -> int:
        r"""Bound the groups of a trait from both sides of one free level m.

        Differences: :math:`m \le \gamma_k \le m + e`; ratios:
        :math:`m \le \gamma_k \le m / \rho`.
        """
        overall = float(self.plain_statistics[notion.part, 0])
        e = tightness * notion.tolerance.distance
        rho = 1 - e if notion.tolerance.kind == "min_ratio" else 1.0
        width = e if notion.tolerance.kind == "max_difference" else 0.0
        for groups in notion.pairs:
            for k in groups:
                own, a = self._ratio(notion, k + 1)
                r = float(notion.slack[k]) * overall
                rows.add(rho * own, rho * (a - r) - width, (levels, -1.0))
                rows.add(-own, -a - r, (levels, 1.0))
            levels += 1
        return levels

    def _add_fixed(
        self, rows: _Rows, notion: Notion, level: Level, tightness: float
    ) -> None:
        r""":math:`l D_k \le N_k \le u D_k`, with l and u around c (Prop. 1)."""
        bounds = [(0, level.low, level.high)]
        e = tightness * notion.tolerance.distance
        for k in notion.compared:
            r = float(notion.slack[k])
            if notion.tolerance.kind == "max_violation":
                own = tightness * float(notion.allowed[k])
                low, high = level.least * (1 - own), level.most * (1 + own)
            elif notion.tolerance.kind == "max_difference":
                low = level.least * (1 - r) - e / 2
                high = level.most * (1 + r) + e / 2
            else:
                root = (1 - e) ** 0.5
                low, high = level.least * (root - r), level.most * (1 / root + r)
            bounds.append((k + 1, low, high))
        for k, low, high in bounds:
            unit = max(1.0, abs(level.least)) * float(self.plain.den[notion.part, k])
            num, a = self._half(notion, k, denominator=False)
            den, b = self._half(notion, k, denominator=True)
            if high < torch.inf:
                rows.add((num - high * den) / unit, (a - high * b) / unit)
            rows.add((low * den - num) / unit, (low * b - a) / unit)

    def _half(
        self, notion: Notion, k: int, *, denominator: bool
    ) -> tuple[Tensor, float]:
        """Numerator or denominator of one group: a row of the matrix, a constant."""
        row = torch.zeros(self.layout.width, dtype=self.gain.dtype)
        start = self.layout.start(notion.part, denominator=denominator)
        if start is not None:
            row[start + k] = 1
        side = self.intercept.den if denominator else self.intercept.num
        return row, float(side[notion.part, k])
