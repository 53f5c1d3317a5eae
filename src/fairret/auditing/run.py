"""The audit itself: read the rows, find the groups, measure the notions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np

from fairret.auditing.arguments import listed_traits, make_layout, wanted_statistics
from fairret.auditing.cells import CellTable
from fairret.auditing.curves import Curves
from fairret.auditing.files import open_sources
from fairret.auditing.findings import Model, Part, Section, Settings
from fairret.auditing.groups import find_groups
from fairret.auditing.measure import BaseRate, Measurable, find_classes
from fairret.auditing.notions import describe, title
from fairret.auditing.reading import Reader
from fairret.auditing.report import Audit
from fairret.auditing.rows import Missing
from fairret.auditing.source import Source, Tick
from fairret.checks import check_positive, check_share
from fairret.errors import ShapeError
from fairret.metric.compute import Measured, compute_results
from fairret.metric.moments import select_notion
from fairret.metric.paired_test import PairedTest, paired_test
from fairret.metric.studentised_test import MIN_SIZE
from fairret.sensitive.coded import text
from fairret.sensitive.resolve import TraitLike
from fairret.statistic import LinearFractionalStatistic
from fairret.statistic.registry import get_name


def audit(
    data: object,
    *,
    score: str | Sequence[str],
    sensitive: TraitLike | Sequence[TraitLike],
    label: str | None = None,
    threshold: float | Sequence[float] = 0.5,
    notions: Sequence[LinearFractionalStatistic | str] | None = None,
    weight: str | None = None,
    positive: Hashable | None = None,
    favourable: bool = True,
    bins: Mapping[str, Sequence[float]] | None = None,
    intersections: Sequence[Sequence[str]] = (),
    min_size: float = MIN_SIZE,
    logits: bool = False,
    confidence: float = 0.95,
    max_categories: int = 100,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    name: str | None = None,
    progress: Tick | None = None,
) -> Audit:
    """Compare a model's scores and decisions between groups of people.

    Args:
        data: A data frame, a mapping from names to arrays, or the path of a CSV or
            Parquet file, which may be larger than memory. To compare two models, also
            a pair of these with the same rows in the same order.
        score: The column of scores in [0, 1], or of decisions 0 and 1. Two columns are
            the scores of two models, before and after. With a pair of tables, the first
            column is read from the first table and the second, or the same name, from
            the second.
        sensitive: Columns, or traits of `fairret.sensitive`. Amounts, that is numbers
            with more than 20 distinct values, are cut in four bins of about equal size.
        label: The column of true outcomes. Without it, only notions that need no label
            are measured.
        threshold: Scores above it are positive decisions. One number, or one per model.
        notions: Statistics or their names; by default those of the paper's Table 1.
        weight: A column of sample weights.
        positive: The label that counts as positive, if labels are not 0 and 1; and the
            word for a positive decision, if `score` is a column of decisions in words.
        favourable: Whether a positive decision benefits a person, such as a loan.
            With False, texts and the four-fifths rule are adapted to a harm.
        bins: Edges of bins, by column name.
        intersections: Sets of columns to cross.
        min_size: Rows that must count for a group to be judged, such as positives for
            equal opportunity. Smaller groups are shown, but not judged.
        logits: Whether the scores are logits.
        confidence: Confidence level of intervals and verdicts: the probability that a
            fair model has no group beyond chance.
        max_categories: Maximum number of categories of a column.
        delimiter: Of a CSV file; by default it is detected in the header line.
        encoding: Of a CSV file; by default UTF-8, unless the file begins with the mark
            of another.
        missing: Words that mean a missing value. Empty cells and None always do, and
            NA, null and the like do in columns of numbers.
        name: Name of the model or system, for the page.
        progress: Is called with the share of the data that has been read.

    Returns:
        The audit. Print it, show it in a notebook, or write it with `to_html`.

    Raises:
        FairretError: If the data or the arguments are invalid.

    Example:
        >>> import fairret
        >>> people = {
        ...     "sex": ["f", "m"] * 50,
        ...     "score": [0.2, 0.6, 0.7, 0.9] * 25,
        ...     "hired": [0, 1, 1, 1] * 25,
        ... }
        >>> result = fairret.audit(
        ...     people, score="score", label="hired", sensitive="sex", notions=["pr"]
        ... )
        >>> group = result.results["pr"].decisions.groups["sex=f"]
        >>> group.statistic, group.violation, group.beyond_chance
        (0.5, 0.33, True)
        >>> print(result)
        Demographic parity: beyond chance. The share of people who get a yes is ...
    """
    check_positive("min_size", min_size, "For example, pass 30.")
    check_share("confidence", confidence)
    listed = listed_traits(sensitive, intersections)
    statistics = wanted_statistics(notions, label)
    sources = open_sources(data, delimiter, encoding)
    layout = make_layout(
        sources,
        listed,
        score=score,
        label=label,
        weight=weight,
        threshold=threshold,
        bins=bins or {},
        logits=logits,
        max_categories=max_categories,
        positive=positive,
    )
    tick = progress or (lambda share: None)
    reader = Reader(sources, layout, Missing(missing), tick)
    table = reader.read(listed)
    rows = _check_rows(table, sources)
    classes = find_classes(table, positive)
    groups = find_groups(table, listed, min_size)
    positives = [text(value) for value, y in classes.items() if y]
    settings = Settings(
        name=name,
        date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        source=_described(sources),
        rows=rows,
        models=_models(table, sources),
        label=label,
        positive=", ".join(positives) or None,
        weight=weight,
        logits=logits,
        favourable=favourable,
        confidence=confidence,
        min_size=min_size,
        notions_named=notions is not None,
        left={k: v for k, v in vars(table.left).items() if v},
        missing={k: v for k, v in groups.missing.items() if v},
        dropped=groups.dropped,
    )
    measurable = Measurable(table, groups, classes)
    found = _measure(measurable, statistics, settings, sources)
    return replace(found, identifiers=tuple(reader.identifiers))


def _measure(
    rows: Measurable,
    statistics: Sequence[LinearFractionalStatistic],
    settings: Settings,
    sources: Sequence[Source],
) -> Audit:
    """Compute every notion from the cells."""
    wanted = [*statistics, *([BaseRate()] if rows.labelled else [])]
    totals = [rows.sums(wanted, model) for model in range(len(settings.models))]
    results = [
        compute_results(
            total,
            wanted,
            names=rows.groups.names,
            traits=rows.groups.traits,
            confidence=settings.confidence,
            min_size=settings.min_size,
        )
        for total in totals
    ]
    base_rates = results[0][get_name(wanted[-1])].scores if rows.labelled else None
    sizes = [len(x.parts) for x in wanted]
    sections = []
    for j, statistic in enumerate(statistics):
        compared = None
        if len(totals) == 2:
            before, after = (select_notion(total, sizes, j) for total in totals)
            cross = rows.cross(statistic)
            compared = paired_test(
                before, after, cross, settings.confidence, settings.min_size
            )
        measured = tuple(found[get_name(statistic)] for found in results)
        sections.append(_section(statistic, measured, compared, settings.favourable))
    by_name = {get_name(x): x for x in statistics}
    curves = Curves(rows, by_name, settings.confidence, settings.min_size)
    return Audit(tuple(sections), settings, base_rates, curves, tuple(sources))


def _section(
    statistic: LinearFractionalStatistic,
    measured: tuple[Measured, ...],
    compared: PairedTest | None,
    favourable: bool,
) -> Section:
    """Split a notion into its statistics."""
    split = [
        {of: list(result.parts.values()) for of, result in x._asdict().items()}
        for x in measured
    ]
    parts = []
    for k, part in enumerate(statistic.parts):
        own = [Measured(**{of: x[k] for of, x in each.items()}) for each in split]
        moved = None
        if compared is not None:
            channels = (
                PairedTest(*(x[channel, [k]] for x in compared)) for channel in (0, 1)
            )
            moved = tuple(channels)
        notion = describe(part, favourable=favourable)
        parts.append(Part(get_name(part), tuple(own), notion, moved))
    return Section(get_name(statistic), measured, title(statistic), tuple(parts))


def _models(table: CellTable, sources: Sequence[Source]) -> tuple[Model, ...]:
    """Name the models by column or, if that is the same, by file."""
    scores, thresholds = table.columns.scores, table.layout.thresholds.values
    names = list(scores)
    if len(set(names)) < len(names):
        names = [source.description for source in sources]
    if len(set(names)) < len(names):
        names = ["before", "after"]
    return tuple(
        Model(
            name,
            score,
            threshold,
            all(np.isin(points, (0.0, 1.0)).all() for points in own.values()),
        )
        for name, score, threshold, own in zip(
            names, scores, thresholds, table.points, strict=True
        )
    )


def _described(sources: Sequence[Source]) -> str:
    return " and ".join(source.description for source in sources)


def _check_rows(table: CellTable, sources: Sequence[Source]) -> int:
    rows = int(table.sums.rows.sum())
    left = {name: count for name, count in vars(table.left).items() if count}
    if not rows and left:
        shown = " and ".join(f"{count} have no {name}" for name, count in left.items())
        raise ShapeError(
            "`data` must have a row with a score, and a label and a weight if these "
            f"are named; of the rows of {_described(sources)}, {shown}. Check the "
            "columns."
        )
    if not rows:
        raise ShapeError(
            f"`data` must have at least one row; {_described(sources)} has none. Check "
            "how it was written."
        )
    return rows
