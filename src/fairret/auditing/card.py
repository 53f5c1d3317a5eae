"""The audit as a model card in the format of Hugging Face: metadata, then Markdown."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from typing import Any

import jinja2
from markupsafe import Markup

from fairret import __version__
from fairret.auditing.findings import Findings, Part, Section
from fairret.auditing.gate import Gate
from fairret.auditing.page import count
from fairret.auditing.wording import (
    confidence,
    group_number,
    lower_bound,
    not_judged,
    notes,
    number,
    percent,
    standing,
    too_few,
    verdict,
)
from fairret.metric.group_value import EVERYBODY

MEANINGFUL = re.compile(r"([\\`*_{}\[\]<>#|&~$])")  # to Markdown, inside a line


def render_card(audit: Findings, gate: Gate | None, task: str) -> str:
    """Render the whole card.

    Args:
        audit: The audit.
        gate: Limits that the decisions were compared with.
        task: The task in the words of Hugging Face, such as "text-classification".
    """
    context = {
        "audit": audit,
        "settings": audit.settings,
        "source": audit.settings.source.strip("`"),
        "compared": len(audit.settings.models) > 1,
        "name": audit.settings.name or audit.settings.models[-1].name,
        "task": task,
        "revision": next(iter(audit.sha256.values()), None),
        "metrics": [x for section in audit.sections for x in _metrics(audit, section)],
        "notes": notes(audit),
        "gate": gate,
        "promise": audit.promise,
        "sections": [_section(audit, section) for section in audit.sections],
        "sure": confidence(audit.settings.confidence),
        "version": __version__,
    }
    return _environment().get_template("card.md").render(context)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    """Escape every value for Markdown, unless a filter has quoted it for YAML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fairret.auditing", "templates"),
        autoescape=False,
        finalize=lambda x: x if isinstance(x, Markup) else escape_markdown(str(x)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"count": count, "percent": percent, "yaml": quote_yaml}
    return environment


def escape_markdown(text: str) -> str:
    r"""Write text so that Markdown shows it as it is, in one line.

    >>> print(escape_markdown("<b>a_b</b>"))
    \<b\>a\_b\</b\>
    """
    return MEANINGFUL.sub(r"\\\1", " ".join(text.split()))


def quote_yaml(value: float | str) -> Markup:
    r"""Write a value for YAML: a string in quotes, without characters it refuses.

    >>> print(quote_yaml('50 "%": yes'))
    "50 \"%\": yes"
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    shown = (c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
    return Markup("".join(shown))


def _metrics(audit: Findings, section: Section) -> list[dict[str, Any]]:
    """List the numbers of a notion that exist, for the metadata."""
    result = section.decisions
    measured = {
        "largest_violation": result.largest_violation,
        "typical_violation": (result.violation_beyond_chance,),
        "lowest_to_highest": section.ratio(favourable=audit.settings.favourable),
    }
    found = []
    for kind, bounds in measured.items():
        estimate, *ends = (float(x) for x in bounds)
        if not math.isfinite(estimate):
            continue
        name = f"{section.title}: {kind.replace('_', ' ')}"
        if ends and all(map(math.isfinite, ends)):
            sure = confidence(audit.settings.confidence)
            name += f" ({sure} interval {ends[0]:.3f} to {ends[1]:.3f})"
        found.append({"type": kind, "name": name, "value": round(estimate, 6)})
    return found


def _section(audit: Findings, section: Section) -> dict[str, Any]:
    result = section.decisions
    bounds = result.largest_violation
    low = lower_bound(float(bounds.low), beyond=result.beyond_chance)
    estimate, high = percent(float(bounds.estimate)), percent(float(bounds.high))
    ratio = float(section.ratio(favourable=audit.settings.favourable).estimate)
    return {
        "title": section.title,
        "mark": standing(audit, section).mark,
        "status": standing(audit, section).words,
        "largest": f"{estimate} [{low}, {high}]" if section.strongest else "–",
        "typical": percent(float(result.violation_beyond_chance)),
        "ratio": f"{ratio:.2f}" if math.isfinite(ratio) else "–",
        "verdict": verdict(audit, section),
        "too_few": too_few(section),
        "parts": [
            {"notion": part.notion, "groups": _groups(part)} for part in section.parts
        ],
    }


def _groups(part: Part) -> list[dict[str, str]]:
    """List everybody and the groups of a statistic, as text."""
    result, notion = part.decisions, part.notion
    overall = float(result.overall)
    rows = []
    for group in (result.everybody, *result.groups.values()):
        value, gap = "not estimable", ""
        if group.estimable:
            low, high = number(group.low, notion), number(group.high, notion)
            value = f"{group_number(group, overall, notion)} [{low}, {high}]"
        if group.name != EVERYBODY and group.estimable:
            gap = percent(group.violation)
            if not group.judged:
                gap += f", {not_judged(group, result)}"
            elif group.beyond_chance:
                gap += " ◆"
        people = count(round(group.counted) if group.estimable else 0)
        rows.append(
            {"name": group.name, "people": people, "value": value, "violation": gap}
        )
    return rows
