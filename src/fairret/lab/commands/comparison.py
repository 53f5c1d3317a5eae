"""What `fairret tolerance` and `fairret estimators` have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich import progress

from fairret.lab.commands.experiment import description_column, progress_bar
from fairret.lab.tolerance.cases import Comparison
from fairret.lab.tolerance.run import run_cases
from fairret.lab.tolerance.table import Table

Output = Annotated[Path, typer.Option(help="Parquet file of the results.")]
Datasets = Annotated[str, typer.Option(help="Names of datasets, separated by commas.")]
Seeds = Annotated[str, typer.Option(help="Seeds of the splits, separated by commas.")]
Methods = Annotated[str, typer.Option(help="Names of methods, separated by commas.")]
Page = Annotated[
    Path | None, typer.Option(help="Markdown file whose tables to replace.")
]
Show = Annotated[bool, typer.Option("--show", help="Run nothing; show the results.")]


def joined(names: Iterable[object]) -> str:
    """Write names as options take them."""
    return ",".join(map(str, names))


def words(text: str) -> tuple[str, ...]:
    """Read names that are separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def whole_numbers(text: str) -> tuple[int, ...]:
    """Read seeds."""
    found = words(text)
    if not all(word.isdecimal() for word in found):
        raise typer.BadParameter(f"`--seeds` must be whole numbers; got {text!r}.")
    return tuple(map(int, found))


def run_missing(comparison: Comparison, table: Table) -> None:
    """Run the cases that the table lacks, with a progress bar."""
    bar = progress_bar(
        description_column(),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    cases = comparison.list_cases()
    before = sum(case in table for case in cases)
    with bar:
        task = bar.add_task("", total=len(cases), completed=before - 1)
        count = run_cases(
            cases,
            table,
            comparison.methods,
            lambda case: bar.update(task, description=str(case), advance=1),
        )
    typer.echo(f"{count} cases run, {before} were there before: {table.path}.")
