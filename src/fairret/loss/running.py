r"""A projection whose multipliers are kept between batches, so that small ones suffice.

For given multipliers :math:`\nu`, :math:`f^*_i` is a closed form in the score of row i.
So the multipliers are kept, and each batch takes a fraction of its Newton step: its
share in the memory. The Hessian is a running mean.
"""

import torch
from torch import Tensor

from fairret.divergence import Divergence
from fairret.loss.base import Evaluated
from fairret.loss.memory import Memory
from fairret.loss.nearest import (
    Posed,
    Settings,
    add_up_batch,
    measure,
    measure_divergence,
    pose_problem,
    slope_through_c,
)
from fairret.projection.linear import Gram, solve_known
from fairret.projection.problem import outside
from fairret.statistic.constraint import Totals, read_totals
from fairret.statistic.memberships import add_up
from fairret.statistic.sums import summands

REMEMBERED = (*Totals._fields, "nu", "gram", "size", "largest_t", "square", "f_den")
WITHIN = ("gap", "largest_gap")
ROWS_EACH = 4  # rows per constraint at which the Hessian has weight one half
ACCURACY = 1e-2  # of a Newton step by conjugate gradients; the Hessian is approximate


def remembered(max_violation: float) -> tuple[str, ...]:
    """The names of what a memory keeps, which are more with a tolerance."""
    return (*REMEMBERED, *WITHIN) if max_violation else REMEMBERED


@torch.no_grad()
def measure_running(
    batch: Evaluated, memory: Memory, settings: Settings
) -> tuple[Tensor, Tensor]:
    """Compute the loss and its derivative in the logits, which are `batch.pred`.

    A batch as long as the memory is projected by itself, and remembered.
    """
    divergence = settings.divergence
    copies = batch.over.size
    batch, own = batch.gather()
    summed = add_up_batch(batch)
    scores = summed.scores
    (n,) = batch.over.total(batch.rows)
    # with one process, a host read would make another device wait
    blind = batch.over.size == 1 and (batch.w is None or n.device.type != "cpu")
    alone = (len(scores.h) if blind else n.item()) >= memory.rows
    totals = read_totals(summed.moments)
    share = memory.add_rows(n, *totals)
    n = n.clamp_min(1)
    means = (memory.mix(name, x / n, share) for name, x in totals._asdict().items())
    totals = Totals(*(n * mean for mean in means))  # of n rows like those remembered
    posed = pose_problem(batch, divergence, settings.max_violation, summed, totals)
    problem = posed.problem
    nu = memory.recall("nu", problem.b)
    if alone:
        found = measure(batch, settings)
        counts = found.nu.isfinite() & (share > 0)
        nu = torch.where(counts, found.nu, nu)
        _follow(batch, posed, divergence, memory, share, nu)
        memory.keep("nu", nu)
        return found.loss, copies // batch.over.size * found.slope[own]

    moved, f_den = _follow(batch, posed, divergence, memory, share, nu)
    nu = torch.where(moved.isfinite(), moved, nu)
    memory.keep("nu", nu)
    f, _ = divergence.minimise(scores, problem.t(nu))
    loss, slope = measure_divergence(problem, divergence, f, nu)
    if settings.gradient == "exact" and batch.target is None:
        slope = slope + slope_through_c(posed, f_den, nu)
    # NaN in the inputs, which other devices do not check, must show in the loss
    return loss.clamp_min(0) + 0 * moved.sum(), copies * slope[own]


def _follow(
    batch: Evaluated,
    posed: Posed,
    divergence: Divergence,
    memory: Memory,
    share: Tensor,
    nu: Tensor,
) -> tuple[Tensor, Tensor]:
    """Update the running means at these multipliers.

    Returns:
        The new multipliers, and the denominators of the nearest scores, `(K, d_s)`.
    """
    (scores, a, b, p, _, _, over, band), parity, s = posed
    f, rate = divergence.minimise(scores, posed.problem.t(nu))
    # at a bound a score does not move, but it would move back: with a Hessian that
    # ignores this, the multipliers oscillate
    w = p * torch.maximum(rate(), divergence.rate_at_h(scores))
    of_t = a if band is None or band.e is None else a.minus(band.e, nu.sign())
    hessian = Gram(of_t, w, len(nu), over, exact=True)
    half, moved, largest, square, f_den = over.total(
        hessian.summand(),
        a.matvec(p * f),
        a.moment(p * divergence.largest_t(scores), 1),
        a.moment(p, 2),
        add_up(summands(f, p, batch.coef).den, s),
    )
    gram = memory.mix("gram", hessian.whole(half), share)
    size = memory.mix("size", parity.size.flatten(), share)
    square = memory.mix("square", square, share)
    square = square.clamp_min(torch.finfo(nu.dtype).tiny)
    # where t = nu a of a typical row
    limit = memory.mix("largest_t", largest, share) / square
    g, side = b + moved, None
    if parity.margin is not None:
        largest = (parity.margin.scale * f_den).flatten()
        side = _find_sides(nu, g, largest, memory, share)
        g, gram = side * (side * g - largest), gram * side.abs() * side.abs()[:, None]
    f_den = memory.mix("f_den", f_den, share)
    growth = divergence.growth * size / square
    new = nu + _move(gram, g, share, growth, memory)
    if side is not None:
        new = torch.where(side * new > 0, new, 0.0)
    return torch.maximum(torch.minimum(new, limit), -limit), f_den


def _find_sides(
    nu: Tensor, g: Tensor, largest: Tensor, memory: Memory, share: Tensor
) -> Tensor:
    """Which side of the tolerance groups are at: 1, -1, or 0 if they are within it.

    A multiplier keeps its side until it reaches zero. Then its group is within the
    tolerance until the running gap exceeds it: the gap of a batch is mostly noise.
    """
    gap = memory.mix("gap", g, share)
    excess = outside(gap, memory.mix("largest_gap", largest, share))
    return torch.where(nu == 0, excess, nu).sign()


def _move(
    gram: Tensor, g: Tensor, share: Tensor, growth: Tensor, memory: Memory
) -> Tensor:
    r"""A fraction of a damped Newton step, the same in all processes.

    A Hessian of few rows says little about interactions between constraints. Until
    there are several rows per constraint, its diagonal dominates.

    While a multiplier moves by :math:`\delta`, the Hessian r may grow to
    :math:`r e^{\delta / \sigma}`, so a gap of g is closed after
    :math:`\sigma \log(1 + g / (r \sigma))` rather than :math:`g / r`.

    Args:
        gram: Minus the Hessian.
        g: The gap.
        share: The share of the batch, `(1,)`.
        growth: :math:`\sigma` of every multiplier, `(m,)`.
        memory: Knows the number of rows behind the Hessian.
    """
    known = memory.seen.to(g).clamp(1.0, float(memory.rows)) / (ROWS_EACH * len(g))
    diagonal = gram.diagonal()
    tiny = torch.finfo(gram.dtype).tiny
    ridge = diagonal / known + 1e-9 * diagonal.mean() + tiny
    move = share * solve_known(gram, ridge, g, ACCURACY)
    near = move.sign() * growth * (move.abs() / growth).log1p()
    move = torch.where(near.isfinite(), near, move)  # a growth of 0 or infinity
    decrement = ((move @ g) / share.clamp_min(tiny)).clamp_min(0).sqrt()
    shorter: Tensor = move / (1 + decrement)
    return shorter
