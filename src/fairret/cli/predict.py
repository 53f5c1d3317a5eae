"""`fairret predict`: decisions of a saved model for a table of new people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairret.auditing.report import check_target, write_whole
from fairret.cli.options import (
    DataFile,
    Decimal,
    Delimiter,
    Encoding,
    Missing,
    Option,
    read_delimiter,
)
from fairret.cli.saved import read_model
from fairret.cli.table import CsvFormat, Table, copy_table, read_table
from fairret.console import error_exit, noted, steps
from fairret.errors import ArgumentError, FairretError


def command(
    model: Annotated[Path, typer.Argument(help="A model of `fairret fit`.")],
    data: DataFile,
    output: Annotated[
        Path,
        Option(help="Write rows and decisions here, as CSV or .parquet."),
    ],
    name: Annotated[str, Option(help="Name of the column of decisions.")] = "decision",
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    missing: Missing = None,
) -> None:
    """Decide about new people.

    The output has all columns of the input, the decision, and its margin: how far it is
    from the other decision. Exit codes: 0 done, 2 the files or the options are invalid.
    """
    try:
        check_target(output, [model, data])
        if name == "margin":
            raise ArgumentError(
                "`--name` must not be 'margin', which is another column of the output."
            )
        with steps() as step, noted() as notes:
            step(f"Reading {model.name}")
            saved = read_model(model)
            step(f"Reading {data.name}")
            written = CsvFormat(
                read_delimiter(delimiter), encoding, decimal, tuple(missing or ())
            )
            table = read_table(data, written, {**saved.kinds, **saved.traits})
            step(f"Deciding about {len(table.frame):,} people")
            decided = saved.decide(table)
            _check_free(table, name)
            added = {name: decided.label, "margin": decided.margin}
            frame = copy_table(data, written).assign(**added)
            write_whole(output, _content(frame, output))
        for note in (*saved.notes(table), *notes):
            typer.echo(note, err=True)
        yes = float((decided.margin > 0).mean()) if len(frame) else 0.0
        typer.echo(
            f"{len(frame):,} decisions written to {output}: {yes:.1%} are "
            f"{saved.positive!r}.",
            err=True,
        )
    except (FairretError, ValueError, OSError) as error:
        error_exit(error)


def _content(frame: Any, output: Path) -> str | bytes:
    if output.suffix == ".parquet":
        return bytes(frame.to_parquet(index=False))
    return str(frame.to_csv(index=False))


def _check_free(table: Table, name: str) -> None:
    """Refuse to replace a column of the input."""
    for column, hint in ((name, "Pass another `--name`"), ("margin", "Rename it")):
        if column in table.frame:
            raise ArgumentError(
                f"{table.path.name} has a column {column!r} already. {hint}."
            )
