"""The demonstration's progress bar and tables."""

from collections.abc import Sequence

from _demo_audit import Effect, Measured, Pair, Quality, TestSet
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

WIDTH = 100  # where there is no terminal to ask, as in a log file


def stdout_console() -> Console:
    """Open standard output, wide enough for the tables if it is a file."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=WIDTH, highlight=False)


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
    console: Console, plain: Quality, effects: Sequence[Effect], test: TestSet
) -> None:
    """Print both tables, and how to read them."""
    console.print()
    console.print(summary(plain, effects, test))
    console.print(
        "Violation: how far the farthest group is from the overall value, in per cent "
        "of it (max v of Eq. 5).\nBy chance: a fair model stays below this on 95 of "
        "100 test sets of this size.\n",
        style="dim",
    )
    console.print(by_group(effects, test))
    console.print(
        "Farthest from overall: [bold]bold[/bold]. An amount such as age counts "
        "everybody, the older the more.\n",
        style="dim",
    )


def summary(plain: Quality, effects: Sequence[Effect], test: TestSet) -> Table:
    """Lay out what every loss term costs and what it brings."""
    n, base_rate = len(test.label), float(test.label.mean())
    table = Table(
        title=f"Test set: {n} people, {base_rate:.0%} of them good",
        box=box.SIMPLE_HEAD,
        title_style="bold",
        pad_edge=False,
    )
    table.add_column("notion", style="bold", no_wrap=True)
    table.add_column("loss term", no_wrap=True)
    for header in ("AUROC", "log-\nloss", "accu-\nracy", "mean\nscore"):
        table.add_column(header, justify="right")
    for header in ("violation\nof scores", "violation\nof decisions", "by\nchance"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_row("", "none", *(f"{value:.3f}" for value in plain))
    for effect in effects:
        table.add_row(
            effect.notion.key,
            effect.notion.term,
            *(f"{value:.3f}" for value in effect.quality),
            _percent(effect.scores),
            _percent(effect.decisions),
            f"{effect.chance:.0%}",
        )
    return table


def by_group(effects: Sequence[Effect], test: TestSet) -> Table:
    """Lay out every group's statistic of the decisions."""
    table = Table(
        title="Decisions in every group, without → with the loss term",
        box=box.SIMPLE_HEAD,
        title_style="bold",
        pad_edge=False,
    )
    table.add_column("group", style="bold", no_wrap=True)
    table.add_column("n", justify="right")
    for effect in effects:
        table.add_column(
            f"{effect.notion.key}: {effect.notion.measure}",
            justify="center",
            max_width=17,
        )
    for k, (name, size) in enumerate(zip(test.groups, test.sizes, strict=True)):
        cells = [
            " → ".join(_marked(side, k) for side in effect.decisions)
            for effect in effects
        ]
        table.add_row(name, f"{size:.0f}", *cells, end_section=name == test.groups[-1])
    overall = [
        " → ".join(f"{side.overall:.2f}" for side in effect.decisions)
        for effect in effects
    ]
    table.add_row("overall", str(len(test.label)), *overall)
    return table


def _percent(pair: Pair) -> str:
    return f"{pair.before.violation:.0%} → {pair.after.violation:.0%}"


def _marked(side: Measured, k: int) -> str:
    gaps = [abs(gamma - side.overall) for gamma in side.groups]
    text = f"{side.groups[k]:.2f}"
    return f"[bold]{text}[/bold]" if gaps[k] == max(gaps) else text
