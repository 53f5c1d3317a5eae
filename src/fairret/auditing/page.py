"""The audit as one self-contained page: no script, no network."""

from __future__ import annotations

import math
from html import escape
from importlib.resources import files

from fairret.auditing import chart
from fairret.auditing.report import Audit, Part, Section, number
from fairret.metric.result import EVERYBODY, GroupValue, ParityResult

FOUR_FIFTHS = 0.8
FEW = 30  # people who count; with fewer, intervals and chance limits are rough


def page(audit: Audit) -> str:
    """Write the whole page."""
    title = f"Fairness audit of {audit.settings.source}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'  # else browsers ask a server for one
        f"<title>{escape(title)}</title>\n"
        "<style>body { margin: 0; background: #fff; }\n"
        "@media screen and (prefers-color-scheme: dark) "
        "{ body { background: #12171e; } }</style>\n"
        f"</head>\n<body>\n{fragment(audit)}\n</body>\n</html>\n"
    )


def fragment(audit: Audit) -> str:
    """Write what a notebook shows."""
    css = (files("fairret.auditing") / "page.css").read_text(encoding="utf-8")
    parts = [
        f"<style>\n{css}</style>",
        '<main class="fairret-audit">',
        _header(audit),
        _summary(audit),
        *(_section(audit, section) for section in audit.sections),
        _limits(),
        _settings(audit),
        "</main>",
    ]
    return "\n".join(parts)


def _header(audit: Audit) -> str:
    settings = audit.settings
    if settings.hard:
        rule = f"Column {escape(settings.score)} holds the decisions."
    else:
        rule = (
            f"A decision is a yes where {escape(settings.score)} is above "
            f"{settings.threshold:g}."
        )
    return (
        "<header><h1>Fairness audit</h1>"
        f'<p class="quiet">{escape(settings.source)}, {_count(settings.rows)} rows. '
        f"{rule}</p></header>"
    )


def _summary(audit: Audit) -> str:
    rows = []
    for section in audit.sections:
        found = section.farthest
        result = section.decisions
        beyond = result.beyond_chance
        name = (
            f'<th scope="row"><a href="#{_anchor(section)}">'
            f"{escape(section.title)}</a></th>"
        )
        if found is None:
            rows.append(f'<tr>{name}<td colspan="6">nobody is counted</td></tr>')
            continue
        cells = (
            ("farthest group", escape(found[1].name), ""),
            ("violation", _percent(float(result.max_violation)), "n"),
            ("by chance up to", _percent(float(result.noise_floor)), "n"),
            ("lowest / highest", f"{float(result.ratio):.2f}", "n"),
            ("p-value", _p_value(float(result.test.p_value)), "n"),
            (
                "",
                "◆ beyond chance" if beyond else "○ within chance",
                "word beyond" if beyond else "word",
            ),
        )
        rows.append(f"<tr>{name}{''.join(_cell(*cell) for cell in cells)}</tr>")
    heads = (
        "<th>notion</th><th>farthest group</th>"
        '<th class="n">violation</th><th class="n">by chance up to</th>'
        '<th class="n">lowest / highest</th><th class="n">p-value</th><th>verdict</th>'
    )
    sure = f"{audit.settings.confidence:.0%}"
    return (
        '<section><h2 id="summary">In short</h2>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        '<p class="quiet">These are the decisions. The violation is the largest '
        "distance of a group's statistic from the overall one, relative to it. Small "
        "groups are off by chance: a perfectly fair model would stay below the limit "
        f"“by chance” on {sure} of such tables. "
        "The p-value is that of a test that all groups have the same statistic; it "
        "looks at all groups at once, so the two may disagree. "
        f"{_many(audit)}</p></section>"
    )


def _many(audit: Audit) -> str:
    count = len(audit.sections)
    if count < 2:
        return ""
    return (
        f"With {count} notions, even a fair model is more likely to be beyond chance "
        "in one of them."
    )


def _section(audit: Audit, section: Section) -> str:
    beyond = section.decisions.beyond_chance
    verdict = escape(audit.verdict(section))
    head = (
        f'<section><h2 id="{_anchor(section)}">{escape(section.title)}</h2>'
        f'<p class="verdict{" beyond" if beyond else ""}">{verdict}</p>'
    )
    parts = (_part(audit, section, part) for part in section.parts)
    return f"{head}{''.join(parts)}</section>"


def _part(audit: Audit, section: Section, part: Part) -> str:
    notion = part.notion
    title = f"<h3>{escape(notion.title)}</h3>" if len(section.parts) > 1 else ""
    scores = ""
    if not audit.settings.hard:
        scores = (
            "<details><summary>The same of the scores, before they become decisions"
            f"</summary>{_forest(part, part.measured.scores, 'scores')}</details>"
        )
    return (
        f"{title}<p>{escape(notion.meaning)}</p>"
        f"{_forest(part, part.decisions, 'decisions')}"
        f'<p class="quiet legend">{chart.legend(audit.settings.confidence)}</p>'
        f"{_few(part)}{scores}"
        f"<p><strong>What it cannot tell.</strong> {escape(notion.blind_spot)}</p>"
    )


def _few(part: Part) -> str:
    few = any(group.counted < FEW for group in part.decisions.groups.values())
    if not few:
        return ""
    return (
        f'<p class="quiet">~ &ensp; fewer than {FEW} people count: interval and chance '
        "are rough</p>"
    )


