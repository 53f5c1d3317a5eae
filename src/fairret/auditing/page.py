"""The audit as one self-contained page, without scripts or network access."""

from __future__ import annotations

import math
from functools import lru_cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from fairret import __version__
from fairret.auditing.drawing import Panel, make_panel, make_scale
from fairret.auditing.findings import SELECTION, Findings, Part, Section
from fairret.auditing.gate import Gate
from fairret.auditing.limits import keeps
from fairret.auditing.tradeoff_chart import HEIGHT, draw_tradeoff
from fairret.auditing.wording import (
    confidence,
    group_number,
    lower_bound,
    not_judged,
    notes,
    number,
    p_value,
    percent,
    standing,
    status,
    too_few,
    verdict,
)
from fairret.metric.group_value import EVERYBODY, GroupValue
from fairret.metric.result import ParityResult

FOUR_FIFTHS = 0.8
MANY_GROUPS = 12  # calibration charts that are shown at once


def render_page(audit: Findings, gate: Gate | None = None) -> str:
    """Render the whole page."""
    return _environment().get_template("page.html").render(_context(audit, gate))


def render_fragment(audit: Findings) -> str:
    """Render what a notebook shows."""
    return _environment().get_template("fragment.html").render(_context(audit, None))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fairret.auditing", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "count": count,
        "percent": percent,
        "p_value": p_value,
        "lower_bound": lower_bound,
        "number": number,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "anchor": lambda name: "".join(c if c.isalnum() else "-" for c in name),
    }
    environment.tests["finite"] = math.isfinite
    return environment


def _context(audit: Findings, gate: Gate | None) -> dict[str, Any]:
    css = (files("fairret.auditing") / "templates/page.css").read_text("utf-8")
    return {
        "css": Markup(css),
        "audit": audit,
        "version": __version__,
        "settings": audit.settings,
        "notes": notes(audit),
        "compared": len(audit.settings.models) > 1,
        "gate": gate,
        "promise": audit.promise,
        "tradeoff": None if audit.promise is None else draw_tradeoff(audit.promise),
        "height": HEIGHT,
        **_promised(audit),
        "titles": {section.name: section.title for section in audit.sections},
        "population": audit.base_rates or audit.sections[0].decisions,
        "calibration": _calibration(audit),
        "many": MANY_GROUPS,
        "sections": [_section(audit, section) for section in audit.sections],
        "sure": confidence(audit.settings.confidence),
    }


def _promised(audit: Findings) -> dict[str, Any]:
    """Name the notion and the confidence of a tolerance."""
    if audit.promise is None:
        return {}
    titles = [x.title for x in audit.sections if audit.is_promised(x)]
    return {
        "promised_title": titles[0].lower() if titles else "",
        "promise_sure": confidence(audit.promise.confidence),
    }


def _calibration(audit: Findings) -> list[Any]:
    model = len(audit.settings.models) - 1
    if audit.base_rates is None or audit.settings.models[model].hard:
        return []
    return [found for found in audit.curves.calibration(model) if found.points]


def _section(audit: Findings, section: Section) -> dict[str, Any]:
    return {
        "found": section,
        "status": status(section),
        "standing": standing(audit, section),
        "promised": audit.is_promised(section),
        "beyond": section.decisions.beyond_chance,
        "ratio": float(section.ratio(favourable=audit.settings.favourable).estimate),
        "changed": any(part.changed() for part in section.parts),
        "verdict": verdict(audit, section),
        "too_few": too_few(section),
        "tests": {
            trait: float(own.test.p_value)
            for trait, own in section.decisions.by_trait.items()
            if not math.isnan(float(own.test.p_value))
        },
        "parts": [
            {
                "notion": part.notion,
                "decisions": _forest(audit, part, "decisions"),
                "scores": None
                if audit.settings.models[-1].hard
                else _forest(audit, part, "scores"),
            }
            for part in section.parts
        ],
        "panels": _panels(audit, section),
    }


def _panels(audit: Findings, section: Section) -> list[Panel]:
    """Draw the violation and, with labels, the accuracy against the threshold."""
    models = audit.settings.models
    if models[-1].hard:  # decisions have no threshold
        return []
    found = [
        (model.threshold, audit.curves.curve(section.name, j))
        for j, model in enumerate(models)
        if not model.hard
    ]
    curves = [(at, curve) for at, curve in found if curve is not None]
    violation = [(at, x.thresholds, x.violation) for at, x in curves]
    accuracy = [
        (at, x.thresholds, x.accuracy) for at, x in curves if x.accuracy is not None
    ]
    panels = []
    if violation:
        title = "largest violation of a judged group"
        panels.append(make_panel(title, violation, lowest=0.0))
    if accuracy:
        panels.append(make_panel("accuracy", accuracy))
    return panels


def _forest(audit: Findings, part: Part, of: str) -> dict[str, Any]:
    """List the groups trait by trait, numbers and chart side by side."""
    results = [part.result(j, of) for j in range(len(part.measured))]
    result = results[-1]
    groups = result.groups  # those of a trait alone have narrower intervals
    earlier = results[0].groups if len(results) > 1 else {}
    moved, changed = part.change_p_values(of), part.changed(of)

    def line(group: GroupValue, before: GroupValue | None) -> dict[str, Any]:
        return {
            "group": group,
            "before": before,
            "value": group_number(group, float(result.overall), part.notion),
            "p_of_change": moved.get(group.name),
            "changed": group.name in changed,
            "not_judged": not_judged(group, result),
            "words": _in_words(group, part, result),
        }

    first = results[0].everybody if len(results) > 1 else None
    return {
        "of": of,
        "notion": part.notion,
        "scale": make_scale(results, part.notion),
        "overall": float(result.overall),
        "everybody": line(result.everybody, first),
        "traits": {
            f"{trait}{_spread(audit, part, own, of)}": [
                line(groups[name], earlier.get(name)) for name in own.names
            ]
            for trait, own in result.by_trait.items()
        },
    }


def _in_words(group: GroupValue, part: Part, result: ParityResult) -> str:
    """Describe a row of the chart for those who cannot see it."""
    if not group.estimable:
        return f"{group.name}: nobody counts"
    value, low, high, overall = (
        number(x, part.notion)
        for x in (group.statistic, group.low, group.high, float(result.overall))
    )
    words = f"{group.name}: {value}, interval {low} to {high}, overall {overall}"
    if group.name == EVERYBODY:
        return words
    if not group.judged:
        return f"{words}; {not_judged(group, result)}"
    return f"{words}; {'beyond' if group.beyond_chance else 'within'} chance"


def _spread(audit: Findings, part: Part, result: ParityResult, of: str) -> str:
    """Compare the lowest with the highest group of a trait."""
    favourable = audit.settings.favourable
    bounds = part.ratio(result, favourable=favourable)
    ratio, low, high = (float(x) for x in bounds)
    if math.isnan(ratio):
        return ""
    rule = flipped = ""
    if part.name == SELECTION and of == "decisions":
        kept = "met" if keeps("min_ratio", ratio, FOUR_FIFTHS) else "not met"
        rule = f", four-fifths rule {kept} by the estimate"
    if part.name == SELECTION and not favourable:
        flipped = " share without a flag"
    return f": lowest / highest{flipped} {ratio:.2f} [{low:.2f}, {high:.2f}]{rule}"


def count(value: float) -> str:
    """Write a number of people; memberships in a soft group need not be whole."""
    digits = 0 if float(value).is_integer() else 1
    return f"{value:,.{digits}f}"
