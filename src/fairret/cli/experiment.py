"""`fairret run` and `fairret results`: train what is missing, show what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from fairret.cli.console import error_exit, stdout_console
from fairret.errors import FairretError
from fairret.experiment import Progress as Count
from fairret.experiment import Store, read_experiment, run_missing, runs_of
from fairret.experiment.summary import export, restore, summary_table
from fairret.experiment.work import Outcome

FILE = Annotated[Path, typer.Argument(help="A TOML file that says what to compare.")]
STORE = Annotated[
    Path | None,
    typer.Option(help="SQLite file of the results; by default beside FILE."),
]


def store_of(file: Path, store: Path | None) -> Path:
    """Where the results of an experiment are."""
    return store or file.with_suffix(".sqlite")


def run(
    file: FILE,
    store: STORE = None,
    jobs: Annotated[int, typer.Option(help="Trainings at a time.")] = 1,
    backend: Annotated[
        Literal["local", "dask"], typer.Option(help="Where to train.")
    ] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of the Dask scheduler.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Try failed runs once more.")
    ] = False,
) -> None:
    """Train what the store lacks; stopped at any moment, the same command goes on."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    try:
        runs = runs_of(read_experiment(file))
        results = Store(store_of(file, store))
        if retry:
            results.forget_failures()
        with bar:
            task = bar.add_task("Training", total=None)

            def tell(count: Count, last: Outcome | None) -> None:
                done = count.done + count.failed
                words = "Training" if last is None else f"Training; last {last.run}"
                bar.update(task, description=words, total=count.total, completed=done)

            count = run_missing(
                runs,
                results,
                jobs=jobs,
                backend=backend,
                scheduler=scheduler,
                on_progress=tell,
            )
    except FairretError as error:
        error_exit(error)
    left = count.total - count.done - count.failed
    typer.echo(
        f"{len(runs)} runs: {count.done} done now, {count.failed} failed, "
        f"{len(runs) - count.total} were there before"
        + (f", {left} are with another runner" if left else "")
        + f". Results are in {results.path}."
    )


def results(
    file: FILE,
    store: STORE = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write all columns here: .csv or .parquet."),
    ] = None,
    restore_from: Annotated[
        Path | None,
        typer.Option("--restore", help="First take the runs of such a file back in."),
    ] = None,
) -> None:
    """Print the means over the seeds, and export every run with all columns."""
    try:
        runs = runs_of(read_experiment(file))
        found = Store(store_of(file, store))
        if restore_from is not None:
            typer.echo(
                f"{restore(found, restore_from)} runs taken from {restore_from}."
            )
        if output is not None:
            count = export(found, runs, output)
            typer.echo(f"{count} runs written to {output}.")
        else:
            stdout_console().print(summary_table(found, runs))
    except (FairretError, OSError) as error:
        error_exit(error)
