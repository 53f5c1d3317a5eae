"""`fairret run` and `fairret results`: train what is missing, show what is there."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import Annotated

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
from fairret.experiment import (
    Store,
    StoreError,
    read_experiment,
    run_missing,
    runs_of,
)
from fairret.experiment.hypervolume import volume_table, volumes
from fairret.experiment.store import LEASE
from fairret.experiment.summary import export, failures, frame, restore, summary_table
from fairret.experiment.work import Outcome

FILE = Annotated[Path, typer.Argument(help="A TOML file that says what to compare.")]
STORE = Annotated[
    Path | None,
    typer.Option(help="SQLite file of the results; by default beside FILE."),
]


class Backend(str, Enum):  # old versions of typer do not take a Literal
    """Where to train."""

    LOCAL = "local"
    DASK = "dask"


def store_of(file: Path, store: Path | None) -> Path:
    """Where the results of an experiment are."""
    return store or file.with_suffix(".sqlite")


def run(
    file: FILE,
    store: STORE = None,
    jobs: Annotated[int, typer.Option(help="Trainings at a time.")] = 1,
    backend: Annotated[Backend, typer.Option(help="Where to train.")] = Backend.LOCAL,
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
        speed_estimate_period=math.inf,  # a run may take longer than the usual 30 s
        disable=not console.is_terminal,
    )
    try:
        runs = runs_of(read_experiment(file))
        results = Store(store_of(file, store))
        if retry:
            results.forget_failures(runs)
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
                backend=backend.value,
                scheduler=scheduler,
                on_progress=tell,
            )
    except FairretError as error:
        error_exit(error)
    left = count.total - count.done - count.failed
    typer.echo(
        f"{len(runs)} runs: {count.done} done now, {count.failed} failed, "
        f"{len(runs) - count.total} were there before"
        + (f", {left} with another runner" if left else "")
        + f". Results are in {results.path}."
    )
    if left:
        typer.echo(
            f"If that runner was killed, start again after {LEASE:g} seconds: its "
            "claims end then.",
            err=True,
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
    hypervolume: Annotated[
        bool,
        typer.Option(
            "--hypervolume",
            help="Print how much each method gains over Unfair: 0 nothing, 1 all.",
        ),
    ] = False,
) -> None:
    """Print the means over the seeds, and export every run with all columns."""
    try:
        wanted = read_experiment(file)
        runs = runs_of(wanted)
        path = store_of(file, store)
        if not path.exists() and restore_from is None:
            raise StoreError(
                f"`store` must be a file of results; {path} is not there. Train with "
                f"`fairret run {file}` first, or pass `--store`."
            )
        found = Store(path)
        if restore_from is not None:
            count = restore(found, restore_from)
            typer.echo(f"{count} runs taken from {restore_from}.")
        if hypervolume:
            own = volumes(frame(found, runs), wanted.traits)
            stdout_console().print(volume_table(own))
        elif output is not None:
            count = export(found, runs, output)
            typer.echo(f"{count} of {len(runs)} runs written to {output}.")
        else:
            stdout_console().print(summary_table(found, runs))
            for failed in failures(found, runs):
                typer.echo(f"Failed: {failed}")
    except (FairretError, OSError) as error:
        error_exit(error)
