"""`fairret figure`: the paper's figures from stored results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from fairret.console import error_exit
from fairret.errors import ArgumentError, FairretError
from fairret.lab.commands.experiment import STORE, progress_bar, store_path
from fairret.lab.plot import FIGURES, draw_figure, find_figure

EXPERIMENTS = Path("experiments")
FIGURES_FOLDER = Path("figures")


def command(
    name: Annotated[
        str | None, typer.Argument(help="Name of the figure; --list shows them.")
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option(help="TOML file; by default the figure's own, in experiments/."),
    ] = None,
    store: STORE = None,
    output: Annotated[
        Path, typer.Option(help="Folder for the PNG and the PDF.")
    ] = FIGURES_FOLDER,
    show: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
) -> None:
    """Draw a figure of the paper, as PNG and PDF."""
    if show:
        width = max(map(len, FIGURES))
        for key, known in FIGURES.items():
            typer.echo(f"{key:<{width}}  {known.about}; {known.experiment}.toml")
        return
    try:
        if name is None:
            raise ArgumentError(
                "`NAME` must name a figure; got none. See `fairret figure --list`."
            )
        file = experiment or EXPERIMENTS / f"{find_figure(name).experiment}.toml"
        with _training() as on_epoch:
            drawn = draw_figure(name, file, store_path(file, store), output, on_epoch)
    except (FairretError, OSError) as error:
        error_exit(error)
    typer.echo(drawn.caption)
    typer.echo(f"Written: {', '.join(map(str, drawn.files))}.")


@contextmanager
def _training() -> Iterator[Callable[[int], object]]:
    """Show the epochs of a model that is trained for a figure, if there is one."""
    words = TextColumn("Training once, epoch {task.completed}")
    bar = progress_bar(words, BarColumn(), TimeRemainingColumn(), transient=True)
    with bar:
        task = bar.add_task("", total=None, visible=False)
        yield lambda epoch: bar.update(task, completed=epoch + 1, visible=True)
