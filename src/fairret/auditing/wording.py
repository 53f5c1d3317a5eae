"""Numbers and verdicts in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairret.auditing.findings import Findings, Found, Part, Section
from fairret.auditing.notions import Notion
from fairret.metric.delta_method import ROUNDING
from fairret.metric.group_value import EVERYBODY, GroupValue
from fairret.metric.result import ParityResult
from fairret.metric.simultaneous_intervals import Bounds

MOST_DIGITS = 4
UNBOUNDED = (
    "the overall value may be zero, so these rows do not bound a violation relative to "
    "it"
)
NAMED = 5  # groups that a sentence names; more are counted


def number(value: float, notion: Notion, digits: int | None = None) -> str:
    """Write a statistic in its unit."""
    if math.isnan(value):
        return "–"
    if notion.unit == "share":
        return f"{value:.{1 if digits is None else digits}%}"
    return f"{value:.{3 if digits is None else digits + 2}g}"


def apart(one: float, other: float, notion: Notion) -> tuple[str, str]:
    """Write two statistics with as many digits as distinguish them."""
    for digits in range(1, MOST_DIGITS + 1):
        texts = number(one, notion, digits), number(other, notion, digits)
        if texts[0] != texts[1] or one == other:
            break
    return texts


def group_number(group: GroupValue, overall: float, notion: Notion) -> str:
    """Write a group's statistic with digits that distinguish it from the overall."""
    if group.name == EVERYBODY:
        return number(group.statistic, notion)
    return apart(group.statistic, overall, notion)[0]


def percent(value: float, digits: int = 1) -> str:
    """Write a violation."""
    if math.isinf(value):
        return "∞"
    return "–" if math.isnan(value) else f"{value:.{digits}%}"


def p_value(p: float) -> str:
    """Write a p-value with its sign of comparison, as in "= 0.030"."""
    if math.isnan(p):
        return "–"
    if p < 0.001:
        return "< 0.001"
    for digits in (3, 4, 5):  # 0.0504 must not look like 0.0496
        text = f"{p:.{digits}f}"
        if float(text) != 0.05 or p == 0.05:
            break
    return f"= {text}"


def confidence(level: float) -> str:
    """Write a confidence: 95%, 99.5%."""
    return f"{100 * level:.6g}%"


def between(bounds: Bounds, *, beyond: bool) -> str:
    """Write the interval of a violation.

    Beyond chance, a violation of 0 is rejected by the test. The interval has another
    variance, that away from parity, and may reach 0: then 0 itself is excluded.
    """
    low, high = float(bounds.low), float(bounds.high)
    for digits in range(1, MOST_DIGITS):  # a bound above 0 must not look like 0
        texts = percent(low, digits), percent(high, digits)
        if texts[0] != texts[1] and (low == 0 or texts[0] != percent(0.0, digits)):
            break
    if low == 0:
        return f"{'above 0% and ' if beyond else ''}at most {texts[1]}"
    return f"between {texts[0]} and {texts[1]}"


def lower_bound(low: float, *, beyond: bool, digits: int = 1) -> str:
    """Write the lower end of a violation's interval; see :func:`between`."""
    text = percent(low, digits)
    return ">0%" if beyond and text == percent(0.0, digits) else text


def status(section: Section) -> str:
    """Return the verdict in three words."""
    result = section.decisions
    if result.can_be_judged:
        return "beyond chance" if result.beyond_chance else "within chance"
    found = {
        not_judged(group, part.decisions)
        for part, group in section.groups
        if group.estimable
    }
    return min(found, default="nobody is counted")  # "nothing ..." before "too few ..."


class Standing(NamedTuple):
    """How a notion stands: against its tolerance, or else against chance."""

    mark: str
    words: str
    alarm: bool


def standing(audit: Findings, section: Section) -> Standing:
    """Judge a notion by the tolerance that was stated for it, or by chance."""
    if audit.promise is None or not audit.is_promised(section):
        beyond = section.decisions.beyond_chance
        return Standing("◆" if beyond else "○", status(section), beyond)
    if not audit.promise.missed:
        return Standing(audit.promise.mark, "within the tolerance", False)
    return Standing(
        "✗", f"tolerance not {'assured' if audit.promise.met else 'met'}", True
    )


