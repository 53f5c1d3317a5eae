"""Many tables at once: resamples of one, or draws from a population."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

import reference
from fairret.metric.delta_method import NotionMoments
from fairret.metric.moments import row_excess


def sides(names: str, h: Tensor, y: Tensor) -> Tensor:
    """u and v of every row by Table 1, (..., 2 K, n), for names joined by "+"."""
    rows = []
    for name in names.split("+"):
        a0, b0, a1, b1 = reference.COEFFICIENTS[name](y)
        rows += [a0 + h * b0, a1 + h * b1]
    return torch.stack([row + 0 * h for row in rows], -2)


def moments(
    names: str, h: Tensor, y: Tensor, s: Tensor, counts: Tensor | None = None
) -> NotionMoments:
    """Sum B tables up: h and y are (B, n), or (n,) with counts (B, n) of the rows.

    The groups s, (n, d_s), are the same in all tables. Everybody comes first.
    """
    z = sides(names, h, y)
    every = torch.cat((torch.ones(len(s), 1, dtype=s.dtype), s), 1)
    K, d = z.shape[-2] // 2, every.shape[1]
    pairs = (every[:, :, None] * every[:, None, :]).flatten(1)  # (n, d d)
    products = (z.unsqueeze(-2) * z.unsqueeze(-3)).flatten(-3, -2)  # (..., 4 K K, n)
    if counts is None:
        first, second = z @ every, products @ pairs
    else:
        first = counts @ (z[..., None] * every).movedim(1, 0).flatten(1)
        second = counts @ (products[..., None] * pairs).movedim(1, 0).flatten(1)
    excess = row_excess(z.reshape(-1, 2 * K, len(s))).amax(-1).clamp_min(0)
    B = len(counts) if counts is not None else len(h)
    return NotionMoments(
        first.reshape(B, K, 2, d),
        second.reshape(B, K, 2, K, 2, d, d),
        excess.expand(B, 5, K),
    )


def resamples(n: int, times: int, seed: int = 0) -> Tensor:
    """How often each of n rows is drawn, with replacement: (times, n)."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.multinomial(n, np.full(n, 1 / n), times)).double()


class Population(NamedTuple):
    """Logits are normal in every group, and labels follow a logistic curve of them.

    Groups with the same numbers are alike in every statistic.
    """

    mean: tuple[float, ...]  # of the logit, in every group
    sd: tuple[float, ...]
    shift: tuple[float, ...]  # of the label's curve: how far scores are miscalibrated

    def draw(self, s: Tensor, times: int, hard: bool, seed: int) -> tuple[Tensor, ...]:
        """Scores or decisions, and labels: (times, n) each."""
        rng = torch.Generator().manual_seed(seed)
        mean, sd, shift = (s @ torch.tensor(x, dtype=s.dtype) for x in self)
        size = (times, len(s))
        x = mean + sd * torch.randn(size, generator=rng, dtype=s.dtype)
        noise = torch.rand(size, generator=rng, dtype=s.dtype)
        y = (noise < torch.sigmoid(x + shift)).to(s)
        return ((x > 0).to(s) if hard else torch.sigmoid(x)), y

    def truth(self, name: str, hard: bool) -> Tensor:
        """Every group's statistic, by the midpoint rule: (d_s,)."""
        share = (torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000
        quantiles = torch.special.ndtri(share)
        values = []
        for mean, sd, shift in zip(*self, strict=True):
            x = mean + sd * quantiles
            h = (x > 0).double() if hard else torch.sigmoid(x)
            # coefficients are linear in the label: its mean may take its place
            u, v = sides(name, h, torch.sigmoid(x + shift)).sum(-1)
            values.append(u / v)
        return torch.stack(values)


def trait(*sizes: int) -> Tensor:
    """One trait whose groups have these sizes: (sum of sizes, d_s)."""
    codes = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    return torch.nn.functional.one_hot(codes, len(sizes)).double()
