"""`fairret run` and `fairret results`: train missing runs, show finished ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich import progress
from rich.console import Console
from rich.table import Column

from fairret.console import error_exit, stdout_console
from fairret.errors import FairretError
from fairret.lab.commands.tables import failures, summary_table, volume_table
from fairret.lab.experiment import (
    Progress,
    Run,
    Store,
    StoreError,
    list_runs,
    read_experiment,
    run_missing,
)
from fairret.lab.experiment.export import export, export_volumes, frame, read_export
from fairret.lab.experiment.hypervolume import Volume, volumes
from fairret.lab.experiment.store import LEASE
from fairret.lab.experiment.work import Outcome

FAILED = 1
MEASURES: tuple[Literal["violation"], Literal["violation_beyond_chance"]] = (
    "violation",
    "violation_beyond_chance",
)
SHOWN = 5  # reasons of failures
FILE = Annotated[Path, typer.Argument(help="A TOML file that says what to compare.")]
STORE = Annotated[
    Path | None,
    typer.Option(help="SQLite file of the results; by default beside the TOML file."),
]


class Backend(str, Enum):  # old versions of typer do not take a Literal
    """Where to train."""

    LOCAL = "local"
    DASK = "dask"


def store_path(file: Path, store: Path | None) -> Path:
    """Return the file of results of an experiment."""
    return store or file.with_suffix(".sqlite")


def description_column() -> progress.TextColumn:
    """Make a column of words that leaves room for counts and times on 80 columns."""
    own = Column(max_width=36, no_wrap=True, overflow="ellipsis")
    return progress.TextColumn("{task.description}", markup=False, table_column=own)


def progress_bar(*columns: Any, **options: Any) -> progress.Progress:
    """Make a progress bar on standard error, hidden if that is not a terminal."""
    console = Console(stderr=True)
    return progress.Progress(
        *columns, console=console, disable=not console.is_terminal, **options
    )


def run(
    file: FILE,
    store: STORE = None,
    jobs: Annotated[int, typer.Option(help="Number of parallel trainings.")] = 1,
    backend: Annotated[Backend, typer.Option(help="Where to train.")] = Backend.LOCAL,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of the Dask scheduler.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Train failed runs again.")
    ] = False,
) -> None:
    """Train all missing runs. Safe to interrupt: rerun the command to resume.

    Exit codes: 0 done, 1 a run of the file has failed, now or before, 2 something is
    wrong with the file, the options, the data or the packages.
    """
    bar = progress_bar(
        description_column(),
        *(
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
        ),
        *(progress.TextColumn("left"), progress.TimeRemainingColumn()),
        speed_estimate_period=math.inf,  # a run may take longer than the default 30 s
    )
    try:
        wanted = read_experiment(file)
        runs = list_runs(wanted)
        results = Store(store_path(file, store))
        if retry:
            results.forget_failures(runs)
        with bar:
            task = bar.add_task("Training", total=None)

            def tell(count: Progress, last: Outcome | None) -> None:
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
        failed = failures(results, runs)
    except FairretError as error:
        error_exit(error)
    _show_counts(len(runs), count, len(failed), results.path)
    if failed:
        _show_failures(file, [reason for _, reason in failed])
        raise typer.Exit(FAILED)


def _show_counts(runs: int, count: Progress, failed: int, path: Path) -> None:
    failed_before = max(0, failed - count.failed)
    left = count.total - count.done - count.failed
    typer.echo(
        f"{runs} runs: {count.done} done now, {count.failed} failed, "
        f"{runs - count.total} were there before"
        + (f" ({failed_before} as failed)" if failed_before else "")
        + (f", {left} with another runner" if left else "")
        + f". Results are in {path}."
    )
    if left:
        typer.echo(
            f"If that runner was killed, start again after {LEASE:g} seconds, when its "
            "claims expire.",
            err=True,
        )


def _show_failures(file: Path, reasons: Sequence[str]) -> None:
    """Show the commonest reasons of failures, and what to do."""
    counts = Counter(reasons).most_common()
    for reason, count in counts[:SHOWN]:
        typer.echo(f"Failed, {_runs(count)}: {reason}", err=True)
    if rest := sum(count for _, count in counts[SHOWN:]):
        typer.echo(
            f"Failed, {_runs(rest)}, for {len(counts) - SHOWN} other reasons: `fairret "
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
        typer.Option(help="Write all columns, or volumes, here: .csv or .parquet."),
    ] = None,
    restore_from: Annotated[
        Path | None,
        typer.Option("--restore", help="First add the runs of such a file."),
    ] = None,
    hypervolume: Annotated[
        bool,
        typer.Option(
            "--hypervolume",
            help="Print how much each method gains over Unfair: 0 nothing, 1 all.",
        ),
    ] = False,
    curve: Annotated[
        bool,
        typer.Option(
            "--curve",
            help="With --hypervolume: the area dominated by the line of marks.",
        ),
    ] = False,
    beyond_chance: Annotated[
        bool,
        typer.Option(
            "--beyond-chance",
            help="With --hypervolume: of the violation beyond chance.",
        ),
    ] = False,
) -> None:
    """Print the means over the seeds, or export every run with all columns.

    Exit codes: 0 done, 2 something is wrong with the file, the options or the store.
    """
    if (curve or beyond_chance) and not hypervolume:
        name = "--curve" if curve else "--beyond-chance"
        raise typer.BadParameter(f"`{name}` needs `--hypervolume`.")
    try:
        wanted = read_experiment(file)
        runs = list_runs(wanted)
        path = store_path(file, store)
        if not path.exists() and restore_from is None:
            raise StoreError(
                f"`store` must be a file of results; {path} does not exist. Train with "
                f"`fairret run {file}` first, or pass `--store`."
            )
        found = Store(path)
        if restore_from is not None:
            _restore(found, runs, restore_from)
        count = _count_finished(found, runs)
        if count == 0 and output is None:
            typer.echo(
                f"{path} has no run of {file}. Train with `fairret run {file}` first."
            )
            return
        if count < len(runs) and (hypervolume or output is None):
            typer.echo(f"{count} of {_runs(len(runs))} are finished.", err=True)
        if hypervolume:
            own = volumes(frame(found, runs), wanted.traits, MEASURES[beyond_chance])
            _show_volumes(own, output, curve=curve, beyond_chance=beyond_chance)
        elif output is not None:
            export(found, runs, output)
            typer.echo(f"{count} of {len(runs)} runs written to {output}.")
        else:
            stdout_console().print(summary_table(found, runs, wanted.traits))
            for name, reason in failures(found, runs):
                typer.echo(f"Failed: {name}: {reason}")
    except (FairretError, OSError) as error:
        error_exit(error)


def _show_volumes(
    own: Sequence[Volume], output: Path | None, *, curve: bool, beyond_chance: bool
) -> None:
    if output is None:
        table = volume_table(own, curve=curve, beyond_chance=beyond_chance)
        stdout_console().print(table)
    else:
        export_volumes(own, output, MEASURES[beyond_chance])
        typer.echo(f"{len(own)} volumes written to {output}.")


def _restore(store: Store, runs: Sequence[Run], path: Path) -> None:
    rows = read_export(path)
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


def _count_finished(store: Store, runs: Sequence[Run]) -> int:
    """Count the finished runs; if some are missing, say what else the store has."""
    keys = {run.key for run in runs}
    found = [key in keys for key, _ in store.finished()]
    if found.count(True) < len(keys) and not all(found):
        typer.echo(
            f"{store.path} also has {_runs(found.count(False))} of another experiment, "
            "version or configuration.",
            err=True,
        )
    return found.count(True)
