"""Read all rows into cells: in one pass, or in two if there are amounts to cut."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import NoReturn

import numpy as np

from fairret.auditing.amounts import Profile
from fairret.auditing.cells import AmountsError, CellTable, Layout
from fairret.auditing.groups import all_cuts
from fairret.auditing.rows import (
    NO_NUMBER,
    Columns,
    Missing,
    NotDecisionsError,
    NotNumbersError,
    RawRows,
    RestartError,
    Rows,
    are_codes,
    checked_score,
    clean,
)
from fairret.auditing.source import Chunk, Source, Tick
from fairret.errors import DtypeError, FairretError, RangeError, ShapeError
from fairret.sensitive.coded import (
    MOST_CODES,
    Coded,
    Mask,
    Values,
    as_coded,
    listing,
    parse_numbers,
    plain_text,
)
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
        self._words: dict[str, FairretError] = {}  # decisions in words
        self._yes: set[str] = set()  # those in which somebody gets a yes
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
                self._check_yes()
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

    def _check_yes(self) -> None:
        """Require that the word for a yes occurs in decisions."""
        wanted = self._layout.columns.positive
        for name in self._words:
            if name not in self._yes:
                raise RangeError(
                    "`positive` must be a value of decisions in words; column "
                    f"{name!r} does not have {'yes' if wanted is None else wanted!r}. "
                    "Write it as it is in the data."
                )

    def _learn_words(self, column: str, error: FairretError) -> None:
        """Read a column of scores as decisions in words from now on."""
        self._words[column] = error
        columns = self._layout.columns._replace(words=frozenset(self._words))
        self._layout = replace(self._layout, columns=columns)

    def _refuse(self, error: NotDecisionsError) -> NoReturn:
        """Explain why a column is no column of decisions."""
        columns, values = self._layout.columns, error.values
        words = all(parse_numbers([value]) is None for value in values)
        before = self._words[error.column]
        if columns.positive is None and words and len(values) <= MOST_CODES:
            raise DtypeError(
                f"`score` must hold numbers; column {error.column!r} has "
                f"{listing(values, 4)}. If these are decisions, say which one is a "
                "yes with `positive` (`--positive VALUE`)."
            ) from None
        raise before from None

    def _checked(self, rows: Rows) -> Rows:
        """Notice columns that are not what they were taken for.

        Columns of many numbers are parsed as such, which is faster than text. Numbers
        such as 1 and 2 may be decisions if the one that is a yes is named.
        """
        layout = self._layout
        scores = layout.columns.scores
        for name, h in zip(scores, rows.scores, strict=True):
            if name in self._words and (h == 1).any():
                self._yes.add(name)
            named = layout.columns.positive is not None and not layout.logits
            if named and name not in self._words and are_codes(h):
                try:
                    checked_score(h[~np.isnan(h)], name, logits=False)
                except RangeError as error:
                    self._learn_words(name, error)
                raise RestartError
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
            try:
                yield (self._checked(clean(x, columns, self._missing)) for x in chunks)
            except NotNumbersError as error:
                if error.column in {*columns.scores} - {*self._words}:
                    self._learn_words(error.column, error)
                    raise RestartError from None
                raise
            except NotDecisionsError as error:
                self._refuse(error)


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
    floats = [*(x for x in columns.scores if x not in columns.words), *numbers]
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