def _forest(part: Part, result: ParityResult, of: str) -> str:
    """Set out the groups trait by trait, numbers and chart side by side."""
    scale = chart.scale_of(result, part.notion)
    overall = float(result.overall)
    groups = result.groups

    def line(group: GroupValue, kind: str = "") -> str:
        drawing = chart.row(group, overall, scale, part.notion)
        return _group_row(group, drawing, part, kind)

    body = [line(result.everybody, "everybody")]
    for trait, own in result.by_trait.items():
        heading = f"{escape(trait)}{_spread(part, own, of)}"
        body.append(
            f'<tr class="trait"><th colspan="5" scope="rowgroup">{heading}</th></tr>'
        )
        body += [line(groups[name]) for name in own.names]
    measure = part.notion.measure
    caption = measure if of == "decisions" else f"{measure}, counted by scores"
    return (
        f'<table class="forest"><caption>{escape(caption)}</caption>'
        '<thead><tr><th>group</th><th class="n">people who count</th>'
        '<th class="n">value</th><th class="n">violation</th>'
        f'<th class="chart">{chart.axis(scale, part.notion)}</th></tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def _group_row(group: GroupValue, drawing: str, part: Part, kind: str) -> str:
    value, violation = "not estimable", "–"
    if group.estimable:
        low, high = number(group.low, part.notion), number(group.high, part.notion)
        value = (
            f"{number(group.statistic, part.notion)} "
            f'<span class="quiet">[{low}, {high}]</span>'
        )
        violation = "" if group.name == EVERYBODY else _percent(group.violation)
    off = "n beyond" if group.beyond_chance else "n"
    mark = " ◆" if group.beyond_chance else ""
    cells = (
        ("n", _members(group), "n"),
        ("", value, "n"),
        ("violation" if violation else "", violation + mark, off),
        ("", drawing, "chart"),
    )
    head = f'<th scope="row">{escape(group.name)}</th>'
    return f'<tr class="{kind}">{head}{"".join(_cell(*cell) for cell in cells)}</tr>'


def _members(group: GroupValue) -> str:
    """Write how many people count, and of how many, with a mark where they are few."""
    if not group.estimable:
        return _count(group.count)
    counted = _count(round(group.counted))
    few = " ~" if group.counted < FEW else ""
    if round(group.counted) == group.count:
        return counted + few
    return f'{counted}{few} <span class="quiet">of {_count(group.count)}</span>'


def _spread(part: Part, result: ParityResult, of: str) -> str:
    """Compare the lowest group with the highest one, within a trait."""
    if len(result.names) < 2 or math.isnan(float(result.ratio)):
        return ""
    ratio = float(result.ratio)
    rule = ""
    if part.name == "pr" and of == "decisions":
        kept = "met" if ratio >= FOUR_FIFTHS else "not met"
        rule = f" (four-fifths rule {kept})"
    return f": lowest / highest {ratio:.2f}{rule}"


def _limits() -> str:
    return (
        '<section><h2 id="limits">What no such table can tell</h2>'
        "<p>Equal statistics are not justice. Whether a statistic is the right one, "
        "whether the labels are themselves biased, who never came into the data, and "
        "what a decision does to a person are outside of any count. Several notions "
        "cannot hold at once where groups differ, so a violation of one is not a "
        "verdict by itself. A gap within chance is not proof of fairness: a small "
        "table cannot show a small gap.</p></section>"
    )


def _settings(audit: Audit) -> str:
    from fairret import __version__

    settings = audit.settings
    rows = {
        "Data": f"{settings.source}, {_count(settings.rows)} rows used",
        "Left out": ", ".join(
            f"{_count(count)} rows without a {name}"
            for name, count in settings.left.items()
        ),
        "Score": settings.score + (" (logits)" if settings.logits else ""),
        "Decision": "the score itself"
        if settings.hard
        else f"yes where the score is above {settings.threshold:g}",
        "Label": ""
        if settings.label is None
        else f"{settings.label}, positive where {settings.positive or 'nothing'}",
        "Weight": settings.weight or "",
        "In no group": ", ".join(
            f"{_count(count)} rows without {trait}"
            for trait, count in settings.missing.items()
        ),
        "Too small to cross": ", ".join(
            f"{name} ({_count(size)})" for name, size in settings.dropped.items()
        ),
        "Confidence": f"{settings.confidence:.0%}, of intervals and of chance limits",
        "Method": "intervals: delta method, Wilson's for shares; test: Wald, with the "
        "covariance of all groups at parity; chance limit: quantile of the largest "
        "violation under that covariance",
        "Made by": f"fairret {__version__}",
    }
    items = "".join(
        f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>"
        for key, value in rows.items()
        if value
    )
    return f'<section><h2 id="settings">Settings</h2><dl>{items}</dl></section>'


def _cell(label: str, content: str, kind: str) -> str:
    kind = f' class="{kind}"' if kind else ""
    label = f' data-label="{label}"' if label else ""
    return f"<td{kind}{label}>{content}</td>"


def _anchor(section: Section) -> str:
    return "notion-" + "".join(c if c.isalnum() else "-" for c in section.name)


def _count(value: float) -> str:
    """Write a number of people; memberships in a soft group need not be whole."""
    digits = 0 if float(value).is_integer() else 1
    return f"{value:,.{digits}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1%}"


def _p_value(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if value >= 0.001 else "&lt; 0.001"
