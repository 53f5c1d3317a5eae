"""Rows of a chunk as an audit needs them: scores, label, weight and traits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairret.errors import DtypeError, RangeError
from fairret.sensitive.coded import (
    MOST_CODES,
    Coded,
    Mask,
    Numbers,
    Values,
    as_coded,
    listing,
    parse_numbers,
    plain_text,
)

YES = {"1", "true", "yes", "y", "t"}
NO = {"0", "false", "no", "n", "f"}

# What pandas and pyarrow write or read in place of a number.
NO_NUMBER = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)


class RestartError(Exception):
    """An assumption about a column was wrong: read again from the first row."""


class NotNumbersError(DtypeError):
    """A column that should hold numbers holds something else."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


class NotDecisionsError(Exception):
    """A column holds neither numbers nor decisions in words."""

    def __init__(self, column: str, values: Sequence[Hashable]) -> None:
        super().__init__(column)
        self.column, self.values = column, values


class Missing:
    """Distinguishes missing values from text: NA is Namibia in a column of countries.

    A column holds numbers until a value is seen that is neither a number nor one of
    the words for a missing number. What is learnt about columns outlives a restart.

    Args:
        words: Further words that mean a missing value in every column.
    """

    def __init__(self, words: Sequence[str] = ()) -> None:
        given = [words] if isinstance(words, str) else words
        self.words = frozenset(str(word).strip() for word in given)
        found = [parse_numbers([word]) for word in self.words]
        self._numbers = [float(x[0]) for x in found if x is not None]
        self._text: set[str] = set()  # columns with a value that is no number
        self._hidden: set[str] = set()  # columns in which words counted as missing

    @property
    def no_number(self) -> list[str]:
        """All words that mean a missing value in a column of numbers."""
        return sorted({"", *NO_NUMBER, *self.words})

    def hide(self, name: str, values: Values, *, numeric: bool = False) -> Values:
        """Mark the missing values of a chunk.

        Args:
            name: The column.
            values: Its values.
            numeric: Whether the column must hold numbers.

        Raises:
            RestartError: If NA was wrongly treated as missing in earlier rows.
        """
        if not isinstance(values, Coded):
            if not self._numbers:
                return values
            return np.where(np.isin(values, self._numbers), np.nan, values)
        words = [_stripped(value) for value in values.categories]
        gone = [word in self.words or word == "" for word in words]
        unsure = [word in NO_NUMBER for word in words]
        if not numeric and name not in self._text:
            rest = zip(values.categories, gone, unsure, strict=True)
            if parse_numbers([v for v, out, maybe in rest if not out | maybe]) is None:
                self._text.add(name)
                if name in self._hidden:
                    raise RestartError
        if any(unsure) and (numeric or name not in self._text):
            self._hidden.add(name)
            gone = [out | maybe for out, maybe in zip(gone, unsure, strict=True)]
        return values.without(gone) if any(gone) else values


def _stripped(value: Hashable) -> str | None:
    return value.strip() if isinstance(value, str) else None


class Columns(NamedTuple):
    """The columns of an audit, by their role."""

    scores: tuple[str, ...]  # one per model
    label: str | None
    weight: str | None
    traits: tuple[str, ...]
    exact: frozenset[str]  # traits whose numbers are kept as they are
    guessed: frozenset[str]  # traits that may turn out to be amounts
    bins: Mapping[str, Sequence[float]]  # where traits are cut
    positive: Hashable | None = None  # the label, and the decision, that is a yes
    words: frozenset[str] = frozenset()  # scores that are decisions in words

    @property
    def shared(self) -> tuple[str, ...]:
        """The columns that do not depend on the model."""
        named = (self.label, self.weight, *self.traits)
        return tuple(name for name in named if name is not None)


class RawRows(NamedTuple):
    """Rows as a source has them."""

    scores: tuple[Values, ...]
    shared: Mapping[str, Values]


@dataclass
class Left:
    """How many rows are left out, by what they lack."""

    score: int = 0
    label: int = 0
    weight: int = 0


class Rows(NamedTuple):
    """Rows in which missing values are marked."""

    scores: tuple[Numbers, ...]
    label: Coded
    weight: Numbers | None
    traits: Mapping[str, Values]
    known: Mask  # whether a row has its scores, its label and its weight
    left: Left


