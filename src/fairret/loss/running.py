r"""A projection whose multipliers follow the batches, so that small ones suffice.

With the multipliers :math:`\nu` known, :math:`f^*_i` is a closed form in the score of
row i alone. So they are kept, and each batch moves them by a part of the Newton step
that it would take: the part that it has in the memory. The Hessian is a running mean.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.distributed import processes_of
from fairret.divergence import Scores, SmoothDivergence, get_divergence, scores_of
from fairret.loss.base import Batch
from fairret.loss.memory import Memory, memory_of
from fairret.loss.nearest import matrix_of, measure, read_coefficients
from fairret.projection.linear import Gram, solve_known
from fairret.projection.matrix import Matrix
from fairret.statistic.constraint import Constraint, Line, constrain, fix
from fairret.statistic.memberships import Memberships, add_up, read_memberships
from fairret.statistic.sums import comparable, over_all, summands

REMEMBERED = (
    *("weight", "num", "den", "group_den", "nu"),
    *("gram", "size", "far", "square", "f_den"),
)
ROWS_EACH = 4  # rows for every constraint after which the Hessian counts for half
ACCURACY = 1e-2  # of a Newton step where it is iterated; the Hessian is a rough one


class _Posed(NamedTuple):
    """A batch as a part of the problem of all rows."""

    scores: Scores
    s: Memberships
    share: Tensor  # (1,), of the batch in the running means
    alone: bool  # whether the batch is as long as the memory
    p: Tensor  # (n,), weights relative to the mean weight of all rows
    line: Line  # (K, n) each
    den: Tensor  # (K,), the overall denominator
    parity: Constraint
    a: Matrix


@torch.no_grad()
def measure_running(
    batch: Batch,
    divergence: SmoothDivergence,
    memory: Memory,
    *,
    gradient: str,
    tol: float,
    max_iter: int,
) -> tuple[Tensor, Tensor]:
    """Compute the loss and its derivative in the logits, which are `batch.pred`.

    A batch as long as the memory stands for itself, and is remembered.
    """
    posed = _pose(batch, memory)
    nu = memory.recall("nu", posed.parity.b.flatten())
    if posed.alone:
        found = measure(
            batch, divergence, gradient=gradient, tol=tol, max_iter=max_iter
        )
        counts = found.nu.isfinite() & (posed.share > 0)
        nu = torch.where(counts, found.nu, nu)
        _follow(batch, posed, divergence, memory, nu)
        memory.keep("nu", nu)
        return found.loss, found.slope

    moved, f_den = _follow(batch, posed, divergence, memory, nu)
    nu = torch.where(moved.isfinite(), moved, nu)
    memory.keep("nu", nu)
    f, _ = divergence.minimise(posed.scores, posed.a.spread(nu))
    value, pull = divergence.measure(f, posed.scores)
    (loss,) = batch.over.total(posed.p @ value)
    slope = posed.p * pull  # step (ii) holds f* fixed
    if gradient == "exact" and batch.target is None:
        in_c = -(nu.view_as(f_den) * f_den).sum(-1)
        of_c = posed.p * posed.line.beta / posed.den.unsqueeze(-1)
        slope = slope + (in_c @ of_c) * posed.scores.h * posed.scores.k
    # NaN in the inputs, seen only here on other devices, must not look like a loss
    return loss.clamp_min(0) + 0 * moved.sum(), slope * batch.over.size


def _pose(batch: Batch, memory: Memory) -> _Posed:
    """Pose the problem at the running mean of c."""
    over = batch.over
    scores = scores_of(batch.pred)
    s = read_memberships(batch.s, batch.pred.dtype)
    w = torch.ones_like(scores.h) if batch.w is None else batch.w
    rows = summands(scores.h, batch.w, batch.coef)
    n, *sums = over.total(
        batch.rows, w.sum()[None], *over_all(rows), add_up(rows.den, s)
    )
    # with one process, a look at what counts would make another device wait
    blind = over.size == 1 and (batch.w is None or w.device.type != "cpu")
    alone = (len(w) if blind else n.item()) >= memory.rows
    share = memory.share_of(n, *sums)
    n = n.clamp_min(1)
    weight, num, den, groups = (
        memory.mix(name, x / n, share)
        for name, x in zip(REMEMBERED[:4], sums, strict=True)
    )
    weight = weight.clamp_min(torch.finfo(w.dtype).tiny)
    mask = comparable(groups, den)
    none = ~mask.any(-1)
    den = (den / weight).masked_fill(none, 1)
    c = batch.target
    if c is None:
        c = (num / weight / den).masked_fill(none, 0)
    p = w / (n * weight)
    line = fix(batch.coef, c)
    parity = constrain(line, s, p, mask)
    a = matrix_of(parity, s)
    return _Posed(scores, s, share, alone, p, line, den, parity, a)


def _follow(
    batch: Batch,
    posed: _Posed,
    divergence: SmoothDivergence,
    memory: Memory,
    nu: Tensor,
) -> tuple[Tensor, Tensor]:
    """Remember what the batch says at these multipliers, and where it moves them.

    Also gives the denominators of the nearest scores, `(K, d_s)`.
    """
    scores, s, share, _, p, _, _, parity, a = posed
    f, rate = divergence.minimise(scores, a.spread(nu))
    # at a bound a score does not move, but would on its way back: a Hessian that
    # forgets this throws the multipliers from one end to the other
    rate = torch.maximum(rate, 1 / divergence.curvature(*scores[1:], scores))
    hessian = Gram(a, p * rate, len(nu), batch.over, exact=True)
    half, g, size, far, square, f_den = batch.over.total(
        hessian.summand(),
        parity.b.flatten() + a.collect(p * f),
        parity.size.flatten(),
        a.moment(p * divergence.reach(scores), 1),
        a.moment(p, 2),
        add_up(summands(f, p, batch.coef).den, s),
    )
    gram = memory.mix("gram", hessian.whole(half), share)
    size = memory.mix("size", size, share)
    square = memory.mix("square", square, share)
    square = square.clamp_min(torch.finfo(nu.dtype).tiny)
    farthest = memory.mix("far", far, share) / square  # where t = nu a of a typical row
    f_den = memory.mix("f_den", f_den, share)
    moved = nu + _move(gram, g, share, divergence.bend * size / square, memory)
    return torch.maximum(torch.minimum(moved, farthest), -farthest), f_den


def _move(
    gram: Tensor, g: Tensor, share: Tensor, bend: Tensor, memory: Memory
) -> Tensor:
    r"""A share of a Newton step, shorter the farther it goes; for all processes alike.

    A Hessian of few rows knows little of how constraints work together: until there
    are several for each, its diagonal counts most.

    While a multiplier moves by :math:`\delta`, the Hessian r may grow to
    :math:`r e^{\delta / \sigma}`, so that a gap of g is closed after
    :math:`\sigma \log(1 + g / (r \sigma))` rather than after :math:`g / r`.

    Args:
        gram: Minus the Hessian.
        g: The gap.
        share: That of the batch, `(1,)`.
        bend: :math:`\sigma` of every multiplier, `(m,)`.
        memory: How many rows the Hessian is of.
    """
    known = memory.seen.to(g).clamp(1.0, float(memory.rows)) / (ROWS_EACH * len(g))
    diagonal = gram.diagonal()
    tiny = torch.finfo(gram.dtype).tiny
    ridge = diagonal / known + 1e-9 * diagonal.mean() + tiny
    move = share * solve_known(gram, ridge, g, ACCURACY)
    near = move.sign() * bend * (move.abs() / bend).log1p()
    move = torch.where(near.isfinite(), near, move)  # a bend of 0 or infinity
    decrement = ((move @ g) / share.clamp_min(tiny)).clamp_min(0).sqrt()
    shorter: Tensor = move / (1 + decrement)
    return shorter


@torch.library.custom_op("fairret::measure_running", mutates_args=("seen", "rooms"))
def measure_running_op(
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
    rows: int,
    seen: Tensor,
    rooms: list[Tensor],
) -> tuple[Tensor, Tensor]:
    """The same as one node of a compiled graph, which changes what is remembered."""
    coef = read_coefficients(alpha0, beta0, alpha1, beta1)
    batch = Batch(logit, True, s, w, coef, target, processes_of(group))
    smooth = get_divergence(divergence)
    assert isinstance(smooth, SmoothDivergence)  # else a memory was refused
    return measure_running(
        batch,
        smooth,
        memory_of(rows, REMEMBERED, seen, rooms),
        gradient=gradient,
        tol=tol,
        max_iter=max_iter,
    )


@measure_running_op.register_fake
def _(logit: Tensor, *args: object) -> tuple[Tensor, Tensor]:
    return logit.new_empty(()), torch.empty_like(logit)
