"""The table `[training]` of an experiment's file: ways to train."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import product
from typing import Any

from fairret.experiment.toml import Document, Place
from fairret.training import TrainingSettings

PLACE = Place("training")
TRAINING: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "epochs": (lambda x: x >= 1, "be at least 1"),
    "warm_up": (lambda x: x >= 0, "be at least 0"),
    "batch": (lambda x: x >= 1, "be at least 1"),
    "learning_rate": (lambda x: 0 < x < math.inf, "be a positive number"),
    "hidden": (
        lambda x: x and all(type(width) is int and width >= 1 for width in x),
        "be a list of whole numbers of at least 1",
    ),
    "validation": (lambda x: 0 <= x < 1, "be at least 0 and below 1"),
    "stratified": (lambda x: True, ""),
}


def read_trainings(document: Document) -> tuple[TrainingSettings, ...]:
    """Read the settings; lists of them are axes of the grid."""
    given = document.table.get("training", {})
    if not isinstance(given, dict):
        document.fail("training", "be a table, as `[training]`", repr(given))
    document.check_keys(given, [x.name for x in fields(TrainingSettings)], PLACE)
    axes = {key: _setting(document, key, value) for key, value in given.items()}
    found = []
    for values in product(*axes.values()):
        settings = TrainingSettings(**dict(zip(axes, values, strict=True)))
        if settings.epochs <= settings.warm_up:
            words = (
                f"be above `warm_up`, {settings.warm_up}, or no fairness term counts"
            )
            document.fail("epochs", words, repr(settings.epochs), PLACE)
        found.append(settings)
    return tuple(dict.fromkeys(found))


def _setting(document: Document, key: str, given: object) -> tuple[Any, ...]:
    """Read a setting; a list of them is an axis of the grid."""
    kind = type(getattr(TrainingSettings(), key))
    wanted: Any = {tuple: list, float: (int, float)}.get(kind, kind)
    values = given if isinstance(given, list) and kind is not tuple else [given]
    allowed, words = TRAINING[key]
    for value in values:
        wrong = isinstance(value, bool) != (kind is bool)
        if wrong or not isinstance(value, wanted):
            name = "list" if kind is tuple else kind.__name__  # as TOML has it
            document.fail(key, f"be of type {name}", repr(value), PLACE)
        if not allowed(value):
            document.fail(key, words, repr(value), PLACE)
    if not values:
        document.fail(key, "have at least one value", repr(given), PLACE)
    return tuple(kind(value) for value in values)  # 1 and 1.0 have the same key
