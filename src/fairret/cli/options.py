"""Options that several commands have, each defined once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from fairret.errors import ArgumentError

Option = typer.Option
Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None
Number: TypeAlias = float | None
File: TypeAlias = Path | None

DataFile: TypeAlias = Annotated[
    Path, typer.Argument(help="A CSV or Parquet file with one row per person.")
]
Sensitive: TypeAlias = Annotated[
    list[str], Option(help="Column of a sensitive trait; repeat for several.")
]
Weight: TypeAlias = Annotated[Text, Option(help="Column of sample weights.")]
Positive: TypeAlias = Annotated[
    Text,
    Option(
        help="The label that is a yes, and the word for a yes in a column of "
        "decisions, unless it is 1, yes or true."
    ),
]
Unfavourable: TypeAlias = Annotated[
    bool,
    Option(
        "--unfavourable",
        help="A positive decision is a harm, such as a flag for fraud.",
    ),
]
Bins: TypeAlias = Annotated[
    Texts,
    Option(help="Where to cut a trait that is an amount, as in age=30,50; repeat."),
]
Delimiter: TypeAlias = Annotated[
    Text, Option(help="Of a CSV file. Default: detected in the header line.")
]
Encoding: TypeAlias = Annotated[
    Text, Option(help="Of a CSV file, such as latin-1. Default: UTF-8, or its mark.")
]
Decimal: TypeAlias = Annotated[
    str, Option(help="Decimal point of a CSV file: a point or a comma.")
]
Missing: TypeAlias = Annotated[
    Texts,
    Option(
        help="A word that means a missing value, as in ?; repeat for several. Empty "
        "cells always do."
    ),
]


def read_bins(texts: Sequence[str] | None) -> dict[str, list[float]]:
    """Read where to cut columns, as in "age=30,50".

    Raises:
        ArgumentError: If a text is not of this form.
    """
    return dict(map(_read_edges, texts or ()))


def _read_edges(text: str) -> tuple[str, list[float]]:
    column, sign, edges = text.rpartition("=")
    try:
        if not sign or not column:
            raise ValueError
        return column, [float(edge) for edge in edges.split(",")]
    except ValueError:
        raise ArgumentError(
            f"`--bins` must be a column and its edges; got {text!r}. For example, "
            "write `--bins age=30,50`."
        ) from None


def read_delimiter(given: str | None) -> str | None:
    """Read a delimiter; a tab is hard to type."""
    return {"\\t": "\t", "tab": "\t"}.get(given or "", given)
