"""Results as tables: every run with all columns, and means over the seeds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from fairret.errors import ArgumentError, MissingExtraError
from fairret.experiment.grid import Run
from fairret.experiment.hypervolume import Volume
from fairret.experiment.methods import METHODS
from fairret.experiment.store import Finished, Store
from fairret.experiment.trade_off import variants_of, ways_of

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
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path, index=False, compression="zstd")
    else:
        raise ArgumentError(
            f"`output` must end in .csv or .parquet; got {path.name}. Rename it."
        )


def restore(store: Store, path: Path) -> int:
    """Put exported runs back into a store, so that they are not trained once more."""
    return store.restore(exported(path))


def exported(path: Path) -> list[tuple[str, Finished]]:
    """Read the runs of a file that :func:`export` wrote, with their keys.

    Raises:
        ArgumentError: If it is no such file.
    """
    pd = _pandas()
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


def failures(store: Store, runs: Iterable[Run]) -> list[str]:
    """Say of every failed run what it was, and why it failed."""
    names = {run.key: str(run) for run in runs}
    return [
        f"{names[key]}: {one.reason}"
        for key, one in store.finished()
        if one.status == "failed" and key in names
    ]


def reasons(store: Store, runs: Iterable[Run]) -> list[tuple[str, int]]:
    """Count the reasons why runs have failed, the commonest first."""
    keys = {run.key for run in runs}
    failed = (
        str(one.reason)
        for key, one in store.finished()
        if one.status == "failed" and key in keys
    )
    return Counter(failed).most_common()


def summary_table(
    store: Store, runs: Sequence[Run], traits: Sequence[str] = ("all",)
) -> Table:
    """Lay out the means over the seeds, on the test rows.

    Args:
        store: The results.
        runs: Those wanted.
        traits: "all" for violations of all traits, "single" for those of the single
            trait: a row for each, whatever a method can see. Of a method that can be
            trained for either, a row has what it was trained for.
    """
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1)
    )
    for header in ("dataset", "method", "for", "traits", "strength"):
        table.add_column(header, no_wrap=True)  # a name cut short tells nothing
    table.add_column("options", overflow="fold")
    for header in ("seeds", "AUROC", "log-loss", "accuracy", "scores", "decisions"):
        table.add_column(header, justify="right", no_wrap=True)
    data = frame(store, runs)
    if data.empty:
        return table
    data = data.assign(training=ways_of(data))
    ways = variants_of(list(dict.fromkeys(data["training"])))
    for settings, own in data.groupby(list(SETTINGS), sort=False):
        done = own[own["status"] == "done"]
        dataset, name, statistic, trained, strength, options, training = settings
        method = METHODS[name]
        chosen = json.loads(options).items()
        # a default is not worth the room
        words = [f"{k}={v}" for k, v in chosen if v != method.options[k].default]
        shown = ", ".join(filter(None, [*words, ways[training]]))
        violation = f"test/violation/{statistic or 'pr'}"
        for which in traits if method.plain or method.single else [trained]:
            numbers = [
                _mean(done, column)
                for column in (
                    "test/auroc",
                    "test/log_loss",
                    "test/accuracy",
                    f"{violation}/scores/{which}",
                    f"{violation}/decisions/{which}",
                )
            ]
            place = (dataset, name, statistic or "all", which, f"{strength:g}", shown)
            table.add_row(*place, str(len(done)), *numbers)
    return table


def _mean(done: pd.DataFrame, name: str) -> str:
    if done.empty:
        return "failed"
    return f"{done[name].mean():.3f}" if name in done else "–"
