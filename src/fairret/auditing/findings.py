"""The findings of an audit, as data: what was audited, and every notion's results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fairret.auditing.curves import Curves
from fairret.auditing.notions import Notion
from fairret.auditing.promise import Promise
from fairret.auditing.source import Source
from fairret.errors import FairretError, NameNotFoundError
from fairret.metric.compute import Measured
from fairret.metric.group_value import GroupValue
from fairret.metric.paired_test import PairedTest
from fairret.metric.result import ParityResult
from fairret.metric.simultaneous_intervals import Bounds
from fairret.statistic import get_statistic
from fairret.statistic.registry import get_name

SELECTION = "pr"  # the statistic of the four-fifths rule


@dataclass(frozen=True)
class Model:
    """A model that is audited."""

    name: str
    score: str
    threshold: float
    hard: bool  # whether the scores are decisions already


@dataclass(frozen=True)
class Settings:
    """What was audited, and how."""

    name: str | None  # of the model or system
    date: str
    source: str
    rows: int
    models: tuple[Model, ...]
    label: str | None
    positive: str | None  # the label that counts as 1
    weight: str | None
    logits: bool
    favourable: bool  # whether a positive decision benefits a person
    confidence: float
    min_size: float  # rows that must count for a group to be judged
    notions_named: bool  # whether the user chose the notions
    left: Mapping[str, int]  # rows without a score, label or weight
    missing: Mapping[str, int]  # rows without a value, by trait
    dropped: Mapping[str, float]  # intersections that are too small


@dataclass(frozen=True, eq=False)
class Results:
    """The results of all models, for scores and decisions."""

    name: str
    measured: tuple[Measured, ...]

    def result(self, model: int = -1, of: str = "decisions") -> ParityResult:
        """Return the result of a model, by default of the last."""
        found: ParityResult = getattr(self.measured[model], of)
        return found

    @property
    def decisions(self) -> ParityResult:
        """The result for the decisions of the last model."""
        return self.result()


@dataclass(frozen=True, eq=False)
class Part(Results):
    """One statistic."""

    notion: Notion
    change: tuple[PairedTest, ...] | None  # of scores and decisions, with two models

    def change_p_values(self, of: str = "decisions") -> dict[str, float]:
        """Return the p-value of each group's change between two models."""
        if self.change is None:
            return {}
        found = self.change[of == "decisions"]
        return dict(zip(self.decisions.names, found.p_value[0].tolist(), strict=True))

    def changed(self, of: str = "decisions") -> list[str]:
        """Return the groups whose change between two models is beyond chance."""
        if self.change is None:
            return []
        beyond = self.change[of == "decisions"].beyond[0]
        pairs = zip(self.decisions.names, beyond, strict=True)
        return [name for name, is_beyond in pairs if is_beyond]

    def ratio(self, result: ParityResult, *, favourable: bool) -> Bounds:
        """Compare the lowest with the highest statistic of a trait.

        The four-fifths rule is about the share of people with the better outcome: if a
        positive decision is a harm, that is the share without one.
        """
        flip = self.name == SELECTION and not favourable
        return (result.complement if flip else result).ratio_bounds


class Found(NamedTuple):
    """A group, and the statistic in which it was found."""

    part: Part
    group: GroupValue


