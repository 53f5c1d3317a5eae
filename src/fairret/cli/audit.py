"""`fairret audit`: from a file of predictions to a table, a page or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairret.auditing import Audit, audit
from fairret.auditing.notions import DEFAULT
from fairret.cli.console import error_exit, reading
from fairret.cli.tables import show
from fairret.errors import ArgumentError, FairretError

FAILED = 1


def command(
    data: Annotated[
        Path, typer.Argument(help="A CSV or Parquet file with a row for each person.")
    ],
    score: Annotated[
        str, typer.Option(help="Column of scores in [0, 1], or of decisions 0 and 1.")
    ],
    sensitive: Annotated[
        list[str],
        typer.Option(help="Column of a sensitive trait; repeat for several."),
    ],
    label: Annotated[
        str | None,
        typer.Option(help="Column that tells what really happened, 0 or 1."),
    ] = None,
    threshold: Annotated[float, typer.Option(help="A score above it is a yes.")] = 0.5,
    notion: Annotated[
        list[str] | None,
        typer.Option(
            help="Notion of fairness by name, such as tpr or tpr+fpr; repeat for "
            f"several. By default: {', '.join(DEFAULT)}."
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Column of sample weights.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The label that counts as 1.")
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(help="Where to cut an amount, as in age=30,50; else in four."),
    ] = None,
    intersect: Annotated[
        list[str] | None,
        typer.Option(help="Columns to cross, as in sex,race; repeat for several sets."),
    ] = None,
    min_size: Annotated[
        float, typer.Option(help="Rows that an intersection needs.")
    ] = 30,
    logits: Annotated[
        bool, typer.Option("--logits", help="The scores are logits.")
    ] = False,
    confidence: Annotated[
        float, typer.Option(help="Of intervals and noise floors.")
    ] = 0.95,
    max_categories: Annotated[
        int, typer.Option(help="More categories in a column are an error.")
    ] = 100,
    delimiter: Annotated[
        str | None, typer.Option(help="Of a CSV file, if the header does not tell.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a self-contained HTML page here.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON for machines, no tables.")
    ] = False,
    fail_above: Annotated[
        float | None,
        typer.Option(
            help="Exit with code 1 if the decisions violate a notion by more than this."
        ),
    ] = None,
) -> None:
    """Compare a model's decisions and scores between groups of people.

    Exit codes: 0 done, 1 a violation is above --fail-above, 2 something is wrong with
    the file or the options.
    """
    try:
        if fail_above is not None and not fail_above > 0:
            raise ArgumentError(
                f"`--fail-above` must be positive; got {fail_above:g}. Pass 0.2 for "
                "20 %, say."
            )
        with reading(data.name) as progress:
            result = audit(
                data,
                score=score,
                sensitive=sensitive,
                label=label,
                threshold=threshold,
                notions=notion or None,
                weight=weight,
                positive=positive,
                bins=dict(map(_edges, bins or [])),
                intersections=[_columns(text, sensitive) for text in intersect or []],
                min_size=min_size,
                logits=logits,
                confidence=confidence,
                max_categories=max_categories,
                delimiter=_delimiter(delimiter),
                progress=progress,
            )
        if report is not None:
            result.to_html(report)
    except (FairretError, OSError) as error:
        error_exit(error)
    if json:
        typer.echo(result.to_json().encode())  # JSON is UTF-8, wherever it goes
    else:
        show(result, report)
    if fail_above is not None:
        _fail(result, fail_above)


def _fail(result: Audit, limit: float) -> None:
    """Leave with code 1 if a violation is above the limit."""
    above = result.above(limit)
    for section in above:
        found = float(section.decisions.max_violation)
        typer.echo(
            f"fairret: {section.title} is violated by {found:.1%}, above {limit:.1%}.",
            err=True,
        )
    if above:
        raise typer.Exit(FAILED)


def _edges(text: str) -> tuple[str, list[float]]:
    column, sign, edges = text.rpartition("=")
    try:
        if not sign or not column:
            raise ValueError
        return column, [float(edge) for edge in edges.split(",")]
    except ValueError:
        raise ArgumentError(
            f"`--bins` must be a column and where to cut it; got {text!r}. Write "
            "`--bins age=30,50`, say."
        ) from None


def _columns(text: str, sensitive: list[str]) -> list[str]:
    return list(sensitive) if text == "all" else [x.strip() for x in text.split(",")]


def _delimiter(text: str | None) -> str | None:
    """Read a delimiter; a tab is hard to type."""
    return None if text is None else {"\\t": "\t", "tab": "\t"}.get(text, text)
