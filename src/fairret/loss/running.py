r"""A projection whose multipliers follow the batches, so that small ones suffice.

With the multipliers :math:`\nu` known, :math:`f^*_i` is a closed form in the score of
row i alone. So they are kept, and each batch moves them by a part of the Newton step
that it would take: the part that it has in the memory. The Hessian is a running mean.
"""

import torch
from torch import Tensor

from fairret.divergence import SmoothDivergence, scores_of
from fairret.loss.base import Batch
from fairret.loss.memory import Memory
from fairret.loss.nearest import matrix_of
from fairret.statistic.constraint import constrain, fix
from fairret.statistic.memberships import add_up, read_memberships
from fairret.statistic.sums import over_all, summands

RIDGE = 1e-6  # share of the diagonal; the Hessian is a rough one anyway
SOLVABLE = 200  # constraints up to which the Hessian is factorised at every batch


@torch.no_grad()
def measure_running(
    batch: Batch, divergence: SmoothDivergence, memory: Memory, *, through_c: bool
) -> tuple[Tensor, Tensor]:
    """Compute the loss and its derivative in the logits, which are `batch.pred`."""
    over = batch.over
    scores = scores_of(batch.pred)
    s = read_memberships(batch.s, batch.pred.dtype)
    rows = summands(scores.h, batch.w, batch.coef)
    w = torch.ones_like(scores.h) if batch.w is None else batch.w
    count = w.new_full((), len(w))
    n, weight, num, den = over.total(count, w.sum(), *over_all(rows))
    weight = weight.clamp_min(torch.finfo(w.dtype).tiny)
    share = memory.share_of(n.clamp_min(1))
    num = memory.mix("num", num / weight, share)
    den = memory.mix("den", den / weight, share)
    den = den.masked_fill(den == 0, 1)
    c = num / den if batch.target is None else batch.target

    p = w / weight
    line = fix(batch.coef, c)
    everybody = torch.ones(len(c), batch.s.shape[1], dtype=torch.bool, device=c.device)
    parity = constrain(line, s, p, everybody)
    a = matrix_of(parity, s)
    nu = memory.recall("nu", parity.b.flatten())
    f, rate = divergence.minimise(scores, a.spread(nu))
    # a score at a bound does not move, but would on its way back
    rate = torch.where(rate > 0, rate, 1 / divergence.curvature(*scores[1:], scores))
    g, gram, size, square, f_den = over.total(
        parity.b.flatten() + a.collect(p * f),
        a.gram(p * rate),
        parity.size.flatten(),
        a.moment(p, 2),
        add_up(summands(f, p, batch.coef).den, s),
    )
    gram = memory.mix("gram", gram, share)
    size = memory.mix("size", size, share)
    square = memory.mix("square", square, share)
    f_den = memory.mix("f_den", f_den, share)
    moved = nu + share * _newton_step(gram, g)
    # what t = nu a of a typical row may be
    farthest = divergence.farthest * size / square.clamp_min(torch.finfo(nu.dtype).tiny)
    moved = torch.maximum(torch.minimum(moved, farthest), -farthest)
    nu = torch.where(moved.isfinite(), moved, nu)
    memory.keep("nu", nu)

    f, _ = divergence.minimise(scores, a.spread(nu))
    value, pull = divergence.measure(f, scores)
    (loss,) = over.total(p @ value)
    slope = p * pull  # step (ii) holds f* fixed
    if through_c and batch.target is None:
        in_c = -(nu.view_as(f_den) * f_den).sum(-1)
        of_c = p * line.beta / den.unsqueeze(-1)
        slope = slope + (in_c @ of_c) * scores.h * scores.k
    # NaN in the inputs, seen only here on other devices, must not look like a loss
    return loss.clamp_min(0) + 0 * g.sum(), slope * over.size


def _newton_step(gram: Tensor, g: Tensor) -> Tensor:
    """A step along the dual, shorter the farther it goes; for all processes alike."""
    diagonal = gram.diagonal()
    tiny = torch.finfo(gram.dtype).tiny
    if len(gram) <= SOLVABLE:
        ridge = RIDGE * (diagonal + RIDGE * diagonal.mean()) + tiny
        lu, pivots, _ = torch.linalg.lu_factor_ex(gram + torch.diag(ridge))
        step = torch.linalg.lu_solve(lu, pivots, g.unsqueeze(-1))[:, 0]
    else:  # rows of a Gram matrix bound its eigenvalues
        step = g / gram.abs().sum(1).clamp_min(tiny)
    decrement = (step @ g).clamp_min(0).sqrt()
    shorter: Tensor = step / (1 + decrement)
    return shorter
