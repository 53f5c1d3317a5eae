"""The audit itself: read the rows once, make groups, measure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from fairret.auditing import notions as words
from fairret.auditing.arguments import (
    check_columns,
    listed_traits,
    wanted_statistics,
)
from fairret.auditing.cells import CellTable, Columns
from fairret.auditing.column import as_numbers
from fairret.auditing.report import Audit, Part, Section, Settings
from fairret.auditing.source import Source, Tick, open_source
from fairret.auditing.traits import columns_of, exact_columns, find_groups
from fairret.checks import check_share
from fairret.errors import RangeError, ShapeError
from fairret.metric.by_label import Cells, moments_of_cells
from fairret.metric.result import Measured, results_of
from fairret.sensitive.columns import listing, text
from fairret.sensitive.resolve import TraitLike
from fairret.statistic import LinearFractionalStatistic
from fairret.statistic.registry import name_of

YES = {"1", "true", "yes", "y", "t"}
NO = {"0", "false", "no", "n", "f"}


def audit(
    data: object,
    *,
    score: str,
    sensitive: TraitLike | Sequence[TraitLike],
    label: str | None = None,
    threshold: float = 0.5,
    notions: Sequence[LinearFractionalStatistic | str] | None = None,
    weight: str | None = None,
    positive: Hashable | None = None,
    bins: Mapping[str, Sequence[float]] | None = None,
    intersections: Sequence[Sequence[str]] = (),
    min_size: float = 30,
    logits: bool = False,
    confidence: float = 0.95,
    max_categories: int = 100,
    delimiter: str | None = None,
    progress: Tick | None = None,
) -> Audit:
    """Compare a model's scores and decisions between groups of people.

    Args:
        data: A data frame, a mapping from names to arrays, or the path of a CSV or
            Parquet file, which may be larger than memory.
        score: The column of scores in [0, 1], or of decisions 0 and 1.
        sensitive: Columns, or traits of `fairret.sensitive`. Amounts, that is numbers
            with more than 20 distinct values, are cut in four bins of about equal size.
        label: The column that tells what really happened. Without it, only notions
            that need no label are measured.
        threshold: A score above it is a yes.
        notions: Statistics or their names; by default those of the paper's Table 1.
        weight: A column of sample weights.
        positive: The label that counts as positive, where labels are not 0 and 1.
        bins: Where to cut the amounts of a column, by its name.
        intersections: Sets of columns to cross.
        min_size: Rows that an intersection needs.
        logits: Whether the scores are logits.
        confidence: Of intervals and noise floors.
        max_categories: More categories in one column are an error.
        delimiter: Of a CSV file; by default it is found in the header line.
        progress: Is called with the share of the data that has been read.

    Returns:
        The audit: print it, show it in a notebook, or write it with `to_html`.

    Raises:
        FairretError: If something is wrong with the data or the arguments.

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
        Demographic parity: the share of people who get a yes is ...
    """
    listed = listed_traits(sensitive, intersections, min_size)
    statistics = wanted_statistics(notions, label)
    check_share("threshold", threshold)
    check_share("confidence", confidence)
    source = open_source(data, delimiter)
    columns = Columns(
        score, label, weight, columns_of(listed), exact_columns(listed), bins or {}
    )
    check_columns(source, columns)
    table = CellTable(columns, threshold, logits, max_categories)
    wanted = (score, label, weight, *columns.traits)
    names = [name for name in wanted if name is not None]
    numbers = [name for name in (score, weight) if name is not None]
    for chunk in source.chunks(names, numbers, progress or (lambda share: None)):
        table.add(chunk)
    rows = _check_rows(table, source)
    classes = _classes(table, positive)
    groups = find_groups(table, listed)
    total = moments_of_cells(
        _as_cells(table, classes),
        groups.s,
        statistics,
        _points(table, classes),
        labelled=label is not None,
    )
    results = results_of(
        total,
        statistics,
        names=groups.names,
        traits=groups.traits,
        confidence=confidence,
    )
    hard = all(np.isin(points, (0.0, 1.0)).all() for points in table.points.values())
    settings = Settings(
        source=source.description,
        rows=rows,
        score=score,
        label=label,
        weight=weight,
        threshold=threshold,
        logits=logits,
        confidence=confidence,
        positive=_positive_label(classes) if label is not None else None,
        hard=hard,
        min_size=min_size,
        left={k: v for k, v in vars(table.left).items() if v},
        missing={k: v for k, v in groups.missing.items() if v},
        dropped=groups.dropped,
    )
    return Audit(_sections(statistics, results), settings)


def _check_rows(table: CellTable, source: Source) -> int:
    rows = int(table.sums["rows"].sum())
    left = {name: count for name, count in vars(table.left).items() if count}
    if not rows and left:
        shown = " and ".join(f"{count} have no {name}" for name, count in left.items())
        raise ShapeError(
            "`data` must have a row with a score, and a label and a weight if these "
            f"are named; of the rows of {source.description}, {shown}. Check the "
            "columns."
        )
    if not rows:
        raise ShapeError(
            f"`data` must have at least one row; {source.description} has none. Check "
            "how it was written."
        )
    return rows


def _classes(table: CellTable, positive: Hashable | None) -> dict[Hashable, int]:
    """Tell which labels count as 1 and which as 0."""
    found = table.column(0).categories
    if table.columns.label is None:
        return dict.fromkeys(found, 0)
    name = table.columns.label
    if positive is not None:
        classes = {value: int(_word(value) == _word(positive)) for value in found}
        if not any(classes.values()):
            raise RangeError(
                f"`positive` must be a value of the label; got {positive!r}, and "
                f"column {name!r} has {listing(found)}. Write it as it is in the data."
            )
        return classes
    words_of = {value: _word(value).lower() for value in found}
    strange = [value for value, word in words_of.items() if word not in YES | NO]
    if strange:
        raise RangeError(
            f"`label` must be 0 or 1; column {name!r} has {listing(found)}. Name the "
            f"value that counts as 1: `positive={found[0]!r}` "
            f"(`--positive {text(found[0])}`), say."
        )
    return {value: int(word in YES) for value, word in words_of.items()}


def _word(value: Hashable) -> str:
    """Write a label so that 1, 1.0 and the texts of both are the same."""
    number = as_numbers([value]) if isinstance(value, str) else None
    return text(value if number is None else float(number[0])).strip()


def _positive_label(classes: Mapping[Hashable, int]) -> str | None:
    positives = [text(value) for value, y in classes.items() if y]
    return ", ".join(positives) or None


def _as_cells(table: CellTable, classes: Mapping[Hashable, int]) -> Cells:
    """Set the sums out by class, channel and power; a decision is its own square."""
    sums = {name: torch.from_numpy(x.copy()) for name, x in table.sums.items()}
    label = table.column(0)
    y = torch.tensor([classes[value] for value in label.categories])[label.codes]

    def by_class(w: str) -> Tensor:
        scores = [sums[w], sums[f"{w}h"], sums[f"{w}hh"]]
        decisions = [sums[w], sums[f"{w}f"], sums[f"{w}f"]]
        both = torch.stack((torch.stack(scores), torch.stack(decisions)))
        return torch.stack((both * (y == 0), both * (y == 1)))

    return Cells(by_class("w"), by_class("ww"), sums["rows"])


def _points(table: CellTable, classes: Mapping[Hashable, int]) -> Tensor:
    """Scores, and decisions, to look at in each class: `(2, 2, 3)`."""
    points = torch.full((2, 2, 3), torch.nan, dtype=torch.float64)
    for y in (0, 1):
        own = [x for value, x in table.points.items() if classes[value] == y]
        if own:
            h = np.concatenate(own)
            middle = h[np.abs(h - 0.5).argmin()]
            points[0, y] = torch.tensor([h.min(), middle, h.max()])
            points[1, y] = (points[0, y] > table.threshold).double()
    return points


def _sections(
    statistics: Sequence[LinearFractionalStatistic], results: Mapping[str, Measured]
) -> tuple[Section, ...]:
    sections = []
    for statistic in statistics:
        measured = results[name_of(statistic)]
        assert measured.decisions is not None  # there is a threshold
        parts = [
            Part(name, words.notion_of(part), Measured(scores, decisions))
            for part, (name, scores), decisions in zip(
                statistic.parts,
                measured.scores.parts.items(),
                measured.decisions.parts.values(),
                strict=True,
            )
        ]
        title = words.title_of(statistic)
        sections.append(Section(name_of(statistic), title, measured, tuple(parts)))
    return tuple(sections)