@dataclass(frozen=True, eq=False)
class Section(Results):
    """A notion: one statistic, or several that should be equal at once."""

    title: str
    parts: tuple[Part, ...]

    @property
    def groups(self) -> list[Found]:
        """All groups of the last model, in every statistic."""
        return [
            Found(part, group)
            for part in self.parts
            for group in part.decisions.groups.values()
        ]

    @property
    def judged(self) -> list[Found]:
        """The groups of the last model that are judged."""
        return [found for found in self.groups if found.group.judged]

    @property
    def strongest(self) -> Found | None:
        """The group with the strongest evidence of a gap in decisions."""

        def evidence(found: Found) -> tuple[float, float]:
            # two groups that make up everybody have the same |z| up to rounding
            return round(abs(found.group.z), 6), found.group.violation

        return max(self.judged, key=evidence, default=None)

    @property
    def worst(self) -> Found | None:
        """The judged group with the largest violation."""
        return max(self.judged, key=lambda x: x.group.violation, default=None)

    @property
    def largest(self) -> Found | None:
        """The group with the largest violation beyond chance; if none is, the worst."""
        beyond = [found for found in self.judged if found.group.beyond_chance]
        return max(beyond, key=lambda x: x.group.violation, default=self.worst)

    @property
    def too_few(self) -> list[Found]:
        """The groups with too few rows to be judged, but some that count."""
        return [
            Found(part, group)
            for part, group in self.groups
            if group.estimable and group.name in part.decisions.too_few
        ]

    def ratio(
        self, *, favourable: bool, model: int = -1, of: str = "decisions"
    ) -> Bounds:
        """Return the smallest ratio within a trait of all statistics."""
        found = [
            part.ratio(part.result(model, of), favourable=favourable)
            for part in self.parts
        ]
        known = [x for x in found if not math.isnan(float(x.estimate))]
        if not known:
            return found[0]
        return Bounds(*(min(ends) for ends in zip(*known, strict=True)))


@dataclass(frozen=True, eq=False)
class Findings:
    """All that an audit found.

    With two models, results are those of the last one unless stated otherwise.

    Args:
        sections: The notions.
        settings: What was audited, and how.
        base_rates: The share of positives in every group, if there are labels.
        curves: Computes curves over thresholds and scores.
        sources: Where the rows come from.
        identifiers: Traits that may be identifiers instead of amounts.
        promise: The tolerance that the decisions were fitted to keep, if there is one.
    """

    sections: tuple[Section, ...]
    settings: Settings
    base_rates: ParityResult | None
    curves: Curves
    sources: tuple[Source, ...] = ()
    identifiers: tuple[str, ...] = ()
    promise: Promise | None = None

    @property
    def results(self) -> dict[str, Measured]:
        """The results of every notion by name, for scores and decisions."""
        return {section.name: section.measured[-1] for section in self.sections}

    @property
    def models(self) -> dict[str, dict[str, Measured]]:
        """The results of every model by name."""
        return {
            model.name: {x.name: x.measured[j] for x in self.sections}
            for j, model in enumerate(self.settings.models)
        }

    @cached_property
    def sha256(self) -> dict[str, str]:
        """The hash of each file that was read, by name.

        Raises:
            DataFileError: If a file has changed since.
        """
        found = {source.description: source.sha256 for source in self.sources}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def degenerate(self) -> bool:
        """Whether almost everybody gets the same decision."""
        return self.sections[0].decisions.degenerate

    def section(self, notion: str) -> Section:
        """Find a notion by any of its names, such as "pr" or "dp".

        Raises:
            NameNotFoundError: If it was not measured.
        """
        by_name = {section.name: section for section in self.sections}
        try:
            name = get_name(get_statistic(notion))
        except FairretError:  # a statistic of the user, or a typing error
            name = notion
        if name not in by_name:
            raise NameNotFoundError(
                f"`notions` of a gate or ratio must be among those of the audit; got "
                f"{notion!r}, and there are {', '.join(by_name)}."
            )
        return by_name[name]

    def ratio(self, notion: str) -> Bounds:
        """Compare the lowest with the highest group of a trait, as the page does.

        It is the number of the page, the gate and the JSON, with its interval: that of
        the judged groups of the worst trait. If a positive decision is a harm, that of
        "pr" compares the shares of people without one. To compare all groups, however
        few their rows, read `results[notion].decisions.ratio`.

        Raises:
            NameNotFoundError: If the notion was not measured.
        """
        return self.section(notion).ratio(favourable=self.settings.favourable)

    def is_promised(self, section: Section) -> bool:
        """Whether a tolerance was stated for a notion."""
        names = [part.name for part in section.parts]
        return self.promise is not None and self.promise.covers(names)
