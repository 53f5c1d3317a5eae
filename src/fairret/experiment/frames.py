"""Results as data frames and files: every run with all columns, there and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairret.errors import ArgumentError, MissingExtraError
from fairret.experiment.grid import Run
from fairret.experiment.hypervolume import Volume
from fairret.experiment.store import Finished, Store

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = (
    "dataset",
    "method",
    "statistic",
    "traits",
    "strength",
    "options",
    "training",
)
EXPORTED = ("key", *SETTINGS, "seed", "status", "reason", "seconds")


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError(
            "Tables of results need pandas, which is not installed. Run `pip install "
            "'fairret[experiment]'`."
        ) from None
    return pd


def frame(store: Store, runs: Iterable[Run] | None = None) -> pd.DataFrame:
    """Give a row for each finished run, with its settings and all numbers.

    Args:
        store: The results.
        runs: Those wanted, in this order; by default all, in the order they ended in.
    """
    pd = _pandas()
    rows = {key: _row(key, one) for key, one in store.finished()}
    keys = list(rows) if runs is None else [run.key for run in runs]
    return pd.DataFrame([rows[key] for key in keys if key in rows])


def _row(key: str, one: Finished) -> dict[str, object]:
    run = one.run
    options = dict(run["options"])
    return {
        "key": key,
        "dataset": run["dataset"],
        "method": run["method"],
        "statistic": run["statistic"],
        "traits": run["traits"],
        "strength": run["strength"],
        "seed": run["seed"],
        "options": json.dumps(options, sort_keys=True),
        "training": json.dumps(run["training"], sort_keys=True),
        "status": one.status,
        "reason": one.reason,
        "seconds": one.seconds,
        **one.result,
    }


def export(store: Store, runs: Sequence[Run], path: Path) -> int:
    """Write every run with all columns; say how many there are."""
    table = frame(store, runs)
    _write(table, path)
    return len(table)


def export_volumes(found: Sequence[Volume], path: Path) -> int:
    """Write a row for each volume; say how many there are."""
    _write(_pandas().DataFrame(found, columns=list(Volume._fields)), path)
    return len(found)


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
        said = error.strerror or str(error)
        raise ArgumentError(
            f"`output` must be a file that can be written; {path} cannot ({said}). "
            "Make its folder, or pass another file."
        ) from error


def restore(store: Store, path: Path) -> int:
    """Put exported runs back into a store, so that they are not trained once more."""
    return store.restore(exported(path))


def exported(path: Path) -> list[tuple[str, Finished]]:
    """Read the runs of a file that :func:`export` wrote, with their keys.

    Raises:
        ArgumentError: If it is no such file.
    """
    pd = _pandas()
    if not path.is_file():
        raise ArgumentError(
            f"`restore` must be a file that `--output` wrote; {path} is not there. "
            "Check the path."
        )
    try:
        table = (
            pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        )
        lacking = [name for name in EXPORTED if name not in table]
        if lacking:
            raise ValueError(f"it has no column {lacking[0]}")
        return [_finished(row) for row in table.to_dict("records")]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        said = str(error).split("\n")[0].rstrip(".")
        raise ArgumentError(
            f"`restore` must be a file that `--output` wrote; {path.name} is not "
            f"({said}). Check the path."
        ) from error


def _finished(row: dict[str, Any]) -> tuple[str, Finished]:
    """Undo `_row`."""
    settings = ("dataset", "method", "strength", "statistic", "traits", "seed")
    run = {name: row.pop(name) for name in settings}
    run["options"] = [list(x) for x in _object(row, "options").items()]
    run["training"] = _object(row, "training")
    run["statistic"] = run["statistic"] if isinstance(run["statistic"], str) else ""
    key, status, reason = (row.pop(name) for name in ("key", "status", "reason"))
    seconds = row.pop("seconds")
    result = {name: value if value == value else None for name, value in row.items()}
    reason = reason if isinstance(reason, str) else None
    done = status == "done"
    return str(key), Finished(
        run, str(status), seconds if done else None, result if done else {}, reason
    )


def _object(row: dict[str, Any], name: str) -> dict[str, Any]:
    text = row.pop(name)
    found = json.loads(text) if isinstance(text, str) else None
    if not isinstance(found, dict):
        raise ValueError(f"a run has {text!r} for {name}")
    return found
