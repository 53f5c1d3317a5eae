"""The result of an audit: as sentences, as a table, for machines, as a page."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairret.auditing.notions import Notion
from fairret.checks import check_positive
from fairret.errors import MissingExtraError
from fairret.metric.result import GroupValue, Measured, ParityResult

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Settings:
    """What was audited, and how."""

    source: str
    rows: int
    score: str
    label: str | None
    weight: str | None
    threshold: float
    logits: bool
    confidence: float
    positive: str | None  # the label that counts as 1
    hard: bool  # whether the scores are decisions already
    min_size: float
    left: Mapping[str, int]  # rows without a score, label or weight
    missing: Mapping[str, int]  # rows without a value, by trait
    dropped: Mapping[str, float]  # intersections that are too small


class Part(NamedTuple):
    """One statistic in scores and decisions."""

    name: str
    notion: Notion
    measured: Measured

    @property
    def decisions(self) -> ParityResult:
        """The result for decisions."""
        assert self.measured.decisions is not None  # an audit has a threshold
        return self.measured.decisions


class Section(NamedTuple):
    """A notion: one statistic, or several that should be equal at once."""

    name: str
    title: str
    measured: Measured
    parts: tuple[Part, ...]

    @property
    def decisions(self) -> ParityResult:
        """The result for decisions."""
        assert self.measured.decisions is not None  # an audit has a threshold
        return self.measured.decisions

    @property
    def farthest(self) -> tuple[Part, GroupValue] | None:
        """The group with the largest violation of decisions."""
        found = [
            (part, group)
            for part in self.parts
            for group in part.decisions.groups.values()
            if group.estimable and not math.isnan(group.violation)
        ]
        return max(found, key=lambda pair: pair[1].violation, default=None)


class Audit:
    """How a model's decisions and scores treat groups of people.

    It prints as one sentence for each notion and shows itself as a page in a notebook.

    Args:
        sections: The notions.
        settings: What was audited, and how.
    """

    def __init__(self, sections: tuple[Section, ...], settings: Settings) -> None:
        self.sections = sections
        self.settings = settings

    @property
    def results(self) -> dict[str, Measured]:
        """The results of every notion by its name, for scores and decisions."""
        return {section.name: section.measured for section in self.sections}

    def verdict(self, section: Section) -> str:
        """Say in one sentence whether a gap is beyond chance."""
        found = section.farthest
        if found is None:
            return f"{section.title}: nothing to compare, for nobody is counted."
        part, group = found
        overall = float(part.decisions.overall)
        floor = float(section.decisions.noise_floor)
        beyond = section.decisions.beyond_chance
        return (
            f"{section.title}: the {part.notion.measure} is "
            f"{number(group.statistic, part.notion)} for {group.name} and "
            f"{number(overall, part.notion)} overall, a violation of "
            f"{group.violation:.0%}; a fair model of this size would stay below "
            f"{floor:.0%} {self.settings.confidence:.0%} of the time, so this is "
            f"{'beyond' if beyond else 'within'} chance."
        )

    def above(self, limit: float) -> list[Section]:
        """Give the notions whose decisions have a violation above a limit."""
        check_positive("limit", limit, "Pass 0.2 for 20 %, say.")
        return [x for x in self.sections if float(x.decisions.max_violation) > limit]

    def __str__(self) -> str:
        return "\n".join(map(self.verdict, self.sections))

    def __repr__(self) -> str:
        names = ", ".join(section.name for section in self.sections)
        return f"Audit({self.settings.source}, rows={self.settings.rows}, {names})"

    def _repr_html_(self) -> str:
        from fairret.auditing.page import fragment

        return fragment(self)

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page."""
        from fairret.auditing.page import page

        target = Path(path)
        target.write_text(page(self), encoding="utf-8")
        return target

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, None where there is no number."""
        from fairret import __version__

        plain: dict[str, Any] = _plain(
            {
                "fairret": __version__,
                "settings": asdict(self.settings),
                "notions": [_section_dict(section) for section in self.sections],
            }
        )
        return plain

    def to_json(self) -> str:
        """Give everything as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_frame(self) -> pd.DataFrame:
        """Give a row for every notion, channel and group."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError(
                "`to_frame` needs pandas, which is not installed. Run `pip install "
                "'fairret[frames]'`."
            ) from None
        rows = [
            {"notion": part.name, "of": of, **asdict(group)}
            for section in self.sections
            for part in section.parts
            for of, result in _channels(part.measured)
            for group in (result.everybody, *result.groups.values())
        ]
        return pd.DataFrame(rows).rename(columns={"name": "group"})


def number(value: float, notion: Notion) -> str:
    """Write a statistic as a reader expects it."""
    if math.isnan(value):
        return "–"
    return f"{value:.1%}" if notion.unit == "share" else f"{value:.3g}"


def _channels(measured: Measured) -> list[tuple[str, ParityResult]]:
    found = [("scores", measured.scores), ("decisions", measured.decisions)]
    return [(of, result) for of, result in found if result is not None]


def _section_dict(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        **{of: _numbers(result) for of, result in _channels(section.measured)},
        "statistics": [
            {
                "name": part.name,
                "measure": part.notion.measure,
                **{of: _part_dict(result) for of, result in _channels(part.measured)},
            }
            for part in section.parts
        ],
    }


def _numbers(result: ParityResult) -> dict[str, Any]:
    return {
        "max_violation": float(result.max_violation),
        "noise_floor": float(result.noise_floor),
        "beyond_chance": result.beyond_chance,
        "difference": float(result.difference),
        "ratio": float(result.ratio),
        "norm": float(result.norm),
        "smooth_max": float(result.smooth_max),
        "test": {
            "statistic": float(result.test.statistic),
            "df": int(result.test.df),
            "p_value": float(result.test.p_value),
        },
    }


def _part_dict(result: ParityResult) -> dict[str, Any]:
    return {
        "overall": asdict(result.everybody),
        "groups": [asdict(group) for group in result.groups.values()],
        "traits": {
            trait: {
                "max_violation": float(own.max_violation),
                "difference": float(own.difference),
                "ratio": float(own.ratio),
                "p_value": float(own.test.p_value),
            }
            for trait, own in result.by_trait.items()
        },
    }


def _plain(value: Any) -> Any:
    """Replace numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
