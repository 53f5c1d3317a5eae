"""The nearest fair scores of a batch (Eq. 15), and their divergence (Eq. 16)."""

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.device import join
from fairret.divergence import Divergence, Scores, is_built_in, read_scores
from fairret.loss.base import Evaluated
from fairret.projection import Band, Dense, Matrix, Problem, Sparse, solve
from fairret.statistic.constraint import (
    Constraint,
    Margin,
    Moments,
    Totals,
    add_moments,
    pose,
    read_totals,
)
from fairret.statistic.memberships import Memberships, add_up, read_memberships
from fairret.statistic.sums import summands

RAREST = 1e-3  # statistics below this have an absolute tolerance, not a relative one
LARGEST_MULTIPLIER = 1e6  # above it c is at the edge of what scores can attain


class Settings(NamedTuple):
    """How a projection is found, and differentiated."""

    divergence: Divergence
    gradient: str
    tol: float
    max_iter: int
    max_violation: float


class Posed(NamedTuple):
    """A batch as a projection problem, and what its gradient needs."""

    problem: Problem
    constraint: Constraint
    s: Memberships


class Differentiated(NamedTuple):
    """The loss of a batch, with its derivative."""

    loss: Tensor
    slope: Tensor  # (n,), its derivative in the logits
    nu: Tensor  # (m,), the multipliers


@torch.no_grad()
def measure(batch: Evaluated, settings: Settings) -> Differentiated:
    """Compute the loss and its derivative in the logits, which are `batch.pred`."""
    # a user's own divergence may need autograd; torch.func refuses inference mode
    transformed = torch._C._functorch.is_functorch_wrapped_tensor(batch.pred)
    if transformed or not is_built_in(settings.divergence):
        return _measure(batch, settings)
    with torch.inference_mode():  # a tenth faster
        found = _measure(batch, settings)
    return Differentiated(
        *(x.clone() for x in found)
    )  # autograd refuses inference tensors


def _measure(batch: Evaluated, settings: Settings) -> Differentiated:
    divergence, gradient, tol, max_iter, max_violation = settings
    copies = batch.over.size  # DDP and FSDP average gradients over processes
    batch, own = batch.gather()
    posed = pose_problem(batch, divergence, max_violation, add_up_batch(batch))
    problem = posed.problem
    found = solve(problem, divergence, tol=tol, max_iter=max_iter)
    loss, slope = measure_divergence(problem, divergence, found.f, found.nu)
    if gradient == "exact" and batch.target is None:
        f_den = add_up(summands(found.f, problem.p, batch.coef).den, posed.s)
        (f_den,) = batch.over.total(f_den)
        largest = (found.nu * problem.size).abs().amax()
        through_c = slope_through_c(posed, f_den, found.nu)
        sound = (found.residual <= tol) & (largest < LARGEST_MULTIPLIER)
        slope = slope + torch.where(sound & through_c.isfinite(), through_c, 0.0)
    # rounding may leave -1e-17; NaN in the inputs, which other devices do not check,
    # must show in the loss
    loss = torch.add(loss.clamp_min(0), found.residual, alpha=0)
    slope = slope if copies == 1 else copies * slope[own]
    return Differentiated(loss, slope, found.nu)


class Summed(NamedTuple):
    """A batch with its sums over groups and processes."""

    scores: Scores
    s: Memberships
    w: Tensor  # (n,)
    moments: Moments


def add_up_batch(batch: Evaluated) -> Summed:
    """Sum a batch, whose `pred` are bounded logits, over its groups and processes."""
    scores, w = read_scores(batch.pred), batch.weight
    s = read_memberships(batch.s, batch.pred.dtype)
    moments = add_moments(scores.h, w, batch.coef, s, batch.parts, batch.over)
    return Summed(scores, s, w, moments)


def pose_problem(
    batch: Evaluated,
    divergence: Divergence,
    max_violation: float,
    summed: Summed,
    totals: Totals | None = None,
) -> Posed:
    """Turn sums into constraints (Prop. 1), and constraints into a problem."""
    scores, s, w, moments = summed
    totals = read_totals(moments) if totals is None else totals
    parity = pose(
        moments,
        totals,
        batch.coef,
        s,
        w,
        target=batch.target,
        max_violation=max_violation,
        over=batch.over,
    )
    size = parity.size.masked_fill(parity.size == 0, 1)
    if not divergence.has_kink:  # where the least barrier is larger
        # relative to c D_k a residual is a violation, which matters for rare events
        size = parity.level.clamp(RAREST * size, size)
    problem = Problem(
        scores,
        multiply_out(s, parity.beta, parity.kept, batch.parts),
        parity.b.flatten(),
        parity.p,
        size.flatten(),
        parity.start.flatten(),
        batch.over,
        None if parity.margin is None else _make_band(parity.margin, batch, s),
    )
    return Posed(problem, parity, s)


