"""An audit as plain values: for JSON, whose schema is beside this file, and frames."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fairret import __version__
from fairret.auditing.findings import Findings, Part, Section
from fairret.auditing.gate import Gate
from fairret.auditing.promise import Promise
from fairret.auditing.wording import notes, status, too_few, verdict
from fairret.errors import missing_extra
from fairret.metric.result import ParityResult

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
CHANNELS = ("scores", "decisions")


def schema() -> dict[str, Any]:
    """Read the JSON Schema of :func:`as_dict`."""
    text = (files("fairret.auditing") / "schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def as_dict(audit: Findings, gate: Gate | None) -> dict[str, Any]:
    """Return everything as plain values, None if there is no number."""
    base = audit.base_rates
    content = {
        "schema": SCHEMA_VERSION,
        "fairret": __version__,
        "settings": {**asdict(audit.settings), "sha256": audit.sha256},
        "notes": notes(audit),
        "degenerate": audit.degenerate,
        "base_rates": None if base is None else [base.everybody, *base.groups.values()],
        "notions": [_section(audit, section) for section in audit.sections],
        "gate": None if gate is None else {"passed": gate.passed, **gate._asdict()},
        "promise": None if audit.promise is None else _promise(audit.promise),
    }
    plain: dict[str, Any] = _plain(content)
    return plain


def _promise(promise: Promise) -> dict[str, Any]:
    """Describe a tolerance and what was reached; without the curve."""
    names = ("statistics", "kind", "limit", "met", "confidence", "bound", "assured")
    return {
        **{name: getattr(promise, name) for name in names},
        "before": promise.before,
        "after": promise.after,
        "text": [promise.outcome, promise.population, *promise.notes],
    }


def as_frame(audit: Findings) -> pd.DataFrame:
    """Return one row per model, notion, channel and group."""
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("`to_frame` needs", "pandas", "frames") from None
    rows = [
        {"model": model.name, "notion": part.name, "of": of, **asdict(group)}
        for section in audit.sections
        for part in section.parts
        for j, model in enumerate(audit.settings.models)
        for of in CHANNELS
        for result in [part.result(j, of)]
        for group in (result.everybody, *result.groups.values())
    ]
    return pd.DataFrame(rows).rename(columns={"name": "group"})


def _section(audit: Findings, section: Section) -> dict[str, Any]:
    favourable = audit.settings.favourable
    strongest, largest = section.strongest, section.largest
    content: dict[str, Any] = {
        "name": section.name,
        "title": section.title,
        "verdict": {
            "status": status(section),
            "text": verdict(audit, section),
            "too_few": too_few(section),
            "strongest_evidence": None if strongest is None else strongest.group.name,
            "largest_gap": None if largest is None else largest.group.name,
        },
        **_measured(section, -1, favourable),
    }
    if len(section.measured) > 1:
        content["before"] = _measured(section, 0, favourable)
        content["change"] = [_change(part) for part in section.parts]
    return content


def _measured(section: Section, model: int, favourable: bool) -> dict[str, Any]:
    """Describe a notion in one of the models."""
    content: dict[str, Any] = {}
    for of in CHANNELS:
        result = section.result(model, of)
        content[of] = {
            **_attributes(
                result,
                *("max_violation", "beyond_chance", "largest_violation"),
                *("violation_beyond_chance", "noise_floor", "norm", "smooth_max"),
            ),
            "difference": result.difference_bounds,
            "ratio": section.ratio(favourable=favourable, model=model, of=of),
            "test": result.test,
        }
    content["statistics"] = [
        {
            "name": part.name,
            "measure": part.notion.measure,
            **{of: _part(part, part.result(model, of), favourable) for of in CHANNELS},
        }
        for part in section.parts
    ]
    return content


def _part(part: Part, result: ParityResult, favourable: bool) -> dict[str, Any]:
    return {
        "overall": result.everybody,
        "groups": list(result.groups.values()),
        "traits": {
            trait: {
                **_attributes(own, "beyond_chance", "too_few", "max_violation"),
                "largest_violation": own.largest_violation,
                "difference": own.difference_bounds,
                "ratio": part.ratio(own, favourable=favourable),
                "test": own.test,
            }
            for trait, own in result.by_trait.items()
        },
    }


def _attributes(result: ParityResult, *names: str) -> dict[str, Any]:
    return {name: getattr(result, name) for name in names}


def _change(part: Part) -> dict[str, Any]:
    """Describe the change of each group between two models."""
    content: dict[str, Any] = {"name": part.name}
    for of, change in zip(CHANNELS, part.change or (), strict=True):
        fields = {field: x[0].tolist() for field, x in change._asdict().items()}
        fields["beyond_chance"] = fields.pop("beyond")  # as for groups elsewhere
        content[of] = {
            "beyond_chance": any(fields["beyond_chance"]),
            "groups": [
                {"name": name, **{field: values[k] for field, values in fields.items()}}
                for k, name in enumerate(part.decisions.names)
            ],
        }
    return content


def _plain(value: Any) -> Any:
    """Convert to the types of JSON, with None for numbers that it does not have."""
    if hasattr(value, "_asdict"):  # a named tuple
        return _plain(value._asdict())
    if hasattr(value, "__dataclass_fields__"):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if hasattr(value, "item"):  # a tensor
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
