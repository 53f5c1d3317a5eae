"""Cells of a table, as an audit reads them, and the plain loops they should equal."""

import numpy as np

from fairret.auditing.arguments import make_layout
from fairret.auditing.files import open_sources
from fairret.auditing.reading import Reader
from fairret.auditing.rows import Missing


def read(data, sensitive, *, tick=lambda share: None, **options):
    """Read a table into cells."""
    usual = {
        "score": "p",
        "label": "y",
        "weight": None,
        "threshold": 0.5,
        "bins": {},
        "logits": False,
        "max_categories": 100,
        "positive": None,
    }
    sources = open_sources(data, None)
    layout = make_layout(sources, sensitive, **{**usual, **options})
    reader = Reader(sources, layout, Missing(), tick)
    return reader.read(sensitive), sources


def keys(table):
    """Tell the label and the traits of every cell."""
    columns = [table.column(j) for j in range(1 + len(table.columns.traits))]
    values = [column.to_numpy() for column in columns]
    return [tuple(map(str, key)) for key in zip(*values, strict=True)]


def loops(rows, thresholds, edges):
    """Sum the rows of one cell, `(w, score of each model)`, one after the other."""
    models, bins = len(thresholds), len(edges[0]) + 1
    first, second = np.zeros((2, models, 2, 3))
    cross, histogram = np.zeros(2), np.zeros((models, bins, 3))
    for w, *scores in rows:
        decisions = [float(h > t) for h, t in zip(scores, thresholds, strict=True)]
        for m, h in enumerate(scores):
            for channel, x in enumerate((h, decisions[m])):
                for power in range(3):
                    first[m, channel, power] += w * x**power
                    second[m, channel, power] += w * w * x**power
            j = sum(h > edge for edge in edges[m])
            histogram[m, j] += w, w * h, w * w
        if models == 2:
            cross += w * w * np.prod(scores), w * w * np.prod(decisions)
    return first, second, cross, histogram
