"""The progress of a training, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from fairret.errors import missing_extra

LINES = 10  # in a log file

Report: TypeAlias = Callable[[int, float], object]  # epochs that are done, and the loss


@contextmanager
def epochs_shown(total: int, verbose: bool, name: str) -> Iterator[Report]:
    """Show a bar in a terminal or notebook, and ten lines elsewhere.

    Args:
        total: Number of epochs.
        verbose: Whether to show anything.
        name: What is trained.

    Yields:
        What to call after every epoch.
    """
    if not verbose:
        yield lambda done, loss: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        raise missing_extra("`verbose=True` needs", "rich", "sklearn") from None
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        step = max(1, total // LINES)

        def write(done: int, loss: float) -> None:
            if done % step == 0 or done == total:
                console.print(f"{name}, epoch {done} of {total}: loss {loss:.4f}")

        yield write
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(name, total=total)
        yield lambda done, loss: bar.update(
            task, completed=done, description=f"{name}: loss {loss:.4f}"
        )
