"""Where text goes: results to standard output, all else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

WRONG = 2
WIDTH = 150  # where there is no terminal to ask, as in a log file


def stdout_console() -> Console:
    """Open standard output, wide enough for the tables if it is a file."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a file may not know ◆
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=WIDTH, highlight=False)


def error_exit(error: Exception) -> NoReturn:
    """Say in one sentence what is wrong, and leave."""
    typer.echo(f"fairret: {error}", err=True)
    raise typer.Exit(WRONG) from error


@contextmanager
def reading(name: str) -> Iterator[Callable[[float], object]]:
    """Show how much of a file has been read, if somebody is watching."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("Reading {task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(name, total=1.0)
        yield lambda share: bar.update(task, completed=share)
