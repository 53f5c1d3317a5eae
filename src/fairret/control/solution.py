"""What a solved task says: the rule, its statistics, and what it could not do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from fairret.control.certificates import MEASURES, Certificate
from fairret.control.certify import certificate
from fairret.control.performance import Performance, measure_performance
from fairret.control.rows import Array, FitRows
from fairret.control.rule import Rule
from fairret.control.scores import warn_if_fitted_to, warn_if_too_good
from fairret.control.solve import Iterate
from fairret.control.task import Notion, Task, violation
from fairret.control.tolerance import Tolerance
from fairret.metric.rounding import at_least, at_most, percent
from fairret.statistic.registry import get_name

Status: TypeAlias = Literal["met", "missed", "infeasible"]
Treatment: TypeAlias = Literal["constrained", "relaxed", "too few rows", "free"]


class GroupOutcome(NamedTuple):
    """One statistic of one group, on the rows that fitted the rule."""

    notion: str
    name: str
    counted: float  # rows behind the statistic, before the rule
    statistic: float
    violation: float
    allowed: float  # distance from parity; infinite without a limit
    treatment: Treatment


@dataclass(frozen=True, repr=False)
class Solution:
    """A rule, and how its decisions do on the rows that fitted it.

    `status` is "met" if the decisions are within the tolerance and the band of
    positive rates; "infeasible" if no decisions can be, which is then proved; and
    "missed" otherwise. `reachable` is the smallest tolerance that a rule met, where
    the stated one was not.
    """

    rule: Rule
    status: Status
    found: Iterate
    task: Task
    rows: FitRows
    counted: Tensor  # (J, d_s)
    reachable: float | None = None
    confidence: float | None = None  # with which the tolerance holds in the population

    @property
    def label(self) -> Tensor:
        """Labels of the fit rows."""
        return self.rows.label

    @property
    def tolerance(self) -> Tolerance:
        """The tolerance that was stated."""
        return self.task.notions[0].tolerance

    def certificate(self, confidence: float = 0.95) -> Certificate:
        """Bound the violation in the population from the rows that fitted the rule.

        If groups have limits of their own, it is about these groups. The
        bounds hold if the scores of these rows are out-of-fold or held-out. If they
        look too good for that, there is a warning.
        """
        warn_if_too_good(self.rows.eta, self.rows.label, self.rows.weight)
        return self.certify_fit(confidence)

    def certify_fit(self, confidence: float) -> Certificate:
        """The same without a look at the scores."""
        return self._certify(
            self.decisions,
            self.rows.sens,
            self.rows.label,
            self.rows.weight,
            confidence,
            self.rows.inputs,
            fitted=True,
        )

    def certificate_on(
        self,
        eta: Array,
        sens: Array,
        label: Array,
        *,
        q: tuple[Array, Array] | None = None,
        weight: Array | None = None,
        confidence: float = 0.95,
        **inputs: object,
    ) -> Certificate:
        """Bound the violation in the population from held-out rows.

        Warns if the scores of the fit rows are better than those of the held-out rows,
        as those of an overfitted model are on its training rows.

        Args:
            eta: Scores of the held-out rows, as in the fit.
            sens: Memberships, which a blind rule does not decide with.
            label: Labels.
            q: :math:`E[S | x, y]` for y = 0 and y = 1, for a blind rule.
            weight: Sample weights.
            confidence: Of the interval.
            **inputs: Further inputs of the statistic.
        """
        own = sens if self.rule.informed else None
        f = self.rule.decide(eta, q=q, sens=own, **inputs)
        warn_if_fitted_to(self.rows, eta, label)
        return self._certify(f, sens, label, weight, confidence, inputs, fitted=False)

    def _certify(
        self,
        decisions: Tensor,
        sens: Array,
        label: Array,
        weight: Array | None,
        confidence: float,
        inputs: Mapping[str, object],
        *,
        fitted: bool,
    ) -> Certificate:
        options: dict[str, Any] = dict(inputs)
        limits = self.tolerance.max_violation
        return certificate(
            decisions,
            sens,
            label,
            notion=self.rule.statistic,
            kind=self.tolerance.kind,
            weight=weight,
            names=self.rule.names,
            traits=self.rows.traits,
            groups=limits if isinstance(limits, Mapping) else None,
            confidence=confidence,
            fitted=fitted,
            **options,
        )

    @cached_property
    def decisions(self) -> Tensor:
        """Decisions on the fit rows, `(n,)`: 1 for yes, 0 for no."""
        cost = self.found.price @ self.task.known
        return (self.task.gain - cost > 0).to(self.task.gain)

    @property
    def statistics(self) -> Tensor:
        """Statistics of all parts, `(J, 1 + d_s)`, everybody first."""
        return self.found.statistics

    @property
    def max_violation(self) -> float:
        r"""Largest :math:`|\gamma_k / \bar\gamma - 1|` of constrained groups."""
        largest = 0.0
        for notion in self.task.notions:
            v = violation(self.statistics[notion.part])[notion.compared]
            largest = max(largest, float(v.max()) if len(v) else 0.0)
        return largest

    @property
    def rate(self) -> float:
        """Share of people who get a yes."""
        return self.found.rate

    @property
    def accuracy(self) -> float:
        """Share of decisions that equal the label."""
        return self.performance.accuracy

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the accuracy among positives and among negatives."""
        return self.performance.balanced_accuracy

    @cached_property
    def performance(self) -> Performance:
        """Accuracy, balanced accuracy and positive rate."""
        return measure_performance(self.decisions, self.label, self.task.share)

    @cached_property
    def groups(self) -> tuple[GroupOutcome, ...]:
        """Every group under every notion."""
        return tuple(
            GroupOutcome(
                get_name(self.rule.statistic.parts[notion.part]),
                name,
                float(self.counted[notion.part, k]),
                float(self.statistics[notion.part, k + 1]),
                float(violation(self.statistics[notion.part])[k]),
                float(allowed),
                self._treatment(notion, k),
            )
            for notion in self.task.notions
            for k, (name, allowed) in enumerate(
                zip(
                    self.rule.names,
                    notion.distance(self.statistics[notion.part]),
                    strict=True,
                )
            )
        )

    def _treatment(self, notion: Notion, k: int) -> Treatment:
        if k in notion.compared:
            return "relaxed" if notion.slack[k] > 0 else "constrained"
        stated = notion.tolerance.per_group(self.rule.names)[k]
        if stated < torch.inf and not notion.constrained[k]:
            return "too few rows"
        return "free"

    @property
    def met_on_rows(self) -> bool:
        """Whether the fit rows keep the tolerance, even if it is not assured."""
        near = self.confidence is not None and self._is_met(self.tolerance)
        return self.status == "met" or near

    def _is_met(self, stated: Tolerance) -> bool:
        """Whether the fit rows keep a tolerance, with or without the margin."""
        one_for_all = stated.is_single and not self._beyond(stated)
        return self.found.met or one_for_all

    def _beyond(self, stated: Tolerance) -> bool:
        """Whether small groups exceed what was stated."""
        if not stated.is_single:
            return False
        over = self.value - stated.value
        return (-over if stated.kind == "min_ratio" else over) > 1e-9

    @property
    def value(self) -> float:
        """The largest violation or difference, or the smallest ratio of a trait."""
        kind = self.task.notions[0].tolerance.kind
        if kind == "max_violation":
            return self.max_violation
        found = []
        for notion in self.task.notions:
            each = self.statistics[notion.part][1:]
            for groups in notion.pairs:
                low, high = float(each[groups].min()), float(each[groups].max())
                ratio = low / high if high > 0 else 1.0
                found.append(high - low if kind == "max_difference" else -ratio)
        return abs(max(found, default=float("nan")))

    def _value_in_words(self, stated: Tolerance) -> str:
        """The value, rounded away from a limit that it misses."""
        if self._is_met(stated):
            return f"{round(self.value, 12):.3f}"
        return (at_least if stated.kind == "min_ratio" else at_most)(self.value)

    def _assurance_in_words(self, stated: Tolerance, confidence: float) -> str:
        sure = f"with {percent(confidence)} confidence"
        if self.status == "met":
            return f"It holds in the population {sure}."
        words = f"It is not assured for the population {sure}"
        found = self.certify_fit(confidence)
        if found.reasons:
            return f"{words}: {'; '.join(found.reasons)}."
        outwards = at_least if stated.kind == "min_ratio" else at_most
        words += f": the bound is {outwards(found.bound)}."
        needed = found.rows_needed(stated)
        if math.isinf(needed):
            return words
        rows = f"{math.ceil(needed):,} rows would be needed"
        return f"{words} About {rows} instead of {found.n:,}."

    def __repr__(self) -> str:
        return (
            f"Solution(status={self.status!r}, max_violation={self.max_violation:.4f}, "
            f"accuracy={self.accuracy:.4f}, rate={self.rate:.4f})"
        )

    def __str__(self) -> str:
        return "\n".join(self._sentences())

    def _sentences(self) -> list[str]:
        """Say in words what was reached, for whom, and for whom not."""
        first = self.task.notions[0].tolerance
        stated = first.in_words
        assured = self.confidence is not None
        head = {
            "met": f"The tolerance ({stated}) is met on the fit rows",
            "missed": f"The tolerance ({stated}) was not met on the fit rows",
            "infeasible": f"No decisions can meet the tolerance ({stated})",
        }["met" if self.met_on_rows else self.status]
        if self.status == "met" and self._beyond(first):
            head += ", up to chance"
        if self.met_on_rows and self.status != "met":
            head += ", but is not assured"
        lines = [
            f"{head}: the {MEASURES[first.kind]} is {self._value_in_words(first)}.",
            f"Accuracy {self.accuracy:.3f}, balanced accuracy "
            f"{self.balanced_accuracy:.3f}, positive rate {self.rate:.3f} "
            f"(allowed: {self.task.band[0]:.3f} to {self.task.band[1]:.3f}).",
        ]
        if self.confidence is not None:
            lines.append(self._assurance_in_words(first, self.confidence))
        if self.reachable is not None:
            margin = "with the margin that this needs, " if assured else ""
            words = f"{margin}the smallest tolerance that a rule met is"
            lines.append(f"{words[0].upper()}{words[1:]} {self.reachable:.3g}.")
        relaxed = [g for g in self.groups if g.treatment == "relaxed"]
        if relaxed:
            ratio = first.kind == "min_ratio"
            each = ", ".join(
                f"{self._name(g)} {1 - g.allowed if ratio else g.allowed:.3f}"
                for g in relaxed
            )
            lines.append(
                "Groups with too few rows to show the tolerance have a wider one, "
                f"which chance explains: {each}. `adapt=False` (`--strict`) leaves all "
                "groups the stated one."
            )
        few = [g for g in self.groups if g.treatment == "too few rows"]
        if few:
            each = ", ".join(f"{self._name(g)} ({g.counted:.0f} rows)" for g in few)
            lines.append(f"Too few rows to constrain: {each}.")
        return lines

    def _name(self, group: GroupOutcome) -> str:
        """Name a group, with the notion if there are several."""
        several = len(self.task.notions) > 1
        return f"{group.name} for {group.notion}" if several else group.name
