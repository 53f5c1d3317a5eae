"""The arguments of an audit, checked before a row is read."""

from __future__ import annotations

from collections.abc import Sequence

from fairret.auditing import notions as words
from fairret.auditing.cells import Columns
from fairret.auditing.source import Source
from fairret.errors import ArgumentError
from fairret.sensitive import Binned, Intersection
from fairret.sensitive.columns import listing
from fairret.sensitive.resolve import TraitLike
from fairret.sensitive.trait import Trait
from fairret.statistic import LinearFractionalStatistic, get_statistic
from fairret.statistic.registry import name_of


def listed_traits(
    sensitive: TraitLike | Sequence[TraitLike],
    intersections: Sequence[Sequence[str]],
    min_size: float,
) -> list[TraitLike]:
    """List the traits, those that are crossed last."""
    if isinstance(sensitive, str | int | Trait | Intersection):
        sensitive = [sensitive]
    listed: list[TraitLike] = list(dict.fromkeys(sensitive))
    if not listed:
        raise ArgumentError(
            "`sensitive` must name at least one column; got none. Name the traits "
            "whose groups should be treated alike."
        )
    for crossed in intersections:
        if isinstance(crossed, str) or len(crossed) < 2:
            raise ArgumentError(
                "`intersections` must be sets of at least two columns; got "
                f"{crossed!r}. Write `[('sex', 'race')]`, or `--intersect sex,race`."
            )
        listed.append(Intersection(*crossed, min_size=min_size))
    return listed


def wanted_statistics(
    notions: Sequence[LinearFractionalStatistic | str] | None, label: str | None
) -> list[LinearFractionalStatistic]:
    """Look the notions up; by default all that can be measured."""
    if isinstance(notions, str | LinearFractionalStatistic):
        notions = [notions]
    if notions is None:
        found = map(get_statistic, words.DEFAULT)
        return [x for x in found if label is not None or "label" not in x.asks_for]
    statistics = [get_statistic(notion) for notion in dict.fromkeys(notions)]
    if not statistics:
        raise ArgumentError(
            "`notions` must name at least one; got none. Leave it out for those of the "
            "paper."
        )
    for statistic in statistics:
        if label is None and "label" in statistic.asks_for:
            raise ArgumentError(
                f"`label` is required by {name_of(statistic)!r}; got none. Name the "
                "column that tells what really happened, or ask for 'pr' alone."
            )
        strange = statistic.asks_for - {"label"}
        if strange:
            raise ArgumentError(
                "`notions` of an audit must depend on the label alone; "
                f"{name_of(statistic)!r} asks for {', '.join(sorted(strange))} too. "
                "Measure it with `fairret.metric.Parity`."
            )
    return statistics


def check_columns(source: Source, columns: Columns) -> None:
    """Require that every column is there, and has one role."""
    wanted = dict.fromkeys(columns.traits, "sensitive")
    for argument in ("score", "label", "weight"):
        column = getattr(columns, argument)
        if column is not None:
            if column in wanted:
                raise ArgumentError(
                    f"`{argument}` and `{wanted[column]}` must be different columns; "
                    f"got {column!r} for both. Name another one."
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
