"""The results on disk: a row per case, written as a whole or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairret.errors import DataFileError, missing_extra
from fairret.lab.tolerance.people import Case

if TYPE_CHECKING:
    import pandas as pd

SECONDS = 5.0  # between two writes


class Table:
    """Rows by case, in a Parquet file that is replaced at once.

    Args:
        path: The file; it need not exist.

    Raises:
        DataFileError: If it is not a table of cases.
        MissingExtraError: If pandas is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[Case, dict[str, object]] = {}
        self._written = time.monotonic()
        self._changed = False
        if path.exists():
            data = read(path)
            for row in data.to_dict("records"):
                case = Case(*(row[name] for name in Case._fields))
                self._rows[case] = {str(name): value for name, value in row.items()}

    def __contains__(self, case: Case) -> bool:
        return case in self._rows

    def add(self, case: Case, values: Mapping[str, object]) -> None:
        """Add a row; it is on disk after a few seconds, or after `write`."""
        self._rows[case] = {**case._asdict(), **values}
        self._changed = True
        if time.monotonic() - self._written > SECONDS:
            self.write()

    def frame(self) -> pd.DataFrame:
        """All rows as a data frame."""
        return import_pandas().DataFrame(list(self._rows.values()))

    def write(self) -> None:
        """Replace the file."""
        if not self._changed:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f"{self.path.name}.new")
        self.frame().to_parquet(new, index=False)
        os.replace(new, self.path)
        self._written, self._changed = time.monotonic(), False


def read(path: Path) -> pd.DataFrame:
    """Read a table of cases.

    Raises:
        DataFileError: If it is not one.
    """
    try:
        data = import_pandas().read_parquet(path)
    except (OSError, ValueError) as error:
        raise DataFileError(
            f"`{path}` must be a Parquet file; it cannot be read ({error})."
        ) from None
    missing = [name for name in Case._fields if name not in data.columns]
    if missing:
        raise DataFileError(
            f"`{path}` must be a table that this command wrote; it lacks "
            f"{', '.join(missing)}. Choose another `--output`."
        )
    return data.astype({"tolerance": float, "seed": int})


def import_pandas() -> Any:
    """Import pandas.

    Raises:
        MissingExtraError: If it is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise missing_extra("Tables need", "pandas", "experiment") from None
    return pandas