def clean(raw: RawRows, columns: Columns, missing: Missing) -> Rows:
    """Mark the missing values.

    Raises:
        NotDecisionsError: If a column of words holds no decisions.
        NotNumbersError: If a score or a weight is no number.
        RestartError: If NA was wrongly treated as missing in earlier rows.
    """

    def numbers(argument: str, name: str, values: Values) -> Numbers:
        return _numbers(argument, name, missing.hide(name, values, numeric=True))

    def score(name: str, values: Values) -> Numbers:
        if name not in columns.words:
            return numbers("score", name, values)
        hidden = as_coded(missing.hide(name, values))
        return _decisions(name, hidden, columns.positive)

    named = zip(columns.scores, raw.scores, strict=True)
    scores = tuple(score(name, values) for name, values in named)
    known: Mask = ~np.any([np.isnan(score) for score in scores], 0)
    left = Left(score=int(np.count_nonzero(~known)))
    label = Coded(np.zeros(len(known), dtype=np.intp), [0])
    if columns.label is not None:
        label = as_coded(missing.hide(columns.label, raw.shared[columns.label]))
        labelled = label.codes >= 0
        left.label = int(np.count_nonzero(known & ~labelled))
        known &= labelled
    weight = None
    if columns.weight is not None:
        weight = numbers("weight", columns.weight, raw.shared[columns.weight])
        weighted = ~np.isnan(weight)
        left.weight = int(np.count_nonzero(known & ~weighted))
        known &= weighted
    traits = {name: missing.hide(name, raw.shared[name]) for name in columns.traits}
    return Rows(scores, label, weight, traits, known, left)


def _numbers(argument: str, name: str, values: Values) -> Numbers:
    if not isinstance(values, Coded):
        return values
    x = values.numbers()
    if x is None:
        raise NotNumbersError(
            f"`{argument}` must hold numbers; column {name!r} has "
            f"{listing(values.not_numbers(), 3)}. Correct them, or name another "
            "column.",
            name,
        )
    return x


def _decisions(name: str, values: Coded, positive: Hashable | None) -> Numbers:
    """Read words as decisions: 1 for a yes.

    Raises:
        NotDecisionsError: If there are many words, or scores among them, or it is
            unclear which word is a yes.
    """
    found = values.categories
    words = [plain_text(value) for value in found]
    parsed = [parse_numbers([value]) for value in found]
    scores = any(x is not None and 0 < x[0] < 1 for x in parsed)
    if positive is not None:
        yes = [word == plain_text(positive) for word in words]
    else:
        yes = [word.lower() in YES for word in words]
    unclear = positive is None and not {word.lower() for word in words} <= YES | NO
    if unclear or scores or len(found) > MOST_CODES:
        raise NotDecisionsError(name, found)
    return np.array([*map(float, yes), np.nan])[values.codes]


def are_codes(h: Numbers) -> bool:
    """Whether numbers are no scores, but may be decisions such as 1 and 2."""
    known = h[~np.isnan(h)]
    whole = bool((known % 1 == 0).all())
    few = whole and 0 < len(np.unique(known)) <= MOST_CODES
    return few and bool((known < 0).any() | (known > 1).any())


def checked_score(h: Numbers, name: str, logits: bool) -> Numbers:
    """Require scores in [0, 1]; convert logits to scores.

    Raises:
        RangeError: If one is out of range.
    """
    low, high = float(h.min()), float(h.max())
    if logits:
        if not np.isfinite((low, high)).all():
            raise RangeError(
                f"`score` must be finite; column {name!r} has values from {low:g} to "
                f"{high:g}. Look for a division by zero."
            )
        return np.exp(-np.logaddexp(0, -h))  # 1 / (1 + exp(-h)) may overflow
    if low < 0 or high > 1:
        raise RangeError(
            f"`score` must lie in [0, 1]; column {name!r} has values from {low:.9g} to "
            f"{high:.9g}. Scale them, or pass `logits` (`--logits`) if they are logits."
        )
    return h


def checked_weight(w: Numbers | None) -> Numbers | None:
    """Require weights that are finite and not negative.

    Raises:
        RangeError: If one is not.
    """
    if w is not None and not (np.isfinite(w).all() and (w >= 0).all()):
        raise RangeError(
            "`weight` must be finite and at least 0; got values from "
            f"{w.min():g} to {w.max():g}. Check how the weights were computed."
        )
    return w
