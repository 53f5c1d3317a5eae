"""Results in words: means over the seeds, and why runs have failed."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from fairret.experiment.frames import SETTINGS, frame
from fairret.experiment.grid import Run
from fairret.experiment.methods import METHODS
from fairret.experiment.store import Store
from fairret.experiment.trade_off import variants_of, ways_of

if TYPE_CHECKING:
    import pandas as pd

CAPTION = """\
Means over the seeds, on the test rows. scores, decisions: the largest violation of the
statistic that the row is for; Unfair, which is for all of them, shows that of pr.
–: undefined, or not measured."""


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
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 0, 0, 1),
        caption=CAPTION,
        caption_justify="left",
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
    several = _several(data)
    for settings, own in data.groupby(list(SETTINGS), sort=False):
        done = own[own["status"] == "done"]
        dataset, name, statistic, trained, strength, options, training = settings
        method = METHODS[name]
        chosen = json.loads(options).items()
        words = [
            f"{k}={v}"
            for k, v in chosen
            if v != method.options[k].default or (name, k) in several
        ]
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
    mean = done[name].mean() if name in done else math.nan
    return f"{mean:.3f}" if math.isfinite(mean) else "–"


def _several(data: pd.DataFrame) -> set[tuple[str, str]]:
    """Options with several values; else a default is not worth the room."""
    values: dict[tuple[str, str], set[object]] = {}
    for name, options in zip(data["method"], data["options"], strict=True):
        for option, value in json.loads(options).items():
            values.setdefault((name, option), set()).add(value)
    return {option for option, found in values.items() if len(found) > 1}
