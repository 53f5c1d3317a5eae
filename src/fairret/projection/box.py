"""The unknowns of the interior-point method, each between two bounds."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from fairret.distributed import Processes
from fairret.divergence import Divergence
from fairret.projection.matrix import Matrix, Mirrored, WithSlack
from fairret.projection.problem import Problem

RowFunction: TypeAlias = Callable[[Tensor, Tensor], Tensor]


class Box(NamedTuple):
    """A separable convex function of y over a box, under b + a (p y) = 0."""

    a: Matrix  # (m, N)
    b: Tensor  # (m,)
    p: Tensor  # (N,)
    mass: float  # the sum of p over all processes
    over: Processes
    start: Tensor  # (2, N): a point inside, and its distance to the upper bound
    slope: RowFunction
    curvature: RowFunction
    scores: Callable[[Tensor], Tensor]  # f, (n,), of y, (N,)
    barrier: Tensor  # (), at the start


def make_box(problem: Problem, divergence: Divergence, *, slack: bool) -> Box:
    """Write a problem as a box; with slack, its gaps may also be below zero."""
    box = (_split_box if divergence.has_kink else _smooth_box)(problem, divergence)
    return _add_slack(box, problem) if slack else box


def _smooth_box(problem: Problem, divergence: Divergence) -> Box:
    scores, a, b, p, _, _, over, _ = problem

    def slope(f: Tensor, u: Tensor) -> Tensor:
        return divergence.slope(f, u, scores)

    def curvature(f: Tensor, u: Tensor) -> Tensor:
        return divergence.curvature(f, u, scores)

    start = torch.stack((scores.h, scores.k)).clamp(0.2, 0.8)
    barrier = 0.01 + 0.2 * problem.mean(slope(*start).abs())
    return Box(a, b, p, 1.0, over, start, slope, curvature, lambda f: f, barrier)


def _split_box(problem: Problem, divergence: Divergence) -> Box:
    """Write f = h + up - down, 0 <= up <= 1 - h, 0 <= down <= h, cost up + down."""
    (_, h, k, _), a, b, p, _, start, over, _ = problem

    def scores(y: Tensor) -> Tensor:
        up, down = y.chunk(2)
        return h + up - down

    half = torch.cat((k, h)).clamp_min(1e-9) / 2
    return Box(
        Mirrored(a),
        start,
        torch.cat((p, p)),
        1.0,
        over,
        torch.stack((half, half)),
        lambda y, _: torch.ones_like(y),
        lambda y, _: torch.zeros_like(y),
        scores,
        torch.full_like(b[0], 0.1),
    )


def _add_slack(box: Box, problem: Problem) -> Box:
    """Add an unknown to every constraint, so that it is met if at most zero.

    The unknowns cost nothing and have an upper bound that does not bind. Together they
    have the weight of all rows. One process has them.
    """
    constraints = len(box.b)
    m = constraints if box.over.rank == 0 else 0
    bound = 2 * (1 + problem.b.abs())[:m]  # scaled rows add at most 1 to b
    slack = (-problem.start[:m]).clamp(0.1 * bound, 0.9 * bound)
    rows = box.start.shape[1]

    def extend(function: RowFunction) -> RowFunction:
        def extended(y: Tensor, u: Tensor) -> Tensor:
            return torch.cat((function(y[:rows], u[:rows]), torch.zeros_like(slack)))

        return extended

    return box._replace(
        a=WithSlack(box.a, m, float(constraints)),
        p=torch.cat((box.p, torch.full_like(slack, 1 / constraints))),
        mass=box.mass + 1,
        start=torch.cat((box.start, torch.stack((slack, bound - slack))), 1),
        slope=extend(box.slope),
        curvature=extend(box.curvature),
        scores=lambda y: box.scores(y[:rows]),
    )
