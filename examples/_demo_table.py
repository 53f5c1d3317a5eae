"""The demonstration's progress bar and tables."""

from collections.abc import Sequence

from _demo_audit import Effect, HeldOut, Quality
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from fairret.metric import GroupValue

BEYOND = "*"


def progress_bar(console: Console) -> Progress:
    """Make the bar that counts the epochs of all trainings."""
    return Progress(
        TextColumn("{task.description:<38}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs"),
        TimeElapsedColumn(),
        console=console,
    )


def show(
    console: Console, plain: Quality, effects: Sequence[Effect], test: HeldOut
) -> None:
    """Print both tables, and how to read them."""
    console.print()
    console.print(summary(plain, effects, test))
    console.print(
        "\nviolation  largest distance of a group from the overall value, relative to "
        "it\nby chance  what a fair model stays below on 95 of 100 such test sets\n",
        style="dim",
    )
    console.print(by_group(effects, test))
    console.print(
        f"\n{BEYOND}    beyond chance: unfair, or the one time in 20 that a fair group "
        "is there\nage  an amount: everybody counts, the older the more\n",
        style="dim",
    )


def summary(plain: Quality, effects: Sequence[Effect], test: HeldOut) -> Table:
    """Lay out what every loss term costs and what it brings."""
    n, base_rate = len(test.label), float(test.label.mean())
    table = _table(
        f"{n} people the networks have not seen, {base_rate:.0%} of them good"
    )
    table.add_column("", style="bold")
    table.add_column("loss term", no_wrap=True)
    for header in ("AUROC", "log-\nloss", "accu-\nracy", "mean\nscore"):
        table.add_column(header, justify="right")
    for header in ("scores'\nviolation", "decisions'\nviolation", "by\nchance"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_row("", "none", *(f"{value:.3f}" for value in plain))
    for effect in effects:
        table.add_row(
            effect.notion.key,
            effect.notion.term,
            *(f"{value:.3f}" for value in effect.quality),
            *(
                f"{pair.before.max_violation:.0%} → {pair.after.max_violation:.0%}"
                for pair in (effect.scores, effect.decisions)
            ),
            f"{effect.decisions.after.noise_floor:.0%}",
        )
    return table


def by_group(effects: Sequence[Effect], test: HeldOut) -> Table:
    """Lay out every group's statistic of the decisions."""
    table = _table("Decisions in every group, without → with the loss term")
    table.add_column("group", no_wrap=True)
    table.add_column("n", justify="right")
    for effect in effects:
        header = f"[bold]{effect.notion.key}[/bold]\n{effect.notion.measure}"
        table.add_column(header, max_width=13)
    table.add_row(
        "everybody",
        str(len(test.label)),
        *(
            f"{effect.decisions.before.overall:.2f} → "
            f"{effect.decisions.after.overall:.2f}"
            for effect in effects
        ),
        style="bold",
    )
    for name, size in zip(test.groups, test.sizes, strict=True):
        cells = (
            " → ".join(_cell(side.groups[name]) for side in effect.decisions)
            for effect in effects
        )
        table.add_row(name, "" if size is None else str(size), *cells)
    return table


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_style="bold",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        header_style="",
        show_edge=False,
    )


def _cell(group: GroupValue) -> str:
    return f"{group.statistic:.2f}{BEYOND if group.beyond_chance else ' '}"
