"""An audit as tables in a terminal."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairret.auditing import Audit
from fairret.auditing.report import Part, Section, number
from fairret.cli.console import stdout_console
from fairret.metric.result import GroupValue

BEYOND = "◆"


def show(audit: Audit, report: Path | None) -> None:
    """Print a table for each notion, then one sentence for each."""
    console = stdout_console()
    for section in audit.sections:
        for part in section.parts:
            console.print(_table(audit, section, part))
            console.print()
    _notes(console, audit)
    for section in audit.sections:
        mark = f"{BEYOND} " if section.decisions.beyond_chance else "○ "
        console.print(mark + audit.verdict(section), markup=False)
    if report is not None:
        console.print(f"\nReport written to {report}", markup=False, soft_wrap=True)


def _table(audit: Audit, section: Section, part: Part) -> Table:
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
    interval = f"{audit.settings.confidence:.0%} interval"
    table.add_column("group", overflow="fold")
    for header in ("n", "counted", "decisions", interval, "violation", "by chance"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("")
    if not audit.settings.hard:
        table.add_column("scores", justify="right", no_wrap=True)
        table.add_column("violation", justify="right", no_wrap=True)
    scores = part.measured.scores
    _add(table, audit, part, part.decisions.everybody, scores.everybody, "bold")
    for trait in part.decisions.by_trait.values():
        table.add_section()
        for name in trait.names:
            own = part.decisions.groups[name]
            _add(table, audit, part, own, scores.groups[name], "")
    return table


def _add(
    table: Table,
    audit: Audit,
    part: Part,
    decisions: GroupValue,
    scores: GroupValue,
    style: str,
) -> None:
    low, high = number(decisions.low, part.notion), number(decisions.high, part.notion)
    everybody = style == "bold"
    cells = [
        decisions.name,
        f"{decisions.count:,.0f}",
        f"{decisions.counted:,.0f}" if decisions.estimable else "0",
        number(decisions.statistic, part.notion),
        f"{low} – {high}" if decisions.estimable else "not estimable",
        "" if everybody else _percent(decisions.violation),
        "" if everybody else _percent(decisions.noise_floor),
        BEYOND if decisions.beyond_chance else "",
    ]
    if not audit.settings.hard:
        cells += [
            number(scores.statistic, part.notion),
            "" if everybody else _percent(scores.violation),
        ]
    table.add_row(*(Text(cell) for cell in cells), style=style)


def _percent(value: float) -> str:
    return f"{value:.1%}" if value == value else "–"


def _notes(console: Console, audit: Audit) -> None:
    settings = audit.settings
    notes = [
        f"{BEYOND} farther from the overall value than a group of this size would be "
        "by chance"
    ]
    notes += [
        f"{count} rows have no {name} and were left out"
        for name, count in settings.left.items()
    ]
    notes += [
        f"{count} rows have no {trait} and are in none of its groups"
        for trait, count in settings.missing.items()
    ]
    if settings.dropped:
        notes.append(
            f"{len(settings.dropped)} intersections have fewer than "
            f"{settings.min_size:g} rows and are not shown"
        )
    for note in notes:
        console.print(note, style="dim", markup=False)
    console.print()
