"""The arguments of an audit, checked before a row is read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import cast

import torch

from fairret.auditing.cells import Layout
from fairret.auditing.groups import (
    all_cuts,
    exact_columns,
    guessed_columns,
    text_names,
)
from fairret.auditing.notions import DEFAULT
from fairret.auditing.rows import Columns
from fairret.auditing.source import Source, check_commas
from fairret.auditing.sums import make_thresholds
from fairret.checks import check_share
from fairret.errors import ArgumentError
from fairret.sensitive import Binned, Intersection
from fairret.sensitive.coded import listing
from fairret.sensitive.resolve import TraitLike
from fairret.sensitive.trait import Trait
from fairret.statistic import (
    LinearFractionalStatistic,
    get_statistic,
    statistic_names,
)
from fairret.statistic.registry import get_name


def listed_traits(
    sensitive: TraitLike | Sequence[TraitLike],
    intersections: Sequence[Sequence[str]],
) -> list[TraitLike]:
    """List the traits, then the intersections."""
    if isinstance(sensitive, str | int | Trait | Intersection):
        sensitive = [sensitive]
    listed: list[TraitLike] = list(dict.fromkeys(sensitive))
    if not listed:
        raise ArgumentError(
            "`sensitive` must name at least one column; got none. Name the traits "
            "whose groups are compared."
        )
    for crossed in intersections:
        if isinstance(crossed, str) or len(crossed) < 2:
            raise ArgumentError(
                "`intersections` must be sets of at least two columns; got "
                f"{crossed!r}. Write `[('sex', 'race')]`, or `--intersect sex,race`."
            )
        listed.append(Intersection(*crossed))
    return listed


def wanted_statistics(
    notions: Sequence[LinearFractionalStatistic | str] | None, label: str | None
) -> list[LinearFractionalStatistic]:
    """Look up the notions; by default all that can be measured."""
    if isinstance(notions, str | LinearFractionalStatistic):
        notions = [notions]
    if notions is None:
        found = map(get_statistic, DEFAULT)
        return [x for x in found if label is not None or "label" not in x.asks_for]
    for notion in notions:
        if isinstance(notion, str):
            check_commas("notions", notion, statistic_names())
    found = map(get_statistic, notions)
    statistics = list({get_name(statistic): statistic for statistic in found}.values())
    if not statistics:
        raise ArgumentError(
            "`notions` must name at least one; got none. Omit it to measure those of "
            "the paper."
        )
    for statistic in statistics:
        if label is None and "label" in statistic.asks_for:
            raise ArgumentError(
                f"`label` is required by {get_name(statistic)!r}; got none. Name the "
                "column of true outcomes, or measure 'pr' alone."
            )
        further = statistic.asks_for - {"label"}
        if further:
            raise ArgumentError(
                "`notions` of an audit must depend on the label alone; "
                f"{get_name(statistic)!r} asks for {', '.join(sorted(further))} too. "
                "Measure it with `fairret.metric.Parity`."
            )
    return statistics


def make_layout(
    sources: Sequence[Source],
    listed: Sequence[TraitLike],
    *,
    score: str | Sequence[str],
    label: str | None,
    weight: str | None,
    threshold: float | Sequence[float],
    bins: Mapping[str, Sequence[float]],
    logits: bool,
    max_categories: int,
    positive: Hashable | None,
) -> Layout:
    """Check the arguments that refer to columns; see :func:`fairret.audit`."""
    scores = _listed_scores(score, len(sources))
    values = _listed_thresholds(threshold, len(scores))
    columns = Columns(
        scores,
        label,
        weight,
        text_names(listed),
        exact_columns(listed),
        guessed_columns(listed),
        bins,
        positive,
    )
    _check_columns(sources, columns)
    own = sources if len(sources) == len(scores) else [sources[0]] * len(scores)
    named = zip(own, scores, strict=True)
    dtypes = [torch.float64 if logits else x.precision(name) for x, name in named]
    thresholds = make_thresholds(values, dtypes)
    cuts = all_cuts(listed, bins)
    return Layout(columns, thresholds, logits, max_categories, cuts)


def _listed_scores(score: str | Sequence[str], tables: int) -> tuple[str, ...]:
    """Return the score column of each model."""
    named = (score,) if isinstance(score, str) else tuple(score)
    if not 1 <= len(named) <= 2:
        raise ArgumentError(
            "`score` must name one column, or two to compare two models; got "
            f"{len(named)}. Audit two at a time."
        )
    if tables == 2:
        return named * 2 if len(named) == 1 else named
    if len(set(named)) < len(named):
        raise ArgumentError(
            f"`score` must name two different columns of a table; got {named[0]!r} "
            "twice. Name the column of the other model, or pass two tables."
        )
    return named


def _listed_thresholds(
    threshold: float | Sequence[float], models: int
) -> tuple[float, ...]:
    """Return the threshold of each model."""
    given: tuple[float, ...]
    if isinstance(threshold, list | tuple):
        given = tuple(threshold)
    else:
        given = (cast("float", threshold),) * models
    if len(given) != models:
        raise ArgumentError(
            f"`threshold` must be one number, or one for each of the {models} scores; "
            f"got {len(given)}. Pass one per model."
        )
    for value in given:
        check_share("threshold", value)
    return given


def _check_columns(sources: Sequence[Source], columns: Columns) -> None:
    """Require that every column exists and has one role."""
    scores = [columns.scores] if len(sources) == 1 else [(x,) for x in columns.scores]
    for source, own in zip(sources, scores, strict=True):
        wanted = dict.fromkeys(columns.traits, "sensitive")
        named = [*(("score", column) for column in own), ("label", columns.label)]
        for argument, column in (*named, ("weight", columns.weight)):
            if column is not None:
                if column in wanted:
                    raise ArgumentError(
                        f"`{argument}` and `{wanted[column]}` must be different "
                        f"columns; got {column!r} for both. Name another one."
                    )
                wanted[column] = argument
        source.check_columns(wanted)
    for column, edges in columns.bins.items():
        if column not in columns.traits:
            raise ArgumentError(
                f"`bins` must be of columns that `sensitive` names; got {column!r}, "
                f"and there are {listing(columns.traits)}. Add it to `sensitive`."
            )
        Binned(column, edges)  # it checks the edges
