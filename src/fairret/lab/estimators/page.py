"""The results as tables in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairret.lab.estimators.methods import PLAIN, TOLERANCE
from fairret.lab.estimators.recipes import RECIPES
from fairret.lab.estimators.report import (
    BLIND,
    CASE,
    EQUAL,
    FAIRER,
    INFORMED,
    Loss,
    average,
    find_losses,
    finished,
    list_cases,
    title,
)
from fairret.lab.tolerance.blocks import Writer
from fairret.lab.tolerance.goals import LEAD

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 100  # of a line of text
SHOWN = {  # columns of the overview
    PLAIN: PLAIN,
    BLIND: "blind",
    "ExponentiatedGradient": "EG",
    INFORMED: "informed",
    "ThresholdOptimizer": "TO",
    "OxonFair": "OxonFair",
}


def write_methods(data: pd.DataFrame) -> str:
    """Write a row per method: its code, its costs, and its means beside boosting.

    Differences and ratios are of the same case and seed, so that methods whose cases
    are not all run can be compared.
    """
    place = [*CASE, "seed"]
    done = finished(data)
    plain = done[done["method"] == PLAIN].set_index(place)
    rows = ["| method | lines | cases | accuracy | violation | within | fit, predict |"]
    rows.append("|---|---|---|---|---|---|---|")
    for method, recipe in RECIPES.items():
        own = done[done["method"] == method].set_index(place)
        own = own[own.index.isin(plain.index)]
        if not len(own):
            rows.append(f"| {method} | {recipe.lines} | 0 | – | – | – | – |")
            continue
        base = plain.loc[own.index]
        gained = (own["test/accuracy"] - base["test/accuracy"]).mean()
        within = (own["test/low"] <= TOLERANCE).sum()
        fit, predict = (
            np.exp(np.log(own[name] / base[name]).mean())
            for name in ("seconds", "predict_seconds")
        )
        rows.append(
            f"| {method} | {recipe.lines} | {len(own)} | {gained:+.3f} | "
            f"{own['test/violation'].mean():.2f} | {within} | "
            f"{_times(fit)}, {_times(predict)} |"
        )
    return "\n".join(rows)


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def write_overview(data: pd.DataFrame) -> str:
    """Write accuracy and violation, a row per case and a column per method."""
    means = average(data)
    lost = {one[:4] for one in find_losses(data) if one.more_accurate}
    rows = [f"| case | {' | '.join(SHOWN.values())} |", "|---" * (1 + len(SHOWN)) + "|"]
    for case in list_cases(data):
        cells = []
        for method in SHOWN:
            key = (*case, method)
            if key not in means.index:
                cells.append("–")
                continue
            one = means.loc[key]
            word = f"{one['accuracy']:.3f}, {one['violation']:.2f}"
            cells.append(f"**{word}**" if key in lost else word)
        rows.append(f"| {title(*case)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def write_table(data: pd.DataFrame) -> str:
    """Write all means, a row per case and method."""
    rows = [
        "| case | method | accuracy, balanced | AUROC | violation [L, U] | "
        "seconds: fit, predict | seeds |",
        "|---|---|---|---|---|---|---|",
    ]
    means = average(data)
    lost = {one[:4] for one in find_losses(data) if one.more_accurate}
    for case in list_cases(data):
        for method in RECIPES:
            key = (*case, method)
            if key not in means.index:
                failed = data[(data[CASE] == list(case)).all(axis=1)]
                failed = failed[failed["method"] == method]
                word = str(failed["status"].iloc[0]) if len(failed) else "not run yet"
                rows.append(f"| {title(*case)} | {method} | {word} | – | – | – | – |")
                continue
            one = means.loc[key]
            name = f"**{method}**" if key in lost else method
            rows.append(
                f"| {title(*case)} | {name} | {one['accuracy']:.3f}, "
                f"{one['balanced_accuracy']:.3f} | {one['auroc']:.3f} | "
                f"{one['violation']:.2f} [{one['low']:.2f}, {one['high']:.2f}] | "
                f"{one['seconds']:.1f}, {one['predict_seconds']:.2f} | "
                f"{one['seeds']:.0f} |"
            )
    return "\n".join(rows)


def write_losses(data: pd.DataFrame) -> str:
    """Say where another package leads in accuracy, and where in violation."""
    found = find_losses(data)
    parts = [
        f"More accurate by over {LEAD:g}, at a violation at most {EQUAL:g} higher:",
        _list_losses([one for one in found if one.more_accurate]),
        f"A violation lower by over {FAIRER:g}, at most {LEAD:g} less accurate:",
        _list_losses([one for one in found if one.fairer and not one.more_accurate]),
    ]
    return "\n\n".join(parts)


def _list_losses(found: Sequence[Loss]) -> str:
    items = [
        textwrap.fill(f"- {one}.", WIDTH, subsequent_indent="  ")
        for one in sorted(found, key=lambda one: one.our_accuracy - one.accuracy)
    ]
    return "\n".join(items) or "- nowhere."


BLOCKS: dict[str, Writer] = {
    "methods": write_methods,
    "overview": write_overview,
    "losses": write_losses,
    "means": write_table,
}
