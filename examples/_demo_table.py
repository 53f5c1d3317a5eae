"""The progress bar and the tables of the demonstration."""

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
    """Create a progress bar over the epochs of all networks."""
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
    """Print both tables with their legends."""
    console.print()
    console.print(summary(plain, effects, test))
    console.print(
        "\nviolation  largest relative distance of a group from the overall value"
        "\ntypical    violation of an average person's group, corrected for chance\n",
        style="dim",
    )
    console.print(by_group(effects, test))
    console.print(
        f"\n{BEYOND}    beyond chance: for a fair model, 1 in 20 test sets has such a "
        "group\nage  a number: everybody counts, weighted by age\n",
        style="dim",
    )


def summary(plain: Quality, effects: Sequence[Effect], test: HeldOut) -> Table:
    """Tabulate the cost and the effect of each loss term."""
    n, base_rate = len(test.label), float(test.label.mean())
    table = _table(f"{n} people in the test set, {base_rate:.0%} of them qualified")
    table.add_column("", style="bold")
    table.add_column("loss term", no_wrap=True)
    for header in ("AUROC", "log-\nloss", "accu-\nracy", "mean\nscore"):
        table.add_column(header, justify="right")
    for header in ("scores'\nviolation", "decisions'\nviolation", "typical"):
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
            " → ".join(
                f"{side.violation_beyond_chance:.0%}" for side in effect.decisions
            ),
        )
    return table


def by_group(effects: Sequence[Effect], test: HeldOut) -> Table:
    """Tabulate the statistic of the decisions per group."""
    table = group_table("Decisions per group, without → with the loss term")
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


def group_table(title: str) -> Table:
    """Create a table with columns for the groups and their sizes."""
    table = _table(title)
    table.add_column("group", no_wrap=True)
    table.add_column("n", justify="right")
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
