"""Batches with uneven groups and scores that differ between them."""

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

RACE_SHARES = (0.62, 0.18, 0.11, 0.06, 0.03)
RACE_SHIFTS = (0.3, -0.6, 0.5, -0.3, -0.9)
WIDTH = 8  # categories of a trait where many columns are wanted


class Batches(NamedTuple):
    """Several batches of the same size."""

    logit: Array  # (batches, n, 1)
    sens: Array  # (batches, n, d_s)
    label: Array  # (batches, n, 1)
    feat: Array  # (batches, n, d_x)

    def seen(self, index: int) -> tuple[Array, Array, Array]:
        """What a fairret sees of one batch: logit, sens and label."""
        return self.logit[index], self.sens[index], self.label[index]


def make(batches: int, n: int, *, d_x: int = 1, seed: int = 0) -> Batches:
    """Draw sex, race and age (8 columns), features, scores and labels.

    Logits have a spread of 1.5 within a group and shift between groups; 36 % of the
    labels are positive.
    """
    rng = np.random.default_rng(seed)
    shape = (batches, n)
    sex = (rng.random(shape) < 0.45).astype(int)
    race = rng.choice(len(RACE_SHARES), shape, p=RACE_SHARES)
    age = rng.beta(2, 3, shape)
    sens = np.concatenate((np.eye(2)[sex], np.eye(5)[race], age[..., None]), -1)
    shift = 0.6 * sex + np.array(RACE_SHIFTS)[race] + 0.8 * age
    logit = 1.5 * rng.standard_normal(shape) + shift - 1.5
    label = rng.random(shape) < 1 / (1 + np.exp(-logit))
    loading = 0.3 * rng.standard_normal(d_x)  # features tell of the score, with noise
    feat = logit[..., None] * loading + rng.standard_normal((*shape, d_x))
    columns = (logit[..., None], sens, label[..., None], feat)
    return Batches(*(column.astype(np.float32) for column in columns))


def many_groups(n: int, d_s: int, seed: int = 0) -> tuple[Array, Array]:
    """Draw logits, `(n, 1)`, and one-hot traits of up to 8 categories, `(n, d_s)`."""
    rng = np.random.default_rng(seed)
    sens = np.zeros((n, d_s), np.float32)
    logit = 1.5 * rng.standard_normal((n, 1), np.float32) - 1
    rows = np.arange(n)
    for first in range(0, d_s, WIDTH):
        width = min(WIDTH, d_s - first)
        category = np.minimum(rng.geometric(0.3, n) - 1, width - 1)
        sens[rows, first + category] = 1
        logit[:, 0] += (category % 3 - 1).astype(np.float32) * np.float32(0.2)
    return logit, sens


def save(data: Batches, path: Path) -> None:
    """Write the batches for another process."""
    np.savez(path, **data._asdict())


def load(path: Path) -> Batches:
    """Read what `save` wrote."""
    with np.load(path) as file:
        return Batches(*(file[name] for name in Batches._fields))
