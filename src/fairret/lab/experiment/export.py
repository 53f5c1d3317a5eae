"""Results as a data frame, as CSV or Parquet, and back into a store."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import islice, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairret import __version__
from fairret.errors import ArgumentError, missing_extra
from fairret.lab.experiment import config, grid
from fairret.lab.experiment.grid import LATER, Run
from fairret.lab.experiment.hypervolume import Volume
from fairret.lab.experiment.methods import METHODS
from fairret.lab.experiment.store import (
    FINISHED,
    PROVENANCE,
    Finished,
    Store,
    parse_object,
    shorten,
)
from fairret.training import TrainingSettings

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = (
    *("dataset", "method", "statistic", "traits", "strength", "options", "training"),
)
MOST_ORDERS = 5040  # the permutations of seven options
UNSTAMPED = ("0.2.0", 1)  # version and revision of files that have no such columns


class CellError(ValueError):
    """A cell does not hold what its column requires."""


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


def export_volumes(found: Sequence[Volume], path: Path) -> None:
    """Write a row per volume."""
    table = _pandas().DataFrame(found, columns=list(Volume._fields))
    _write(table.drop(columns="gains"), path)


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


def _is_empty(cell: object) -> bool:
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and not cell)


def _text(cell: object) -> str | None:
    if _is_empty(cell):
        return ""
    return cell if isinstance(cell, str) else None


def _name(cell: object) -> str | None:
    return _text(cell) or None


def _choice(known: tuple[str, ...], cell: object) -> str | None:
    return cell if isinstance(cell, str) and cell in known else None


def _number(
    cell: object,
    kind: Callable[[Any], float] = float,
    least: float = -math.inf,
    below: float = math.inf,
) -> float | None:
    """Convert a finite number, in CSV its text; None if it would change."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    try:
        value = kind(cell)
    except (ValueError, OverflowError):
        return None
    same = isinstance(cell, str) or value == cell
    return value if same and least <= value < below and value > -math.inf else None


def _or_empty(parse: Callable[[object], Any], cell: object) -> Any:
    return math.nan if _is_empty(cell) else parse(cell)


class Column(NamedTuple):
    """What the cells of a column must be."""

    required: str
    parse: Callable[[object], Any]  # returns None for a wrong cell


COUNT = Column("be a whole number of at least 0", partial(_number, kind=int, least=0))
NAME = Column("be a text", _name)
OBJECT = Column("be a JSON object", parse_object)
POSITIVE = Column("be a finite number of at least 0", partial(_number, least=0))
TEXT = Column("be a text", _text)
COLUMNS = {
    **dict.fromkeys(("key", "dataset", "method"), NAME),
    "statistic": TEXT,
    "traits": Column(
        f"be {' or '.join(config.TRAITS)}", partial(_choice, config.TRAITS)
    ),
    "strength": POSITIVE,
    "seed": Column(
        f"{COUNT.required} and below {config.SEEDS}",
        partial(_number, kind=int, least=0, below=config.SEEDS),
    ),
    **dict.fromkeys(("options", "training"), OBJECT),
    "status": Column(f"be {' or '.join(FINISHED)}", partial(_choice, FINISHED)),
    "reason": TEXT,
    "seconds": POSITIVE._replace(parse=partial(_or_empty, POSITIVE.parse)),
}
STAMP = {"version": NAME, "revision": COUNT}
OTHER = dict.fromkeys(PROVENANCE, TEXT)
NUMBER = Column("be a finite number", partial(_or_empty, _number))


def read_row(row: Mapping[str, object]) -> tuple[str, Finished]:
    """Check every cell of a row, and that its settings give its key.

    Raises:
        CellError: If a cell is wrong; the message names its column.
    """
    cells = {}
    for name, cell in row.items():
        column = (COLUMNS | STAMP | OTHER).get(name, NUMBER)
        cells[name] = column.parse(cell)
        _require(row, name, cells[name] is not None, column.required)
    settings = {field.name: cells[field.name] for field in fields(Run)}
    settings["options"] = tuple(cells["options"].items())
    settings["training"] = _training(row, cells["training"])
    run = _match_key(row, cells, Run(**settings))
    numbers = {
        name: None if _is_empty(value) else value
        for name, value in cells.items()
        if name not in COLUMNS and name not in STAMP
    }
    seconds, reason = cells["seconds"], cells["reason"] or None
    if cells["status"] == "failed":
        for name in ("seconds", *numbers):
            _require(row, name, _is_empty(row[name]), "be empty for a failed run")
        return cells["key"], Finished(run.settings, "failed", None, {}, reason)
    _require(row, "reason", reason is None, "be empty for a run that is done")
    _require(row, "seconds", not math.isnan(seconds), COLUMNS["seconds"].required)
    return cells["key"], Finished(run.settings, "done", seconds, numbers, None)


def _require(row: Mapping[str, object], name: str, holds: bool, required: str) -> None:
    if not holds:
        shown = "nothing" if _is_empty(row[name]) else shorten(row[name])
        raise CellError(f"column `{name}` must {required}; got {shown}")


def _training(row: Mapping[str, object], given: dict[str, Any]) -> TrainingSettings:
    given = LATER | given  # older runs do not have them
    known = [field.name for field in fields(TrainingSettings)]
    for name in given:
        _require(row, "training", name in known, f"have no key {name!r}")
    for name in known:
        right = config.check_setting(name, given.get(name)) is None
        _require(row, "training", right, f"have a valid `{name}`")
    return config.make_training(given)


def _match_key(row: Mapping[str, object], cells: Mapping[str, Any], run: Run) -> Run:
    """Find the order of the options that gives the key, since exports sort them."""
    stamp = (cells["version"], cells["revision"]) if "version" in cells else UNSTAMPED
    for order in _orders(run):
        ordered = replace(run, options=order)
        if ordered.key_for(*stamp) == cells["key"]:
            return ordered
    _require(row, "key", False, "be the key of the row's settings")
    return run


def _orders(run: Run) -> Iterable[tuple[tuple[str, object], ...]]:
    """List the orders of the options: one, if the method is registered here."""
    if run.method not in METHODS:
        return islice(permutations(run.options), MOST_ORDERS)
    rank = {name: place for place, name in enumerate(METHODS[run.method].options)}
    return [tuple(sorted(run.options, key=lambda x: rank.get(x[0], len(rank))))]
