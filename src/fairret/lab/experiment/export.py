"""Results as a data frame, as CSV or Parquet, and back into a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairret import __version__
from fairret.errors import ArgumentError, missing_extra
from fairret.lab.experiment import grid
from fairret.lab.experiment.cells import COLUMNS, CellError, read_row
from fairret.lab.experiment.grid import Run
from fairret.lab.experiment.hypervolume import Volume
from fairret.lab.experiment.store import Finished, Store

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = (
    *("dataset", "method", "statistic", "traits", "strength", "options", "training"),
)


def frame(store: Store, runs: Iterable[Run] | None = None) -> pd.DataFrame:
    """Return a row per finished run, with its settings and all numbers.

    Args:
        store: The results.
        runs: The runs wanted, in this order; by default all, in the order of their end.
    """
    pd = _pandas()
    rows = {key: _row(key, one) for key, one in store.finished()}
    keys = list(rows) if runs is None else [run.key for run in runs]
    found = [rows[key] for key in keys if key in rows]
    return pd.DataFrame(found) if found else pd.DataFrame(columns=[*COLUMNS])


def export(store: Store, runs: Sequence[Run], path: Path) -> None:
    """Write every run with all columns."""
    table = frame(store, runs)
    # runs are found by their key, so all of them are of this version
    _write(table.assign(version=__version__, revision=grid.REVISION), path)


def export_volumes(found: Sequence[Volume], path: Path, violation: str) -> None:
    """Write a row per volume; `violation` names what they are of, in every row."""
    table = _pandas().DataFrame(found, columns=list(Volume._fields))
    _write(table.drop(columns="gains").assign(violation=violation), path)


def read_frame(path: Path) -> pd.DataFrame:
    """Read a file that :func:`export` wrote, whatever version of the code it is of.

    Raises:
        ArgumentError: If it is no such file, or one of its cells is wrong.
    """
    return _pandas().DataFrame([_row(key, one) for key, one in read_export(path)])


def restore(store: Store, path: Path) -> int:
    """Add exported runs to a store, so that they are not trained again."""
    return store.restore(read_export(path))


def read_export(path: Path) -> list[tuple[str, Finished]]:
    """Read the runs of a file that :func:`export` wrote, with their keys.

    Raises:
        ArgumentError: If it is no such file, or one of its cells is wrong.
    """
    if not path.is_file():
        raise ArgumentError(
            f"`restore` must be a file that `--output` wrote; {path} does not exist. "
            "Check the path."
        )
    found: dict[str, Finished] = {}
    for number, row in enumerate(_read(path), start=1):
        try:
            key, one = read_row(row)
            if key in found:
                raise CellError(f"column `key` must be unique; got {key!r} again")
        except CellError as error:
            raise _not_exported(path, f"in row {number}, {error}") from error
        found[key] = one
    return list(found.items())


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("Tables of results need", "pandas", "experiment") from None
    return pd


def _row(key: str, one: Finished) -> dict[str, object]:
    texts = {
        "options": json.dumps(dict(one.run["options"]), sort_keys=True),
        "training": json.dumps(one.run["training"], sort_keys=True),
    }
    cells = {"key": key, **one.run, **one._asdict(), **texts}
    return {name: cells[name] for name in COLUMNS} | one.result


def _write(table: pd.DataFrame, path: Path) -> None:
    if path.suffix not in (".csv", ".parquet"):
        raise ArgumentError(
            f"`output` must end in .csv or .parquet; got {path.name}. Rename it."
        )
    try:
        if path.suffix == ".csv":
            table.to_csv(path, index=False)
        else:
            table.to_parquet(path, index=False, compression="zstd")
    except OSError as error:
        raise ArgumentError(
            f"`output` must be a file that can be written; {path} cannot "
            f"({error.strerror or error}). Make its folder, or pass another file."
        ) from error


def _read(path: Path) -> list[dict[str, Any]]:
    """Read a file as rows; the cells of a CSV file stay text."""
    pd = _pandas()
    try:
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[])
    except ImportError:
        raise missing_extra("Reading Parquet needs", "pyarrow", "experiment") from None
    except Exception as error:  # pandas has many for files of another kind
        raise _not_exported(path, str(error).split("\n")[0].rstrip(".")) from error
    stamp = ("revision",) if "version" in table.columns else ()
    for name in (*COLUMNS, *stamp):
        if name not in table.columns:
            raise _not_exported(path, f"it has no column `{name}`")
    rows: list[dict[str, Any]] = table.to_dict("records")
    return rows


def _not_exported(path: Path, why: str) -> ArgumentError:
    return ArgumentError(
        f"`restore` must be a file that `--output` wrote; {path.name} is not ({why}). "
        "Nothing was restored: pass the file as it was written."
    )
