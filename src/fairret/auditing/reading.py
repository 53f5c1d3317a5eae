"""Read all rows into cells: in one pass, or in two if there are amounts to cut."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np

from fairret.auditing.amounts import Profile
from fairret.auditing.cells import AmountsError, CellTable, Layout
from fairret.auditing.groups import all_cuts
from fairret.auditing.rows import (
    NO_NUMBER,
    Columns,
    Missing,
    RawRows,
    RestartError,
    Rows,
    clean,
)
from fairret.auditing.source import Chunk, Source, Tick
from fairret.errors import RangeError, ShapeError
from fairret.sensitive.coded import Coded, Mask, Values, as_coded, plain_text
from fairret.sensitive.resolve import TraitLike

JOIN = "Join the two tables into one, and pass both score columns."


class Reader:
    """Reads the rows as often as necessary.

    What has been learnt about the columns is kept when reading restarts: which hold
    text, which are amounts, and where amounts are cut.

    Args:
        sources: One table, or one per score.
        layout: How rows become cells.
        missing: Finds the missing values.
        tick: Is called with the share that has been read.
    """

    def __init__(
        self, sources: Sequence[Source], layout: Layout, missing: Missing, tick: Tick
    ) -> None:
        self._sources = sources
        self._layout = layout
        self._missing = missing
        self._tick = tick
        self._done = 0.0
        self._floats: set[str] = set()  # traits to be parsed as numbers
        self.identifiers: list[str] = []  # amounts that may be identifiers
        for source in sources:
            source.no_number = missing.no_number

    def read(self, listed: Sequence[TraitLike]) -> CellTable:
        """Sum all rows.

        Args:
            listed: The traits as the user named them.
        """
        begin = 0.0
        while True:
            table = CellTable(self._layout)
            try:
                with self._rows(begin, 1.0) as chunks:
                    for rows in chunks:
                        table.add(rows)
                return table
            except RestartError:
                continue
            except AmountsError:
                self._learn(listed)
                begin = 0.5

    def _learn(self, listed: Sequence[TraitLike]) -> None:
        """Find where to cut the amounts."""
        columns = self._layout.columns
        names = sorted(columns.guessed - columns.bins.keys())
        profiles = None
        while profiles is None:
            profiles = self._profiles(names)
        edges = {name: profile.edges() for name, profile in profiles.items()}
        self.identifiers = [
            name
            for name, profile in profiles.items()
            if profile.identifies and edges[name] is not None
        ]
        bins = {
            **columns.bins,
            **{name: own for name, own in edges.items() if own is not None},
        }
        self._layout = replace(
            self._layout,
            columns=columns._replace(bins=bins),
            cuts=all_cuts(listed, bins),
            settled=columns.guessed,
        )

    def _profiles(self, names: Sequence[str]) -> dict[str, Profile] | None:
        """Collect the distributions of columns; None if reading must restart."""
        profiles = {name: Profile(name) for name in names}
        try:
            with self._rows(0.0, 0.5) as chunks:
                for rows in chunks:
                    for name, profile in profiles.items():
                        profile.add(rows.traits[name], rows.known)
        except RestartError:
            return None
        return profiles

    def _checked(self, rows: Rows) -> Rows:
        """Have columns of many numbers parsed as such, which is faster than text."""
        layout = self._layout
        numeric = layout.columns.guessed | layout.columns.exact | layout.cuts.keys()
        for name in numeric - self._floats:
            values = rows.traits[name]
            if not isinstance(values, Coded) or values.nominal:
                continue
            many = len(values.categories) > layout.max_categories
            if many and values.parsed is not None:
                self._floats.add(name)
                raise RestartError
        return rows

    @contextmanager
    def _rows(self, begin: float, end: float) -> Iterator[Iterator[Rows]]:
        def report(share: float) -> None:
            self._done = max(self._done, begin + (end - begin) * share)
            self._tick(self._done)  # it never decreases, even if rows are read again

        columns = self._layout.columns
        floats = sorted(self._floats)
        with closing(_read_rows(self._sources, columns, floats, report)) as chunks:
            yield (self._checked(clean(raw, columns, self._missing)) for raw in chunks)


def _read_rows(
    sources: Sequence[Source], columns: Columns, numbers: Sequence[str], tick: Tick
) -> Generator[RawRows]:
    """Yield the rows of one table, or of two side by side, chunk by chunk.

    Args:
        sources: One table, or one per score.
        columns: The columns by their role.
        numbers: Further columns that hold numbers, besides scores and weight.
        tick: Is called with the share that has been read.

    Raises:
        RangeError: If two tables differ in a column that both have.
        ShapeError: If they have different numbers of rows.
    """
    floats = [*columns.scores, *numbers]
    if columns.weight is not None:
        floats.append(columns.weight)
    if len(sources) == 1:
        names = [*columns.scores, *columns.shared]
        with closing(sources[0].chunks(names, floats, tick)) as chunks:
            for chunk in chunks:
                yield RawRows(tuple(chunk[name] for name in columns.scores), chunk)
        return
    first, second = columns.scores
    start = 1
    with (
        closing(sources[0].chunks([first, *columns.shared], floats, tick)) as one,
        closing(
            sources[1].chunks([second, *columns.shared], floats, lambda share: None)
        ) as other,
    ):
        for left, right in _aligned(one, other, sources):
            for name in columns.shared:
                _check_same(name, left[name], right[name], start, sources)
            start += _length(left)
            yield RawRows((left[first], right[second]), left)


def _aligned(
    one: Generator[Chunk], other: Generator[Chunk], sources: Sequence[Source]
) -> Generator[tuple[Chunk, Chunk]]:
    """Cut two streams of chunks at the same rows."""
    streams, rows = (one, other), 0
    pair: list[Chunk | None] = [None, None]
    while True:
        pair = [have or _next(new) for have, new in zip(pair, streams, strict=True)]
        left, right = pair
        if left is None or right is None:
            break
        n = min(_length(left), _length(right))
        yield _part(left, slice(n)), _part(right, slice(n))
        rows += n
        pair = [
            _part(x, slice(n, None)) if n < _length(x) else None for x in (left, right)
        ]
    if left is not None or right is not None:
        shorter, longer = sources if left is None else reversed(sources)
        raise ShapeError(
            "`data` must be two tables with the same rows in the same order; "
            f"{shorter.description} has {rows} rows and {longer.description} has more. "
            f"{JOIN}"
        )


def _next(chunks: Generator[Chunk]) -> Chunk | None:
    return next((chunk for chunk in chunks if _length(chunk)), None)


def _length(chunk: Mapping[str, Values]) -> int:
    return len(next(iter(chunk.values())))


def _part(chunk: Chunk, rows: slice) -> Chunk:
    return {name: values[rows] for name, values in chunk.items()}


def _check_same(
    name: str, one: Values, other: Values, start: int, sources: Sequence[Source]
) -> None:
    differs = _differs(one, other)
    if differs.any():
        k = int(differs.argmax())
        found, instead = (_shown(values, k) for values in (one, other))
        raise RangeError(
            "`data` must be two tables with the same rows in the same order; in row "
            f"{start + k}, column {name!r} is {found} in {sources[0].description} and "
            f"{instead} in {sources[1].description}. {JOIN}"
        )


def _differs(one: Values, other: Values) -> Mask:
    both = isinstance(one, Coded) and isinstance(other, Coded)
    x, y = (v.numbers() if isinstance(v, Coded) else v for v in (one, other))
    if not both and x is not None and y is not None:
        return np.asarray(~((x == y) | (np.isnan(x) & np.isnan(y))))
    a, b = as_coded(one), as_coded(other)
    if a.categories == b.categories:
        return np.asarray(a.codes != b.codes)
    number: dict[str, int] = {}
    codes = []
    for column in (a, b):
        words = [_word(value) for value in column.categories]
        table = [number.setdefault(word, len(number)) if word else -1 for word in words]
        codes.append(np.array([*table, -1], dtype=np.intp)[column.codes])
    return np.asarray(codes[0] != codes[1])


def _word(value: Hashable) -> str:
    word = plain_text(value)
    return "" if word in NO_NUMBER else word


def _shown(values: Values, k: int) -> str:
    value = as_coded(values[k : k + 1]).to_numpy()[0]
    return "missing" if value is None else repr(value)
