"""The columns of exported results, and a run from the cells of a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import islice, permutations
from typing import Any, NamedTuple

from fairret.lab.experiment import config
from fairret.lab.experiment.grid import LATER, Run
from fairret.lab.experiment.methods import METHODS
from fairret.lab.experiment.store import (
    FINISHED,
    PROVENANCE,
    Finished,
    parse_object,
    shorten,
)
from fairret.training import TrainingSettings

PARTS = ("train", "validation", "test")
MOST_ORDERS = 5040  # the permutations of seven options
UNSTAMPED = ("0.2.0", 1)  # version and revision of files that have no such columns


class CellError(ValueError):
    """A cell does not hold what its column requires."""


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
    most: float = math.inf,
) -> float | None:
    """Convert a finite number, in CSV its text; None if it would change."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    try:
        value = kind(cell)
    except (ValueError, OverflowError):
        return None
    same = isinstance(cell, str) or value == cell
    inside = least <= value <= most and -math.inf < value < below
    return value if same and inside else None


def _verdict(cell: object) -> float | None:
    value = _number(cell)
    return value if value in (0.0, 1.0) else None


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
SHARE = Column("be from 0 to 1", partial(_or_empty, partial(_number, least=0, most=1)))
AMOUNT = Column("be at least 0", partial(_or_empty, partial(_number, least=0)))
VERDICT = Column("be 0, 1 or empty", partial(_or_empty, _verdict))
MEASURED = {  # by what follows the rows in the name of a column
    **dict.fromkeys(("auroc", "accuracy", "accuracy_at_base_rate", "p_value"), SHARE),
    **dict.fromkeys(("base_rate", "mean_score", "positive_rate"), SHARE),
    **dict.fromkeys(("violation", "floor", "violation_beyond_chance"), AMOUNT),
    **dict.fromkeys(("log_loss", "rows"), AMOUNT),
    "beyond_chance": VERDICT,
}
"""What measured columns must be, such as `test/violation/pr/scores/all`."""


def read_row(row: Mapping[str, object]) -> tuple[str, Finished]:
    """Check every cell of a row, and that its settings give its key.

    Raises:
        CellError: If a cell is wrong; the message names its column.
    """
    cells = {}
    for name, cell in row.items():
        column = (COLUMNS | STAMP | OTHER).get(name) or _measured(name)
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


def _measured(name: str) -> Column:
    part, _, rest = name.partition("/")
    what = rest.partition("/")[0]
    return MEASURED.get(what, NUMBER) if part in PARTS else NUMBER


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
