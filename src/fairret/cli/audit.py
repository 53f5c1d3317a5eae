"""`fairret audit`: from a file of predictions to a table, a page or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairret.auditing import Audit, audit
from fairret.auditing.gate import MODES, Gate, check_limits, judge, needs_notions
from fairret.auditing.notions import DEFAULT
from fairret.auditing.report import check_target, write_whole
from fairret.cli.options import (
    Bins,
    Delimiter,
    Encoding,
    File,
    Missing,
    Number,
    Option,
    Positive,
    Sensitive,
    Text,
    Texts,
    Unfavourable,
    Weight,
    read_bins,
    read_delimiter,
)
from fairret.cli.tables import shown
from fairret.console import emit, error_exit, reading
from fairret.errors import ArgumentError, FairretError

FAILED = 1


def command(
    data: Annotated[
        list[Path],
        typer.Argument(
            help="A CSV or Parquet file with one row per person; two files with the "
            "same rows compare two models."
        ),
    ],
    score: Annotated[
        list[str],
        Option(
            help="Column of scores in [0, 1], or of decisions: 0 and 1, or words. "
            "Repeat it to compare two models: before, then after."
        ),
    ],
    sensitive: Sensitive,
    label: Annotated[
        Text, Option(help="Column of true outcomes: 0 or 1, or words.")
    ] = None,
    threshold: Annotated[
        list[float] | None,
        Option(
            help="Scores above it are positive decisions; repeat it for two models. "
            "Default: 0.5."
        ),
    ] = None,
    notion: Annotated[
        Texts,
        Option(
            help="Notion of fairness by name, such as tpr or tpr+fpr; repeat for "
            f"several. Default: {', '.join(DEFAULT)}."
        ),
    ] = None,
    weight: Weight = None,
    positive: Positive = None,
    unfavourable: Unfavourable = False,
    bins: Bins = None,
    intersect: Annotated[
        Texts, Option(help="Columns to cross, as in sex,race; repeat for several sets.")
    ] = None,
    min_size: Annotated[
        float,
        Option(
            help="Rows that must count for a group to be judged, such as positives for "
            "tpr. Smaller groups are shown, but not judged."
        ),
    ] = 30,
    logits: Annotated[bool, Option("--logits", help="The scores are logits.")] = False,
    missing: Missing = None,
    confidence: Annotated[
        float, Option(help="Confidence level of intervals and verdicts.")
    ] = 0.95,
    max_categories: Annotated[
        int, Option(help="Maximum number of categories of a column.")
    ] = 100,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    name: Annotated[Text, Option(help="Name of the model, for the page.")] = None,
    report: Annotated[
        File, Option(help="Write a self-contained HTML page here.")
    ] = None,
    output: Annotated[File, Option(help="Write JSON here.")] = None,
    json: Annotated[
        bool, Option("--json", help="Print JSON instead of tables.")
    ] = False,
    max_violation: Annotated[
        Number,
        Option(
            "--max-violation",
            "--fail-above",
            help="Gate: the largest violation allowed, as in 0.2 for 20%.",
        ),
    ] = None,
    min_ratio: Annotated[
        Number,
        Option(
            help="Gate: the smallest ratio of two groups of a trait allowed; 0.8 is "
            "the four-fifths rule."
        ),
    ] = None,
    max_difference: Annotated[
        Number,
        Option(help="Gate: the largest difference of two groups of a trait allowed."),
    ] = None,
    gate: Annotated[
        Text,
        Option(
            help=f"{', '.join(MODES)} (the first is the default): fail if the data "
            "show that a limit is exceeded, unless they show that it is kept, or by "
            "the estimates alone."
        ),
    ] = None,
) -> None:
    """Compare a model's decisions and scores between groups of people.

    Exit codes: 0 done, 1 the gate failed, 2 the file, the options or the output are
    invalid.
    """
    limits = {
        "max_violation": max_violation,
        "min_ratio": min_ratio,
        "max_difference": max_difference,
    }
    given = threshold or [0.5]
    gated = gate is not None or any(limit is not None for limit in limits.values())
    found = None
    try:
        if gated:  # before a row is read
            check_limits(limits, gate or MODES[0], option=True)
            if not notion:
                raise needs_notions()
        _check_targets(data, report, output)
        with reading(" and ".join(path.name for path in data)) as progress:
            result = audit(
                data,
                score=score,
                sensitive=sensitive,
                label=label,
                threshold=given if given[1:] else given[0],
                notions=notion or None,
                weight=weight,
                positive=positive,
                favourable=not unfavourable,
                bins=read_bins(bins),
                intersections=[_columns(text, sensitive) for text in intersect or []],
                min_size=min_size,
                logits=logits,
                missing=missing or [],
                confidence=confidence,
                max_categories=max_categories,
                delimiter=read_delimiter(delimiter),
                encoding=encoding,
                name=name,
                progress=progress,
            )
        if gated:
            found = judge(result, limits, mode=gate or MODES[0], notions=None)
        # the result is on the screen before anything is written that may fail
        emit(result.to_json(gate=found) if json else shown(result, found))
        _write(result, found, report, output)
    except (FairretError, OSError) as error:
        error_exit(error)
    if found is not None and not found.passed:
        for outcome in found.outcomes:
            if not outcome.passed:
                typer.echo(f"fairret: {outcome.text}", err=True)
        raise typer.Exit(FAILED)


def _check_targets(data: list[Path], report: File, output: File) -> None:
    """Refuse files that cannot be written."""
    for target in (report, output):
        if target is not None:
            check_target(target, data)
    if report is None or output is None or report.is_char_device():
        return
    if report.resolve() == output.resolve():
        raise ArgumentError(
            f"`--report` and `--output` must be two files; got {report} for both. "
            "Name another one."
        )


def _write(result: Audit, gate: Gate | None, report: File, output: File) -> None:
    if report is not None:
        result.to_html(report, gate=gate)
        typer.echo(f"Report written to {report}", err=True)
    if output is not None:
        write_whole(output, result.to_json(gate=gate) + "\n")
        typer.echo(f"JSON written to {output}", err=True)


def _columns(text: str, sensitive: list[str]) -> list[str]:
    return list(sensitive) if text == "all" else [x.strip() for x in text.split(",")]
