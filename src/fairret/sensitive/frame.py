"""A table in memory: a data frame, a mapping of arrays, or one bare array.

pandas is never imported: whatever has ``columns`` is a data frame.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor

from fairret.errors import (
    DtypeError,
    NameNotFoundError,
    RangeError,
    ShapeError,
    did_you_mean,
)
from fairret.sensitive.coded import Numbers, listing
from fairret.sensitive.column import Column, ColumnName, SeriesLike

Block: TypeAlias = npt.NDArray[np.float32]  # (n, d) columns of S, values in [0, 1]
DEFAULT_NAME = "sens"  # of a bare array without a name


class FrameLike(Protocol):
    """A data frame: it has named columns, and ``frame[name]`` returns one."""

    @property
    def columns(self) -> Iterable[Hashable]:
        """The names of the columns."""

    def __len__(self) -> int: ...


Data: TypeAlias = (
    FrameLike
    | Mapping[str, object]
    | Mapping[int, object]
    | Mapping[ColumnName, object]
    | SeriesLike
    | npt.NDArray[np.generic]
    | Tensor
    | Sequence[object]
)


class _Encodes(Protocol):
    def encode(self, frame: Frame) -> Block: ...


class Frame:
    """Reads each column once, when it is needed, and encodes each trait once."""

    def __init__(
        self, names: tuple[ColumnName, ...], source: Mapping[ColumnName, object]
    ) -> None:
        self.names = names
        self._source = source
        self._read: dict[ColumnName, Column] = {}
        self._encoded: dict[_Encodes, Block] = {}
        self._count: Numbers | None = None

    def __len__(self) -> int:
        return len(next(iter(self._read.values())))

    def column(self, name: ColumnName) -> Column:
        """Look up a column.

        Raises:
            NameNotFoundError: If the data have no such column.
            RangeError: If they have two.
            ShapeError: If its length differs from that of the columns read before.
        """
        if name not in self._read:
            self._check_name(name)
            column = Column(name, self._source[name])
            for other in self._read.values():
                if len(column) != len(other):
                    raise ShapeError(
                        "All columns of `data` must have the same length; got "
                        f"{len(other)} rows in {other.name!r} and {len(column)} in "
                        f"{name!r}. Cut them from the same rows."
                    )
            self._read[name] = column
        return self._read[name]

    @property
    def count(self) -> Numbers:
        """How often each row occurs: once by default."""
        return np.ones(len(self)) if self._count is None else self._count

    def set_count(self, count: Sequence[float] | None) -> None:
        """Set how often each row occurs.

        Raises:
            RangeError: If it is not one non-negative number for each row.
        """
        if count is None:
            return
        self._count = np.asarray(count, dtype=np.float64)
        if self._count.shape != (len(self),) or not (self._count >= 0).all():
            raise RangeError(
                f"`count` must be {len(self)} numbers of at least 0, one for each row "
                f"of `data`; got shape {self._count.shape}. Omit it if every row "
                "occurs once."
            )

    def encode(self, trait: _Encodes) -> Block:
        """Compute the columns of S of one trait, once."""
        if trait not in self._encoded:
            self._encoded[trait] = trait.encode(self)
        return self._encoded[trait]

    def _check_name(self, name: ColumnName) -> None:
        found = self.names.count(name)
        if found > 1:
            raise RangeError(
                f"Column names of `data` must be unique; got {found} columns named "
                f"{name!r}. Rename them."
            )
        if found == 0:
            hint = did_you_mean(name, self.names, 3) or " Add it, or remove the trait."
            raise NameNotFoundError(
                f"`data` must have the column {name!r} that `traits` names; got "
                f"{listing(self.names) or 'no columns'}.{hint}"
            )


def read_frame(data: Data, columns: tuple[ColumnName, ...] | None) -> Frame:
    """Accept data of any form; a bare array becomes a frame of one column.

    Args:
        data: A data frame, a mapping from names to arrays, or one array.
        columns: The columns that will be read, ``None`` for all there are.

    Raises:
        DtypeError: If a name is neither text nor an integer.
        ShapeError: If a bare array would have to stand for several columns.
    """
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        names = tuple(data) if isinstance(data, Mapping) else tuple(data.columns)
        return Frame(_checked_names(names), cast("Mapping[ColumnName, object]", data))
    own_name = getattr(data, "name", None) if hasattr(data, "to_numpy") else None
    if isinstance(own_name, (str, int)) and own_name != "":
        return Frame((own_name,), {own_name: data})
    columns = columns or (DEFAULT_NAME,)
    if len(columns) > 1:
        raise ShapeError(
            f"`data` must hold the columns {listing(columns)}; got a bare "
            f"{type(data).__name__}, which is one column. Pass a data frame, or a "
            "mapping from names to arrays."
        )
    return Frame(columns, {columns[0]: data})


def _checked_names(names: tuple[Hashable, ...]) -> tuple[ColumnName, ...]:
    strange = [name for name in names if not isinstance(name, (str, int))]
    if strange:
        raise DtypeError(
            "The columns of `data` must have text or integers for names; got "
            f"{listing(strange)}. Rename them, for example with `str`."
        )
    return cast("tuple[ColumnName, ...]", names)
