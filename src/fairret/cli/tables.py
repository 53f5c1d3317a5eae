"""An audit as tables in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairret.auditing import Audit
from fairret.auditing.report import Part, Section, number
from fairret.cli.console import stdout_console
from fairret.metric.result import EVERYBODY, GroupValue

BEYOND = "◆"


class Column(NamedTuple):
    """A column, and how wide a terminal must be to show it."""

    name: str
    header: str
    width: int = 0


# in a narrow terminal the groups' names need the room most
COLUMNS = (
    Column("n", "n"),
    Column("counted", "counted", 104),
    Column("decisions", "decisions"),
    Column("interval", "{:.0%} interval", 72),
    Column("violation", "violation"),
    Column("chance", "by chance", 56),
    Column("mark", ""),
    Column("scores", "scores", 96),
    Column("scores' violation", "violation", 96),
)


def show(audit: Audit, report: Path | None) -> None:
    """Print a table for each notion, then one sentence for each."""
    console = stdout_console()
    for section in audit.sections:
        for part in section.parts:
            console.print(_table(audit, section, part, console.width))
            console.print()
    _notes(console, audit)
    for section in audit.sections:
        mark = f"{BEYOND} " if section.decisions.beyond_chance else "○ "
        console.print(mark + _visible(audit.verdict(section)), markup=False)
    if report is not None:
        console.print(f"\nReport written to {report}", markup=False, soft_wrap=True)


def _table(audit: Audit, section: Section, part: Part, width: int) -> Table:
    """Set out the groups of one statistic."""
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
    shown = [x for x in COLUMNS if width >= x.width]
    if audit.settings.hard:
        shown = [x for x in shown if not x.name.startswith("scores")]
    table.add_column("group", overflow="fold")
    for column in shown:
        header = column.header.format(audit.settings.confidence)
        table.add_column(header, justify="right", no_wrap=True)

    def add(decisions: GroupValue, scores: GroupValue, style: str = "") -> None:
        cells = _cells(part, decisions, scores)
        texts = [decisions.name, *(cells[column.name] for column in shown)]
        table.add_row(*(Text(_visible(text)) for text in texts), style=style)

    scores, decisions = part.measured.scores, part.decisions
    add(decisions.everybody, scores.everybody, "bold")
    for trait in decisions.by_trait.values():
        table.add_section()
        for name in trait.names:
            add(decisions.groups[name], scores.groups[name])
    return table


def _cells(part: Part, decisions: GroupValue, scores: GroupValue) -> dict[str, str]:
    low, high = number(decisions.low, part.notion), number(decisions.high, part.notion)
    cells = {
        "n": f"{decisions.count:,.0f}",
        "counted": f"{decisions.counted:,.0f}" if decisions.estimable else "0",
        "decisions": number(decisions.statistic, part.notion),
        "interval": f"{low} – {high}" if decisions.estimable else "not estimable",
        "violation": _percent(decisions.violation),
        "chance": _percent(decisions.noise_floor),
        "mark": BEYOND if decisions.beyond_chance else "",
        "scores": number(scores.statistic, part.notion),
        "scores' violation": _percent(scores.violation),
    }
    if decisions.name == EVERYBODY:
        cells |= dict.fromkeys(("violation", "chance", "scores' violation"), "")
    return cells


def _visible(text: str) -> str:
    """Write control characters out, for a terminal would obey them."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
        console.print(_visible(note), style="dim", markup=False)
    console.print()
