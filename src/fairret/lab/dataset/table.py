"""A dataset as a model and a fairret see it, with a card that says what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import fill
from typing import IO, TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from fairret.errors import DataFileError, missing_extra
from fairret.sensitive import Categorical, Continuous, SensitiveEncoder

if TYPE_CHECKING:
    from pandas import DataFrame

KEEP = "\0"  # a space where no line may end


@dataclass(frozen=True)
class Card:
    """What a dataset is, where it is from, and how it differs from the paper's.

    >>> print(Card("Loans", "a bank", "CC0", "Doe (2020)", rows=1200, positives=300))
    Loans
      rows       1 200
      positives  300 (25.0 %)
      source     a bank
      licence    CC0
      citation   Doe (2020)
    """

    title: str
    source: str
    licence: str
    citation: str
    rows: int = 0
    positives: int = 0
    group_sizes: Mapping[str, int | None] = field(default_factory=dict)
    """How many people are in every group; None for an amount, such as age."""
    paper_rows: int | None = None
    paper_positives: int | None = None
    notes: tuple[str, ...] = ()
    """What was decided where the paper leaves it open, and where the figures differ."""

    def __str__(self) -> str:
        share = 100 * self.positives / max(1, self.rows)
        groups = (
            (name if size is None else f"{name} {_spaced(size)}").replace(" ", KEEP)
            for name, size in self.group_sizes.items()
        )
        items = {
            "rows": _spaced(self.rows) + _in_paper(self.paper_rows),
            "positives": f"{_spaced(self.positives)} ({share:.1f} %)"
            + _in_paper(self.paper_positives),
            "groups": ", ".join(groups),
            "source": self.source,
            "licence": self.licence,
            "citation": self.citation,
        }
        lines = [_item(key, value) for key, value in items.items() if value]
        lines += [_item("note", note) for note in self.notes]
        return "\n".join((self.title, *lines))


@dataclass(frozen=True, eq=False)
class Dataset:
    """People as a model and a fairret see them, in one row order."""

    name: str
    """The name that :func:`fairret.lab.dataset.load` knows it by."""
    feat: Tensor
    """X, float32, `(n, d_x)`: groups one-hot, amounts as published; no traits."""
    feat_names: tuple[str, ...]
    """The name of every column of `feat`."""
    sens: Tensor
    """S, float32, `(n, d_s)`, with values in [0, 1]."""
    sens_names: tuple[str, ...]
    """The name of every column of `sens`."""
    traits: Mapping[str, tuple[int, ...]]
    """For every trait, which columns of `sens` belong to it."""
    single: str
    """The trait that the paper takes where only one is possible (App. C.6)."""
    label: Tensor
    """Y, 0 or 1, float32, `(n,)`."""
    card: Card
    """What the dataset is, and how it differs from the paper's."""

    def __len__(self) -> int:
        return len(self.label)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, n={len(self)}, d_x={self.feat.shape[1]}, "
            f"d_s={self.sens.shape[1]})"
        )


def make_dataset(
    name: str,
    frame: DataFrame | Mapping[str, object],
    *,
    amounts: Sequence[str],
    groups: Mapping[str, Sequence[object]] | None = None,
    traits: Sequence[Categorical | Continuous],
    label: str,
    single: str,
    about: Card,
) -> Dataset:
    """Turn the rows of a table into tensors, and fill in the counts of the card.

    Args:
        name: The dataset's name.
        frame: The rows that were kept.
        amounts: Features that are numbers or true-or-false, taken as they are.
        groups: Features that become one-hot, with the values that have a column; any
            other value has zeros.
        traits: The sensitive traits.
        label: The column of the outcome, 0 or 1.
        single: The trait that the paper takes where only one is possible.
        about: The card without counts.
    """
    encoder = SensitiveEncoder(traits)
    sens = encoder.fit_transform(frame)
    columns = {column: _floats(frame[column]) for column in amounts}
    for column, values in (groups or {}).items():
        x = np.asarray(frame[column])
        columns.update({f"{column}={value}": _floats(x == value) for value in values})
    y = torch.from_numpy(_floats(frame[label]))
    amounts_of_s = {str(t.column) for t in traits if isinstance(t, Continuous)}
    sizes = {
        group: None if group in amounts_of_s else int(size)
        for group, size in zip(encoder.names, sens.sum(0).tolist(), strict=True)
    }
    return Dataset(
        name=name,
        feat=torch.from_numpy(np.stack(list(columns.values()), axis=1)),
        feat_names=tuple(columns),
        sens=sens,
        sens_names=encoder.names,
        traits=encoder.traits,
        single=single,
        label=y,
        card=replace(about, rows=len(y), positives=int(y.sum()), group_sizes=sizes),
    )


def read_csv(
    source: Path | IO[bytes], columns: Mapping[str, type], **options: object
) -> DataFrame:
    """Read columns of a table as the types that they have.

    Raises:
        DataFileError: If the file does not hold them.
        MissingExtraError: If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("Reading tables needs", "pandas", "experiment") from None
    try:
        return pd.read_csv(
            source, usecols=list(columns), dtype=dict(columns), **options
        )
    except (ValueError, OSError) as error:  # a parser's error is a ValueError
        said = str(error).split("\n")[0].strip().rstrip(".")
        name = source.name if isinstance(source, Path) else "the publisher's file"
        raise DataFileError(
            f"`{name}` must be a table with the columns {', '.join(columns)}; got "
            f"a file that does not read as one ({said}). Replace it by the original."
        ) from None


def _floats(values: object) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.asarray(values, dtype=np.float32)


def _spaced(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _in_paper(count: int | None) -> str:
    return "" if count is None else f"; in the paper {_spaced(count)}"


def _item(key: str, value: str) -> str:
    indent = f"  {key:<11}", " " * 13
    text = fill(value, 88, initial_indent=indent[0], subsequent_indent=indent[1])
    return text.replace(KEEP, " ")
