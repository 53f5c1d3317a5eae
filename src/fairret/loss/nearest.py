"""The nearest fair scores of a batch (step i), and how far they are (step ii)."""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.distributed import processes_of
from fairret.divergence import (
    Divergence,
    SmoothDivergence,
    get_divergence,
    scores_of,
)
from fairret.loss.base import Batch
from fairret.projection import Dense, Matrix, Problem, Sparse, pose, solve
from fairret.statistic.constraint import Constraint, Line, constrain, fix
from fairret.statistic.memberships import Memberships, add_up, read_memberships
from fairret.statistic.sums import Coefficients, comparable, over_all, summands

RAREST = 1e-3  # statistics below this are held to it absolutely, not relatively
LARGEST_MULTIPLIER = 1e6  # beyond it c is at the edge of what scores can reach


class Setting(NamedTuple):
    """A batch as a projection problem, and what its gradient needs."""

    problem: Problem
    s: Memberships
    line: Line  # (K, n) each
    whole: Tensor  # (K,), the overall denominator, or 1 where there is none
    mask: Tensor  # (K, d_s)


class Measured(NamedTuple):
    """A projection, measured."""

    loss: Tensor
    slope: Tensor  # (n,), its derivative in the logits
    nu: Tensor  # (m,), the multipliers


@torch.no_grad()
def measure(
    batch: Batch,
    divergence: Divergence,
    *,
    gradient: str,
    tol: float,
    max_iter: int,
) -> Measured:
    """Compute the loss and its derivative in the logits, which are `batch.pred`."""
    setting = set_up(batch, divergence)
    problem = setting.problem
    found = solve(problem, divergence, tol=tol, max_iter=max_iter)
    f_star, nu, residual = found.f, found.nu, found.residual
    smooth = isinstance(divergence, SmoothDivergence)
    t = None if smooth else problem.a.spread(nu)
    value, pull = divergence.measure(f_star, problem.scores, t)
    slope = problem.p * pull  # step (ii) holds f* fixed
    loss = problem.mean(value) if found.divergence is None else found.divergence
    through_c = gradient == "exact" and batch.target is None
    if through_c:
        own = add_up(summands(f_star, problem.p, batch.coef).den, setting.s)
        (den,) = batch.over.total(own)
        largest = (nu * problem.size).abs().amax()
        envelope = _slope_through_c(batch, setting, den, nu)
        sound = (residual <= tol) & (largest < LARGEST_MULTIPLIER)
        slope = slope + torch.where(sound & envelope.isfinite(), envelope, 0.0)
    # rounding may leave -1e-17; NaN in the inputs, seen only here on other devices,
    # must not look like a loss; those who train on several processes average gradients
    return Measured(loss.clamp_min(0) + 0 * residual, slope * batch.over.size, nu)


def set_up(batch: Batch, divergence: Divergence) -> Setting:
    """Pose the problem of a batch whose `pred` are bounded logits."""
    scores = scores_of(batch.pred)
    s = read_memberships(batch.s, batch.pred.dtype)
    rows = summands(scores.h, batch.w, batch.coef)
    w = torch.ones_like(scores.h) if batch.w is None else batch.w
    weight, groups, *overall = batch.over.total(
        w.sum(), add_up(rows.den, s), *over_all(rows)
    )
    num, den = overall
    weight = weight.clamp_min(torch.finfo(w.dtype).tiny)
    mask = comparable(groups, den)
    none = ~mask.any(-1)
    whole = den.masked_fill(none, 1)
    c = batch.target
    if c is None:
        c = (num / whole).masked_fill(none, 0)
    p = w / weight
    line = fix(batch.coef, c)
    parity = constrain(line, s, p, mask)
    problem = pose(
        scores,
        matrix_of(parity, s),
        parity.b.flatten(),
        p,
        parity.size.flatten(),
        batch.over,
        divergence,
    )
    if isinstance(divergence, SmoothDivergence):  # total variation's barrier is coarse
        # relative to c D_k a residual is a violation, which matters for rare events
        half = (c.unsqueeze(-1) * groups).abs().flatten() / weight
        least = torch.maximum(half, RAREST * problem.size)
        problem = problem._replace(size=torch.minimum(problem.size, least))
    return Setting(problem, s, line, whole, mask)


def matrix_of(parity: Constraint, s: Memberships) -> Matrix:
    r"""Multiply :math:`a_{ik} = S_{ik} \\beta_i` out, zeros or not."""
    beta, kept = parity.beta.unsqueeze(1), parity.kept
    if isinstance(s, Tensor):
        return Dense((beta * s.T).mul_(kept.unsqueeze(-1)).flatten(0, 1))
    first = torch.arange(len(kept), device=kept.device) * s.d_s  # of every statistic
    place = (first[:, None, None] + s.place).flatten(0, 1)
    value = beta * s.value * kept[:, s.place]
    return Sparse(place, value.flatten(0, 1), kept.numel())


def _slope_through_c(batch: Batch, setting: Setting, den: Tensor, nu: Tensor) -> Tensor:
    r"""How the minimum moves with the logits through c (envelope theorem), `(n,)`.

    .. math::
        \nu \cdot \frac{\partial g}{\partial c} \frac{\partial c}{\partial x_i}, \qquad
        \frac{\partial g_k}{\partial c} = -\sum_i p_i S_{ik} (\alpha_1 + f^*_i \beta_1),
        \qquad
        \frac{\partial c}{\partial h_i} = \frac{w_i (\beta_0 - c \beta_1)_i}{\bar D}

    Args:
        batch: The batch.
        setting: Its problem.
        den: The sums of :math:`\partial g_k / \partial c`, `(K, d_s)`.
        nu: The multipliers.
    """
    _, h, k = setting.problem.scores
    in_c = -(nu.view_as(den) * den * setting.mask).sum(-1)  # (K,)
    of_c = setting.line.beta / setting.whole.unsqueeze(-1)  # (K, n), in h
    if batch.w is not None:
        of_c = of_c * batch.w
    return (in_c @ of_c.expand(-1, h.shape[0])) * h * k


@torch.library.custom_op("fairret::measure", mutates_args=())
def measure_op(
    logit: Tensor,
    s: Tensor,
    w: Tensor | None,
    alpha0: Tensor,
    beta0: Tensor,
    alpha1: Tensor,
    beta1: Tensor,
    target: Tensor | None,
    group: str,
    divergence: str,
    gradient: str,
    tol: float,
    max_iter: int,
) -> tuple[Tensor, Tensor]:
    """The whole of it as one node of a compiled graph: no gradient is taken inside."""
    coef = read_coefficients(alpha0, beta0, alpha1, beta1)
    batch = Batch(logit, True, s, w, coef, target, processes_of(group))
    found = measure(
        batch, get_divergence(divergence), gradient=gradient, tol=tol, max_iter=max_iter
    )
    return found.loss, found.slope


@measure_op.register_fake
def _(logit: Tensor, *args: object) -> tuple[Tensor, Tensor]:
    return logit.new_empty(()), torch.empty_like(logit)


def read_coefficients(*tensors: Tensor) -> Coefficients:
    """Turn scalar tensors, which a graph passes on, into numbers again."""
    return Coefficients(*(float(x) if x.dim() == 0 else x for x in tensors))