def _make_band(margin: Margin, batch: Evaluated, s: Memberships) -> Band:
    """Turn the margin of the constraints, which may depend on the scores, into one."""
    beta1, e = batch.coef.beta1, None
    if not (isinstance(beta1, float) and beta1 == 0):  # Def. 4
        e = multiply_out(s, beta1, margin.scale, batch.parts)
    return Band(e, margin.b.flatten(), margin.start.flatten())


def multiply_out(
    s: Memberships, beta: Tensor | float, kept: Tensor | None, parts: int
) -> Matrix:
    r"""Compute :math:`a_{ik} = S_{ik} \beta_i`, dense or sparse.

    Args:
        s: The memberships.
        beta: The slopes, `(K, n)`, `(K, 1)` or a number.
        kept: Factors of the constraints, `(K, d_s)`; None if all are 1.
        parts: The number of statistics, K.
    """
    beta = beta.unsqueeze(1) if isinstance(beta, Tensor) else beta
    if isinstance(s, Tensor):
        if parts == 1 and kept is None and isinstance(beta, float) and beta == 1:
            return Dense(s.T)  # without a copy
        a = (s.T * beta).expand(parts, -1, -1)
        a = a if kept is None else a * kept.unsqueeze(-1)
        return Dense(a.flatten(0, 1))
    first = torch.arange(parts, device=s.place.device) * s.d_s  # of every statistic
    place = (first[:, None, None] + s.place).flatten(0, 1)
    value = (s.value * beta).expand(parts, -1, -1)
    value = value if kept is None else value * kept[:, s.place]
    return Sparse(place, value.flatten(0, 1), parts * s.d_s)


def measure_divergence(
    problem: Problem, divergence: Divergence, f: Tensor, nu: Tensor
) -> tuple[Tensor, Tensor]:
    r""":math:`\sum_i p_i D(f^*_i \| h_i)` (Eq. 16) and its derivative in the logits.

    Step (ii) holds f* fixed.
    """
    values, slopes = [], []
    blocks = problem.blocks()
    for block, part in zip(blocks, torch.split(f, len(blocks[0].p)), strict=True):
        t = block.t(nu) if divergence.has_kink else None
        value, gradient = divergence.measure(part, block.scores, t)
        values.append(block.p @ value)
        slopes.append(block.p * gradient)
    (total,) = problem.over.total(functools.reduce(torch.add, values))
    slope = join(slopes)
    if problem.band is not None:  # within it, exactly zero: no rounding errors
        within = (nu == 0).all()
        total, slope = total.masked_fill(within, 0), slope.masked_fill(within, 0)
    return total, slope


def slope_through_c(posed: Posed, f_den: Tensor, nu: Tensor) -> Tensor:
    r"""The derivative of the minimum through c (envelope theorem), `(n,)`.

    .. math::
        \nu \cdot \frac{\partial g}{\partial c} \frac{\partial c}{\partial x_i}, \qquad
        \frac{\partial g_k}{\partial c} = -\sum_i p_i S_{ik} (\alpha_1 + f^*_i \beta_1),
        \qquad
        \frac{\partial c}{\partial h_i} = \frac{w_i (\beta_0 - c \beta_1)_i}{\bar D}

    Args:
        posed: The problem.
        f_den: The sums of :math:`\partial g_k / \partial c`, `(K, d_s)`.
        nu: The multipliers.
    """
    parity, (_, h, k, _) = posed.constraint, posed.problem.scores
    f_den = f_den if parity.kept is None else f_den * parity.kept
    nu = nu.view_as(f_den)
    if parity.margin is not None:  # which depends on c, too
        nu = nu + nu.abs() * parity.margin.per_c
    in_c = -(nu * f_den).sum(-1)  # (K,)
    of_c = parity.p * parity.beta * (parity.weight / parity.den)[:, None]  # (K, n)
    return (in_c @ of_c) * h * k
