"""What the cells of a column mean: a number, a text or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairret.auditing.rows import NO_NUMBER
from fairret.sensitive.coded import parse_numbers, text

TEXT, NUMBER = "text", "number"
TRUTH = {"true": True, "false": False}


def settle(column: Any, kind: str | None, missing: Sequence[str], decimal: str) -> Any:
    """Mark missing values as an audit does, and tell numbers from text.

    Empty cells and the words of `missing` are missing. Words such as NA are missing
    only besides numbers: in a column of text, NA may be a country.

    Args:
        column: A series of pandas.
        kind: What the column holds; None to find out. In a column of numbers, other
            words stay as they are.
        missing: Words that mean a missing value.
        decimal: The decimal point of numbers in text.
    """
    import pandas as pd

    words = {"", *(word.strip() for word in missing)}
    if isinstance(column.dtype, pd.CategoricalDtype) and kind == NUMBER:
        column = column.astype(object)
    elif isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_categories(words & set(column.cat.categories))
    if is_number(column):
        found = [parse_numbers([word]) for word in words]
        gone = column.isin([x[0] for x in found if x is not None])
        column = column.mask(gone) if gone.any() else column
        return column.map(text, na_action="ignore") if kind == TEXT else column
    if pd.api.types.infer_dtype(column) != "string":  # true and false with gaps
        return column
    word = column.str.strip()
    column = column.mask(word.isin(words))
    if kind == TEXT:
        return column
    word = word.where(column.notna() & ~word.isin(NO_NUMBER))
    numbers = _parse(word, decimal)
    other = word.notna() & numbers.isna()
    if not other.any():
        return numbers
    if kind is None:
        return column
    mixed = numbers.astype(object)
    mixed[other] = [TRUTH.get(value.lower(), value) for value in word[other]]
    return mixed


def is_number(column: Any) -> bool:
    """Whether a column holds numbers, or true and false."""
    return column.dtype.kind in "biuf"


def _parse(word: Any, decimal: str) -> Any:
    """Read text as numbers; NaN where it is none."""
    import pandas as pd

    if decimal == ",":
        point = word.str.contains(".", regex=False, na=False)
        word = word.mask(point).str.replace(",", ".", regex=False)
    return pd.to_numeric(word, errors="coerce").astype(float)
