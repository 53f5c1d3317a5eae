"""Columns that may not be what they look like: codes, identifiers, decimal commas."""

from __future__ import annotations

import re
from typing import Any

from fairret.errors import DataFileError
from fairret.sensitive.coded import MOST_CODES, listing, parse_numbers

NUMBER = re.compile(r"[+-]?\d[\d.,\s']*")
CODE = re.compile(r"zip|plz|post(al)?_?code|postal|code|id", re.IGNORECASE)
MOSTLY = 0.9  # share of the values
DIGITS = 4  # of numbers that are all as long: postal codes, not ages
YEARS = (1900, 2100)
ROW_NUMBER = "Unnamed: 0"  # what pandas calls a first column without a name


def check_numbers(name: str, frame: Any, decimal: str, *, codes: bool = True) -> None:
    """Refuse numbers of another form, which would become hundreds of categories.

    Args:
        name: The file.
        frame: Its columns, without those that are codes.
        decimal: The decimal point that was read.
        codes: Whether a column may be declared to hold codes.

    Raises:
        DataFileError: If a column has them.
    """
    for column in frame.columns:
        values = _words(frame[column])
        numbers = [value for value in values if NUMBER.fullmatch(value)]
        other = "," if decimal == "." else "."
        example = next((value for value in numbers if other in value), None)
        if example is None or len(numbers) < MOSTLY * len(values):
            continue
        what, advice = "points", "Write all numbers with commas"
        if other == ",":
            what = "commas"
            advice = (
                "If these are decimal commas, pass `--decimal ,`. Write thousands "
                "without commas"
            )
        raise DataFileError(
            f"Column {column!r} of {name} has numbers with {what}, such as "
            f"{example!r}. {advice}."
            + f" If they are codes, pass `--category {column}`."
            * codes
        )


def check_words(name: str, frame: Any) -> None:
    """Refuse words in columns of numbers.

    Raises:
        DataFileError: If a column has one.
    """
    for column in frame.columns:
        words = [value for value in frame[column].unique() if isinstance(value, str)]
        if words:
            raise DataFileError(
                f"Column {column!r} of {name} must hold numbers, as in the fit; got "
                f"{listing(words, 3)}. If that means a missing value, pass `--missing "
                f"{words[0]}`."
            )


def describe_columns(X: Any) -> list[str]:
    """Name features that may not be what they are taken for."""
    notes, codes = [], []
    for column in X.columns:
        values = _words(X[column])
        whole = _is_whole(X[column])
        unique = len(X) > 1 and X[column].nunique() == len(X)
        if unique and whole and column == ROW_NUMBER:
            notes.append(
                f"Note: {column!r} looks like the row number that pandas writes. It "
                f"is used as a feature; to leave it out, pass `--drop {column!r}`."
            )
        elif unique and (whole or values):
            notes.append(
                f"Note: every row has another {column!r}. If it identifies people, "
                f"pass `--drop {column}`."
            )
        elif values:
            notes += _stray_words(column, values)
        elif whole and _may_be_code(column, X[column]):
            codes.append(column)
    if codes:
        notes.append(
            f"Note: read as amounts: {listing(codes)}. If the numbers are codes, such "
            f"as postal codes, pass `--category {codes[0]}`."
        )
    return notes


def describe_gaps(frame: Any) -> list[str]:
    """Count the people without a trait."""
    counts = {column: int(frame[column].isna().sum()) for column in frame.columns}
    return [
        f"Note: {count:,} of {len(frame):,} rows have no {column!r}; they are in none "
        "of its groups."
        for column, count in counts.items()
        if count
    ]


def describe_traits(frame: Any) -> list[str]:
    """Name traits that are compared as amounts, not as groups."""
    return [
        f"Note: {column!r} has more than {MOST_CODES} numbers and is compared as an "
        f"amount. To compare groups, pass `--bins {column}=` with the edges, or "
        f"`--category {column}` if the numbers are codes."
        for column in frame.columns
        if frame[column].dtype.kind in "iuf" and frame[column].nunique() > MOST_CODES
    ]


def _words(column: Any) -> list[str]:
    """List the distinct values of a column of text, if they are many."""
    if column.dtype.kind in "biufmM" or str(column.dtype) == "category":
        return []
    found = [value.strip() for value in column.unique() if isinstance(value, str)]
    return found if len(found) > MOST_CODES else []


def _stray_words(column: str, values: list[str]) -> list[str]:
    """Name the words in a column of numbers."""
    words = [value for value in values if parse_numbers([value]) is None]
    if not words or len(words) > (1 - MOSTLY) * len(values):
        return []
    return [
        f"Note: {column!r} is read as {len(values):,} categories, because it has "
        f"{listing(words, 3)} besides numbers. If that means a missing value, pass "
        f"`--missing {words[0]}`."
    ]


def _is_whole(column: Any) -> bool:
    """Whether a column has many whole numbers, none of them negative."""
    if column.dtype.kind not in "iuf" or column.nunique() <= MOST_CODES:
        return False
    values = column.dropna()
    return bool(((values % 1 == 0) & (values >= 0)).all())


def _may_be_code(name: str, column: Any) -> bool:
    """Whether whole numbers have the name of a code, or all as many digits."""
    if any(CODE.fullmatch(word) for word in re.split(r"[^a-zA-Z]+", name)):
        return True
    low, high = int(column.min()), int(column.max())
    years = YEARS[0] <= low and high <= YEARS[1]
    return len(str(low)) == len(str(high)) >= DIGITS and not years
