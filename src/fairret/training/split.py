"""Training, validation and test rows."""

from typing import NamedTuple

import torch
from torch import Tensor

TEST_SHARE = 0.2


class Rows(NamedTuple):
    """Features, memberships and labels of some rows."""

    feat: Tensor  # (n, d_x); standardised unless binary
    sens: Tensor  # (n, d_s)
    label: Tensor  # (n,)

    def take(self, rows: Tensor) -> "Rows":
        """Select some of the rows."""
        return Rows(self.feat[rows], self.sens[rows], self.label[rows])


class Split(NamedTuple):
    """Disjoint sets of rows."""

    train: Rows
    validation: Rows | None
    test: Rows


def split_rows(
    feat: Tensor, sens: Tensor, label: Tensor, *, seed: int, validation: float = 0.0
) -> Split:
    """Split 80 to 20 at random, and standardise features by the training rows.

    Args:
        feat: Features, `(n, d_x)`.
        sens: Memberships, `(n, d_s)`.
        label: Labels, `(n,)`.
        seed: Of the split.
        validation: Share of the training rows to use for validation.
    """
    n = len(label)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    cut = round(TEST_SHARE * n)
    test, rest = order[:cut], order[cut:]
    kept = round(validation * len(rest))
    chosen, train = rest[:kept], rest[kept:]
    mean, sd = feat[train].mean(0), feat[train].std(0, correction=0)
    as_it_is = ((feat == 0) | (feat == 1)).all(0) | (sd == 0)  # binary or constant
    mean, sd = mean.masked_fill(as_it_is, 0), sd.masked_fill(as_it_is, 1)
    rows = Rows((feat - mean) / sd, sens, label)
    chosen_rows = rows.take(chosen) if kept else None
    return Split(rows.take(train), chosen_rows, rows.take(test))
