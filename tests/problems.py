"""Projection problems: some that are not about fairness, and hard ones that are."""

import numpy as np
import torch

from batches import STACKS, STATISTICS, sample
from fairret.projection import Dense, Problem


def make_problem(scores, a, b, p):
    """The problem with the constraints b + a (p f) = 0; a is `(m, n)`."""
    size = a.abs() @ p
    start = b + a @ (p * scores.h)
    return Problem(scores, Dense(a), b, p, size.masked_fill(size == 0, 1), start)


def hard_problems():
    """Small and saturated, with rare, empty and repeated groups, and few positives."""
    rng = np.random.default_rng(0)
    for index in range(120):
        n = int(rng.choice([3, 8, 20, 64, 200]))
        scale = float(rng.choice([0.1, 1, 10, 50, 200]))
        kind = str(rng.choice(["one", "three", "continuous"]))
        positive = float(rng.choice([0.02, 0.4]))
        batch = sample(n, kind, index, scale, positive)
        extra = str(rng.choice(["", "empty", "twice", "rare"]))
        sens = batch.sens
        if extra == "empty":
            sens = torch.cat((sens, 0 * sens[:, :1]), 1)
        elif extra == "twice":
            sens = torch.cat((sens, sens[:, :2]), 1)
        elif extra == "rare":
            sens = torch.cat((sens, torch.eye(n, dtype=torch.float64)[:, :1]), 1)
        stack = str(rng.choice([*STATISTICS, *STACKS]))
        yield stack, batch._replace(sens=sens)
