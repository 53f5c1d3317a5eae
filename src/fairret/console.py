"""Terminal output: results go to standard output, all else to standard error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from fairret.errors import ArgumentError

WRONG = 2
WIDTH = 150  # without a terminal, as in a log file


def stdout_console() -> Console:
    """Return a console for standard output, wide enough for tables if it is a file."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a file may not know ◆
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=WIDTH, highlight=False)


def memory_console() -> Console:
    """Return a console like that of standard output that writes to memory.

    At the end of a capture, rich writes to its file: if that is a pipe without a
    reader, it ends the process with exit code 1.
    """
    like = stdout_console()
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    memory = TextIOWrapper(BytesIO(), encoding, errors="replace")
    return Console(
        file=memory, width=like.width, force_terminal=like.is_terminal, highlight=False
    )


def emit(text: str) -> None:
    """Write a result to standard output.

    It is no error if the reader stops early, as `head` does.

    Raises:
        ArgumentError: If the output cannot be written, as on a full disk.
    """
    stream = sys.stdout
    if stream is None:  # it was closed before the command started
        raise ArgumentError(
            "The result cannot be written, because standard output is closed."
        )
    try:
        if isinstance(stream, TextIOWrapper):
            # JSON is always UTF-8; the encoding of a console may lack ◆
            stream.flush()
            encoding = "utf-8" if text.startswith("{") else stream.encoding
            stream.buffer.write(f"{text.rstrip()}\n".encode(encoding, "replace"))
        else:
            stream.write(f"{text.rstrip()}\n")
        stream.flush()
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        _silence_stdout()
        raise ArgumentError(
            f"The result cannot be written to standard output ({error.strerror})."
        ) from error


def _silence_stdout() -> None:
    """Keep Python from writing again at exit, which would change the exit code."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def error_exit(error: Exception) -> NoReturn:
    """Print an error in one sentence, and exit."""
    typer.echo(f"fairret: {error}", err=True)
    raise typer.Exit(WRONG) from error


@contextmanager
def reading(name: str) -> Iterator[Callable[[float], object]]:
    """Show the progress of reading a file, if there is a terminal."""
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


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect warnings as notes, once each; they are complete at the end."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
    told = [w for w in caught if issubclass(w.category, UserWarning)]
    notes += dict.fromkeys(f"Note: {w.message}" for w in told)


@contextmanager
def steps() -> Iterator[Callable[[str], object]]:
    """Show what a command is doing and for how long, if there is a terminal."""
    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda text: bar.update(task, description=text)