def not_judged(group: GroupValue, result: ParityResult) -> str:
    """Explain why a group is not judged; a group of everybody has no comparison."""
    few = group.name in result.too_few
    return "too few to judge" if few else "nothing to compare"


def reason(section: Section) -> str:
    """Explain why a notion is not judged."""
    said = status(section)
    few = f"no group has {section.decisions.min_size:g} rows that count"
    if said == "too few to judge":
        few = next((x for x in map(_heavy, section.parts) if x), few)
    return {
        "nobody is counted": "no row of any group counts",
        "too few to judge": few,
        "nothing to compare": "all rows that count are in one group",
    }[said]


def _heavy(part: Part) -> str:
    """Explain why nobody is judged, if a group has enough rows but everybody has not.

    With equal weights, everybody has the most rows.
    """
    result = part.decisions
    everybody = result.everybody.counted
    most = max((x.counted for x in result.groups.values() if x.estimable), default=0.0)
    if not everybody < result.min_size <= most:
        return ""
    return (
        f"a few rows have most of the weight, so that all together count like "
        f"{everybody:.0f} rows"
    )


def verdict(audit: Findings, section: Section) -> str:
    """Describe whether a gap is beyond chance, in which group, and how large it is."""
    said = status(section)
    strongest, largest, worst = section.strongest, section.largest, section.worst
    if strongest is None or largest is None or worst is None:
        return f"{section.title}: {said}; {reason(section)}."
    shown = largest if said == "within chance" else strongest
    worse = any(x.group.violation > worst.group.violation for x in section.groups)
    whose = " of a judged group" if worse else ""
    sentences = [f"{section.title}: {_headline(audit, section)}. The {_gap(shown)}"]
    if shown.group.violation < ROUNDING:
        sentences[0] += "."
    elif said == "within chance":
        gap = f"the largest gap{whose}"
        sentences[0] += f", {gap} (p {p_value(shown.group.p_value)})."
    else:
        sentences[0] += f" (p {p_value(shown.group.p_value)})."
        if largest != strongest:
            sentences.append(
                f"The largest gap beyond chance is elsewhere: the {_gap(largest)}."
            )
    sure = confidence(audit.settings.confidence)
    bounds = section.decisions.largest_violation
    interval = f"with {sure} confidence it is " + between(
        bounds, beyond=section.decisions.beyond_chance
    )
    if math.isinf(float(bounds.high)):
        interval = UNBOUNDED
    if worst not in (strongest, largest):
        of = f" in {worst.part.notion.title.lower()}" if len(section.parts) > 1 else ""
        whose = f" of a judged group, that of {worst.group.name}{of},"
    sentences.append(
        f"The largest violation{whose} is {percent(float(bounds.estimate))}; "
        f"{interval}."
    )
    sentences += _left_out(section)
    if len(audit.settings.models) > 1:
        sentences.append(_change(audit, section))
    return " ".join(sentences)


def _left_out(section: Section) -> list[str]:
    """Name the statistics of a judged stack that are not judged themselves."""
    sentences = []
    for part in section.parts:
        if not part.decisions.can_be_judged:
            alone = Section(part.name, part.measured, part.notion.title, (part,))
            sentences.append(
                f"The verdict leaves out {part.notion.title.lower()}: {reason(alone)}."
            )
    return sentences


def _headline(audit: Findings, section: Section) -> str:
    """State the verdict, and how it relates to a tolerance if one was stated."""
    said = status(section)
    judged = [part for part in section.parts if part.decisions.can_be_judged]
    if len(judged) < len(section.parts):
        said += " in " + " and ".join(part.notion.title.lower() for part in judged)
    if audit.promise is None:
        return said
    if not audit.is_promised(section):
        return f"{said}; no tolerance was stated for it"
    words = standing(audit, section).words
    if audit.promise.small_groups:
        words += ", up to chance"
    return f"{words}; the remaining gap is {said}"


def _gap(found: Found) -> str:
    """Compare a group's statistic with the overall one."""
    part, group = found
    if group.violation < ROUNDING:  # that of the group with the largest gap
        value = number(group.statistic, part.notion)
        return f"{part.notion.measure} is {value} for all judged groups"
    own, overall = apart(group.statistic, float(part.decisions.overall), part.notion)
    return f"{part.notion.measure} is {own} for {group.name} and {overall} overall"


