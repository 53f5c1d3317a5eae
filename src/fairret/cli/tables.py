"""An audit as tables in a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from fairret.auditing import Audit
from fairret.auditing.findings import Part, Section
from fairret.auditing.gate import Gate
from fairret.auditing.wording import (
    confidence,
    group_number,
    number,
    p_value,
    percent,
    too_few,
)
from fairret.console import memory_console
from fairret.metric.group_value import EVERYBODY, GroupValue

BEYOND, TOO_FEW = "◆", "~"


class Column(NamedTuple):
    """A column, and how wide a terminal must be to show it."""

    name: str
    header: str
    width: int = 0


# in a narrow terminal the names of groups come first
COLUMNS = (
    Column("n", "n"),
    Column("counted", "counted", 104),
    Column("before", "before"),
    Column("decisions", "decisions"),
    Column("interval", "{} interval", 72),
    Column("violation", "violation"),
    Column("p", "p", 56),
    Column("mark", ""),
    Column("change", "p of change", 72),
    Column("scores", "scores", 96),
    Column("scores' violation", "violation", 96),
)


def shown(audit: Audit, gate: Gate | None) -> str:
    """Write one table per notion, then one paragraph each."""
    console = memory_console()

    def write(line: str, style: str = "") -> None:
        console.print(_visible(line), style=style, markup=False)

    with console.capture() as capture:
        for section in audit.sections:
            for part in section.parts:
                console.print(_table(audit, section, part, console.width))
                console.print()
            for line in _tests(section):
                write(line, "dim")
            console.print()
        for line in _legend(audit):
            write(line, "dim")
        for line in audit.notes:
            write(line, "bold")
        console.print()
        for section in audit.sections:
            mark = BEYOND if section.decisions.beyond_chance else "○"
            write(f"{mark} {audit.verdict(section)}")
        if gate is not None:
            console.print()
            said = "passed" if gate.passed else "not passed"
            write(f"Gate ({gate.mode}): {said}", "bold")
            for outcome in gate.outcomes:
                write(f"{'✓' if outcome.passed else '✗'} {outcome.text}")
    return capture.get()


def _table(audit: Audit, section: Section, part: Part, width: int) -> Table:
    """List the groups of one statistic."""
    title = part.notion.title
    if len(section.parts) > 1:
        title = f"{section.title}: {title}"
    table = Table(
        title=Text(f"{title} – {part.notion.measure}", style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        header_style="dim",
    )
    compared = len(part.measured) > 1
    columns = [x for x in COLUMNS if width >= x.width]
    if not compared:
        columns = [x for x in columns if x.name not in ("before", "change")]
    if compared or audit.settings.models[-1].hard:
        columns = [x for x in columns if not x.name.startswith("scores")]
    table.add_column("group", overflow="fold")
    for column in columns:
        header = column.header.format(confidence(audit.settings.confidence))
        header = "after" if compared and column.name == "decisions" else header
        table.add_column(header, justify="right", no_wrap=True)

    moved = part.change_p_values()

    def add(groups: Sequence[GroupValue], style: str = "") -> None:
        cells = _cells(part, *groups)
        if groups[0].name in moved:
            changed = f" {BEYOND}" if groups[0].name in part.changed() else "  "
            p = p_value(moved[groups[0].name]).removeprefix("= ")
            cells["change"] = p + changed
        texts = [groups[0].name, *(cells[column.name] for column in columns)]
        table.add_row(*(Text(_visible(text)) for text in texts), style=style)

    results = (part.decisions, part.result(of="scores"), part.result(0))
    add([result.everybody for result in results], "bold")
    by_name = [result.groups for result in results]
    for trait in part.decisions.by_trait.values():
        table.add_section()
        for name in trait.names:
            add([groups[name] for groups in by_name])
    return table


def _cells(
    part: Part, decisions: GroupValue, scores: GroupValue, before: GroupValue
) -> dict[str, str]:
    low, high = number(decisions.low, part.notion), number(decisions.high, part.notion)
    mark = BEYOND if decisions.beyond_chance else "" if decisions.judged else TOO_FEW
    cells = {
        "n": f"{decisions.count:,.0f}",
        "counted": f"{decisions.counted:,.0f}" if decisions.estimable else "0",
        "before": number(before.statistic, part.notion),
        "decisions": group_number(
            decisions, float(part.decisions.overall), part.notion
        ),
        "interval": f"{low} – {high}" if decisions.estimable else "not estimable",
        "violation": percent(decisions.violation),
        "p": p_value(decisions.p_value).removeprefix("= "),
        "change": "",
        "mark": mark,
        "scores": number(scores.statistic, part.notion),
        "scores' violation": percent(scores.violation),
    }
    if decisions.name == EVERYBODY:
        cells |= dict.fromkeys(("violation", "p", "mark", "scores' violation"), "")
    return cells


def _visible(text: str) -> str:
    """Escape control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _tests(section: Section) -> list[str]:
    """Write the tests of whole traits, and the groups that are not judged."""
    result = section.decisions
    found = [("all groups", result), *result.by_trait.items()]
    tests = [
        f"{name} p {p_value(float(own.test.p_value))}"
        for name, own in found
        if not math.isnan(float(own.test.p_value))
    ]
    lines = [f"Wald's test of parity: {', '.join(tests)}"] if tests else []
    few = too_few(section)
    return [*lines, *([few] if few else [])]


def _legend(audit: Audit) -> list[str]:
    settings = audit.settings
    least = f"{settings.min_size:g}"
    lines = [f"{BEYOND} farther from the overall value than chance explains"]
    if any(not x.group.judged for section in audit.sections for x in section.groups):
        lines.append(
            f"{TOO_FEW} not judged: fewer than {least} rows count, or no other group"
        )
    for name, count in settings.left.items():
        lines.append(f"{count:,} rows have no {name} and were left out")
    for trait, count in settings.missing.items():
        lines.append(f"{count:,} rows have no {trait} and are in none of its groups")
    if settings.dropped:
        lines.append(
            f"{len(settings.dropped)} combinations have fewer than {least} rows and "
            "are not shown"
        )
    return lines
