"""`fairret estimators`: estimators with default settings, beside other packages."""

from __future__ import annotations

from pathlib import Path

import typer

from fairret.console import error_exit
from fairret.errors import FairretError
from fairret.lab.commands import comparison as shared
from fairret.lab.estimators.methods import ESTIMATORS
from fairret.lab.estimators.page import BLOCKS
from fairret.lab.tolerance.blocks import renew
from fairret.lab.tolerance.table import Table

OUTPUT = Path("results/estimators.parquet")
DATASETS = shared.joined(ESTIMATORS.datasets)
SEEDS = shared.joined(ESTIMATORS.seeds)
METHODS = shared.joined(ESTIMATORS.methods)


def command(
    output: shared.Output = OUTPUT,
    datasets: shared.Datasets = DATASETS,
    seeds: shared.Seeds = SEEDS,
    methods: shared.Methods = METHODS,
    page: shared.Page = None,
    show: shared.Show = False,
) -> None:
    """Compare the estimators with other packages, by the code that users write.

    Safe to interrupt: rerun the command to resume. It ends with tables in Markdown, and
    with the cases where another package is ahead.
    """
    try:
        comparison = ESTIMATORS.only(
            datasets=shared.words(datasets),
            seeds=shared.whole_numbers(seeds),
            methods=shared.words(methods),
        )
        table = Table(output)
        if not show:
            shared.run_missing(comparison, table)
        data = table.frame()
        if data.empty:
            typer.echo(f"{output} has no results yet.")
            return
        for write in BLOCKS.values():
            typer.echo(f"{write(data)}\n")
        if page is not None:
            renew(page, data, BLOCKS)
            typer.echo(f"Written: {page}.")
    except (FairretError, OSError) as error:
        error_exit(error)