def _change(audit: Findings, section: Section) -> str:
    """Describe the change of a notion from the first model to the last."""
    before, after = audit.settings.models
    results = [section.result(j) for j in (0, 1)]
    typical = [percent(float(x.violation_beyond_chance)) for x in results]
    largest = [percent(float(x.largest_violation.estimate)) for x in results]
    text = (
        f"From {before.name} to {after.name} the typical violation goes from "
        f"{typical[0]} to {typical[1]} and the largest from {largest[0]} to "
        f"{largest[1]}"
    )
    moved = [
        (part.change_p_values()[name], name, part)
        for part in section.parts
        for name in part.changed()
    ]
    if not moved:
        return f"{text}; no group's change is beyond chance."
    p, name, _ = min(moved, key=lambda x: x[0])
    sentence = f"{text}. The change is beyond chance for "
    if len(moved) > 1:
        sentence += f"{len(moved)} groups, most clearly "
    return f"{sentence}{name} (p {p_value(p)}).{_largest_change(moved)}"


def _largest_change(moved: Sequence[tuple[float, str, Part]]) -> str:
    """Name the group whose violation has changed most, and the direction."""
    found = []
    for _, name, part in moved:
        first, last = (_signed_violation(part.result(j), name) for j in (0, 1))
        found.append((abs(last - first), name, first, last))
    _, name, first, last = max(found)
    text = f" It is largest for {name}, "
    if first * last < 0:  # the sizes alone would hide the change of side
        one, other = (
            f"{percent(abs(x))} {'below' if x < 0 else 'above'}" for x in (first, last)
        )
        return f"{text}which goes from {one} to {other} the overall value."
    way = "falls" if abs(last) < abs(first) else "rises"
    return (
        f"{text}whose violation {way} from {percent(abs(first))} to "
        f"{percent(abs(last))}."
    )


def _signed_violation(result: ParityResult, name: str) -> float:
    """Return the violation of a group, negative below the overall value."""
    group = result.groups[name]
    return math.copysign(group.violation, group.statistic - float(result.overall))


def too_few(section: Section) -> str:
    """Name the groups that are not judged, and how many rows they need."""
    sentences = []
    for part in section.parts:
        found = [group for own, group in section.too_few if own is part]
        if not found:
            continue
        shown = [f"{group.name} ({_counts(group)})" for group in found]
        of = f" {part.notion.title.lower()} of" if len(section.parts) > 1 else ""
        heavy = _heavy(part)
        shown = [heavy] if heavy else shown
        sentences.append(f"Too few to judge{of}: {first_few(shown)}.")
    return " ".join(sentences)


def _counts(group: GroupValue) -> str:
    rows = round(group.counted)
    text = f"{rows:,} row that counts" if rows == 1 else f"{rows:,} rows that count"
    if math.isnan(group.needed):
        return text
    return f"{text}; about {rounded_up(group.needed):,} needed to detect a 20% gap"


def first_few(names: Sequence[str]) -> str:
    """List names; from the sixth on they are only counted."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def rounded_up(value: float) -> int:
    """Round up to two digits: it is an estimate."""
    unit = int(10 ** max(0, math.floor(math.log10(max(value, 1))) - 1))
    return math.ceil(value / unit) * unit


def notes(audit: Findings) -> list[str]:
    """List what to read before the numbers."""
    found = [
        f"Column {name!r} has a different whole number in nearly every row. It may be "
        "an identifier: if so, remove it."
        for name in audit.identifiers
    ]
    if audit.settings.positive == "0":
        found += [
            f"Column {model.score!r} holds 0 and 1. A decision of 1 is taken as "
            "positive, although the positive label is 0."
            for model in audit.settings.models
            if model.hard
        ]
    last = len(audit.settings.models) - 1
    for j, model in enumerate(audit.settings.models):
        result = audit.sections[0].result(j)
        if result.degenerate:
            rate = result.positive_rate
            which = "a no" if rate < 0.5 else "a yes"
            if not audit.settings.favourable:
                which = "no flag" if rate < 0.5 else "a flag"
            name = "The model" if len(audit.settings.models) == 1 else model.name
            found.append(
                f"{name} is degenerate: {max(rate, 1 - rate):.2%} of people get "
                f"{which}. Equal statistics say little about such a model"
                + (", and it passes no gate." if j == last else ".")
            )
    return found
