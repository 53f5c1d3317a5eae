"""`fairret run` and `fairret results`: train what is missing, show what is there."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    Run,
    Store,
    StoreError,
    read_experiment,
    run_missing,
    runs_of,
)
from fairret.experiment.frames import export, export_volumes, exported, frame
from fairret.experiment.hypervolume import volume_table, volumes
from fairret.experiment.store import LEASE
from fairret.experiment.summary import failures, reasons, summary_table
from fairret.experiment.work import Outcome

FILE = Annotated[Path, typer.Argument(help="A TOML file that says what to compare.")]
FAILED = 1
SHOWN = 5  # reasons of failures
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


def _progress_bar() -> Progress:
    """Show how many runs are done and how long the rest takes, on a terminal."""
    console = Console(stderr=True)
    return Progress(
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
    """Train what the store lacks; stopped at any moment, the same command goes on.

    Exit codes: 0 done, 1 a run of the file has failed, now or before, 2 something is
    wrong with the file, the options, the data or the packages.
    """
    bar = _progress_bar()
    try:
        wanted = read_experiment(file)
        runs = runs_of(wanted)
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
                plugins=wanted.plugins,
                on_progress=tell,
            )
        why = reasons(results, runs)
    except FairretError as error:
        error_exit(error)
    failed_before = max(0, sum(n for _, n in why) - count.failed)
    left = count.total - count.done - count.failed
    typer.echo(
        f"{len(runs)} runs: {count.done} done now, {count.failed} failed, "
        f"{len(runs) - count.total} were there before"
        + (f" ({failed_before} as failed)" if failed_before else "")
        + (f", {left} with another runner" if left else "")
        + f". Results are in {results.path}."
    )
    if left:
        typer.echo(
            f"If that runner was killed, start again after {LEASE:g} seconds: its "
            "claims end then.",
            err=True,
        )
    if why:
        _tell_failures(file, why)
        raise typer.Exit(FAILED)


def _tell_failures(file: Path, why: list[tuple[str, int]]) -> None:
    """Say why runs have failed, and what to do."""
    for reason, count in why[:SHOWN]:
        typer.echo(f"Failed, {_runs(count)}: {reason}", err=True)
    if rest := sum(count for _, count in why[SHOWN:]):
        typer.echo(
            f"Failed, {_runs(rest)}, for {len(why) - SHOWN} other reasons: `fairret "
            f"results {file}` lists them.",
            err=True,
        )
    typer.echo("Remove the cause, then pass `--retry` to train them again.", err=True)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


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
    """Print the means over the seeds, and export every run with all columns.

    Exit codes: 0 done, 2 something is wrong with the file, the options or the store.
    """
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
            _restore(found, runs, restore_from)
        count = _tell_others(found, runs)
        if count == 0 and output is None:
            typer.echo(
                f"{path} has no run of {file}. Train with `fairret run {file}` first."
            )
        elif hypervolume:
            _tell_lack(count, runs)
            own = volumes(frame(found, runs), wanted.traits)
            if output is not None:
                written = export_volumes(own, output)
                typer.echo(f"{written} volumes written to {output}.")
            else:
                stdout_console().print(volume_table(own))
        elif output is not None:
            export(found, runs, output)
            typer.echo(f"{count} of {len(runs)} runs written to {output}.")
        else:
            _tell_lack(count, runs)
            stdout_console().print(summary_table(found, runs, wanted.traits))
            for failed in failures(found, runs):
                typer.echo(f"Failed: {failed}")
    except (FairretError, OSError) as error:
        error_exit(error)


def _restore(store: Store, runs: Sequence[Run], path: Path) -> None:
    rows = exported(path)
    keys = {run.key for run in runs}
    other = sum(key not in keys for key, _ in rows)
    new = store.restore(rows)
    here = len(rows) - new
    typer.echo(
        f"{_runs(new)} taken from the {len(rows)} of {path}"
        + (f"; {_runs(here)} already here" if here else "")
        + (f"; {_runs(other)} of another version or configuration" if other else "")
        + "."
    )


def _tell_lack(count: int, runs: Sequence[Run]) -> None:
    """Say that what follows is of a part of the runs."""
    if count < len(runs):
        typer.echo(f"{count} of {_runs(len(runs))} are finished.", err=True)


def _tell_others(store: Store, runs: Sequence[Run]) -> int:
    """Say what else is in a store that lacks some; count those wanted."""
    keys = {run.key for run in runs}
    found = [key in keys for key, _ in store.finished()]
    if found.count(True) < len(keys) and not all(found):
        typer.echo(
            f"{store.path} also has {_runs(found.count(False))} of another experiment, "
            "version or configuration.",
            err=True,
        )
    return found.count(True)
