"""Results as tables: means over the seeds, volumes, and why runs have failed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from fairret.lab.experiment.export import SETTINGS, frame
from fairret.lab.experiment.grid import Run
from fairret.lab.experiment.hypervolume import VIEWS, Volume
from fairret.lab.experiment.methods import METHODS
from fairret.lab.experiment.store import Store
from fairret.lab.experiment.trade_off import NOTIONS, name_variants

if TYPE_CHECKING:
    import pandas as pd

MEANS = """\
Means over the seeds, on the test rows. scores, decisions: the largest violation of the
statistic that the row is for; Unfair, which is for all of them, shows that of pr.
Models that refuse everyone do not count for decisions.
–: undefined, or not measured."""
UTILITIES = ("test/auroc", "test/log_loss", "test/accuracy")
POSITIVE_RATE = "test/positive_rate"
HEADS = {"statistic": "notion", "label": "method"}
VOLUMES = """\
0: no gain over Unfair. 1: its utility with {least}.
Sum over seeds of what is gained, over that of what can be, ± a standard error.
–: no numbers, or nothing to gain: Unfair is {why} in half of
the seeds. ( ): no group is beyond chance in most seeds of Unfair, on training
and on test rows. marks: strengths that count, not those with an AUROC far below
Unfair's. Models that refuse everyone do not count for decisions."""
FLOORS = {  # of the largest violation, and of that beyond chance
    False: ("no more violation than the floor", "below its floor"),
    True: ("no violation beyond chance", "not beyond chance"),
}


def failures(store: Store, runs: Iterable[Run]) -> list[tuple[str, str]]:
    """List the failed runs, each with its reason."""
    names = {run.key: str(run) for run in runs}
    return [
        (names[key], str(one.reason))
        for key, one in store.finished()
        if one.status == "failed" and key in names
    ]


def summary_table(
    store: Store, runs: Sequence[Run], traits: Sequence[str] = ("all",)
) -> Table:
    """Lay out the means over the seeds, on the test rows.

    Args:
        store: The results.
        runs: Those wanted.
        traits: "all" for violations of all traits, "single" for those of the single
            trait: a row for each, whatever a method uses. A method that can be trained
            for either has rows for what it was trained for.
    """
    table = plain_table(MEANS, padding=(0, 0, 0, 1))
    for header in ("dataset", "method", "for", "traits", "strength"):
        table.add_column(header, no_wrap=True)  # a truncated name is useless
    table.add_column("options", overflow="fold")
    for header in ("seeds", "AUROC", "log-loss", "accuracy", "scores", "decisions"):
        table.add_column(header, justify="right", no_wrap=True)
    data = frame(store, runs)
    if data.empty:
        return table
    ways = name_variants(list(dict.fromkeys(data["training"])))
    several = _several(data)
    for settings, own in data.groupby(list(SETTINGS), sort=False):
        done = own[own["status"] == "done"]
        dataset, name, statistic, trained, strength, options, training = settings
        method = METHODS[name]
        words = [
            f"{k}={v}"
            for k, v in json.loads(options).items()
            if v != method.options[k].default or (name, k) in several
        ]
        shown = ", ".join(filter(None, [*words, ways[training]]))
        violation = f"test/violation/{statistic or 'pr'}"
        for which in traits if method.plain or method.single else [trained]:
            columns = [f"{violation}/{x}/{which}" for x in ("scores", "decisions")]
            place = (dataset, name, statistic or "all", which, f"{strength:g}", shown)
            numbers = [_mean(done, column) for column in (*UTILITIES, columns[0])]
            numbers.append(_mean(_accepting(done), columns[1]))
            if done.empty:
                numbers = ["failed"] * len(numbers)
            table.add_row(*place, str(len(done)), *numbers)
    return table


def _mean(done: pd.DataFrame, name: str) -> str:
    mean = done[name].mean() if name in done else math.nan
    return f"{mean:.3f}" if math.isfinite(mean) else "–"


def _accepting(done: pd.DataFrame) -> pd.DataFrame:
    """Runs of models that accept somebody; all where that is not stored."""
    if POSITIVE_RATE not in done:
        return done
    return done[~(done[POSITIVE_RATE] == 0)]


def _several(data: pd.DataFrame) -> set[tuple[str, str]]:
    """Options with several values: only of these, the default is shown."""
    values: dict[tuple[str, str], set[object]] = {}
    for name, options in zip(data["method"], data["options"], strict=True):
        for option, value in json.loads(options).items():
            values.setdefault((name, option), set()).add(value)
    return {option for option, found in values.items() if len(found) > 1}


def volume_table(
    found: Sequence[Volume], *, curve: bool = False, beyond_chance: bool = False
) -> Table:
    """Lay out the volumes: a row per method, a column per view.

    Args:
        found: The volumes.
        curve: Whether to show the area of the curve instead of that of the marks.
        beyond_chance: Whether they are of the violation beyond chance.
    """
    least, why = FLOORS[beyond_chance]
    table = plain_table(VOLUMES.format(least=least, why=why))
    kind = "curve" if curve else "step"
    of = "violation beyond chance" if beyond_chance else "largest violation"
    table.title, table.title_justify = f"Volumes ({kind}) of the {of}", "left"
    # columns that are the same in every row are left out
    shown = [
        name
        for name in ("dataset", "training", "statistic", "traits", "label")
        if name in ("dataset", "label") or len({getattr(v, name) for v in found}) > 1
    ]
    for name in shown:
        table.add_column(HEADS.get(name, name), no_wrap=True)
    for header in ("marks", "seeds", *VIEWS):
        name = header.replace(", ", ",\n")
        table.add_column(name, justify="right", no_wrap=True)
    rows: dict[tuple[str, ...], dict[str, Volume]] = {}
    for one in found:
        words = {**one._asdict(), "statistic": NOTIONS[one.statistic]}
        row = tuple(str(words[name]) for name in shown)
        rows.setdefault(row, {})[one.view] = one
    for row, own in rows.items():
        numbers = [_word(own.get(view), curve) for view in VIEWS]
        marks = str(max(one.marks for one in own.values()))
        fewest, most = (f(one.seeds for one in own.values()) for f in (min, max))
        seeds = f"{most}" if fewest == most else f"{fewest} to {most}"
        table.add_row(*row, marks, seeds, *numbers)
    return table


def _word(volume: Volume | None, curve: bool) -> str:
    if volume is None:
        return "– "
    value, error = volume.value, volume.error
    if curve:
        value, error = volume.curve, volume.curve_error
    word = f"{value:.2f}" if math.isfinite(value) else "–"
    if math.isfinite(error):
        word += f" ± {error:.2f}"
    return f"({word})" if volume.chance else f"{word} "


def plain_table(
    caption: str, padding: tuple[int, int, int, int] = (0, 1, 0, 1)
) -> Table:
    """Make a table with a line below its head, and nothing else drawn."""
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=padding,
        caption=caption,
        caption_justify="left",
    )
