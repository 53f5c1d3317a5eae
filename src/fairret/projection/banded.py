r"""The dual problem of constraints that hold within a band (:class:`Band`).

Each constraint k has two sides, :math:`g_k \le w_k` and :math:`-g_k \le w_k`, where w
is the largest gap. Their multipliers are not negative, and at most one of them is
positive, so :math:`\nu_k` is their difference, and

.. math:: t_i = \nu \cdot a_i - |\nu| \cdot e_i

At the optimum :math:`\nu_k` is zero if the gap is inside of the band. Otherwise the gap
is at the side that :math:`\nu_k` has the sign of. A Newton step solves for the active
constraints, and sets the other multipliers to zero.
"""

import functools

import torch
from torch import Tensor

from fairret import device
from fairret.divergence import Divergence
from fairret.projection.dual import Dual, Point, Step
from fairret.projection.linear import RIDGE, Gram, factorise
from fairret.projection.problem import Problem, outside

DROPS = 10  # times that constraints may become inactive within a step
FEW_DROPS = 2  # the same without host reads, where none is left out
STEEPEST = 0.25  # about the largest w' of a divergence


class BandedDual(Dual):
    """The dual problem within a band."""

    def __init__(self, problem: Problem, divergence: Divergence) -> None:
        super().__init__(problem, divergence)
        assert problem.band is not None
        self._band = problem.band
        self._tau: Tensor | None = None  # of no use where nu is zero

    def start(self) -> Point:
        """The point at nu = 0, where f is h."""
        point, largest = super().start(), self._band.start
        residual = self._problem.residual(outside(point.g, largest))
        return point._replace(residual=residual, largest=largest)

    def evaluate(self, nu: Tensor) -> Point:
        """Minimise the Lagrangian at nu, and compute the gap and the largest gap."""
        over, e = self._problem.over, self._band.e
        g, largest = over.once(self._problem.b), over.once(self._band.b)
        found = []
        for block in self._blocks:
            found.append(self._divergence.minimise(block.scores, block.t(nu)))
            pf = block.p * found[-1].f
            g = block.a.matvec(pf, g)
            if block.band is not None and block.band.e is not None:
                largest = block.band.e.matvec(pf, largest)
        sums = over.total(g) if e is None else over.total(g, largest)
        largest = self._band.b if e is None else sums[1]
        f, rate = zip(*found, strict=True)
        return Point(
            nu, f, rate, sums[0], self._residual(nu, sums[0], largest), largest
        )

    def _residual(self, nu: Tensor, g: Tensor, w: Tensor) -> Tensor:
        r"""What is left of :math:`g = \mathrm{clip}(g + \tau \nu, -w, w)`.

        The optimum solves it for any :math:`\tau > 0`. Here it is about the largest
        curvature of the dual, so that both terms have the same size.
        """
        if self._tau is None:
            self._tau = STEEPEST * self._problem.rms().square()
        left = g - torch.clamp(g + self._tau * nu, -w, w)
        return self._problem.residual(left)

    def find_steps(self, point: Point) -> Step:
        """Prepare Newton steps with the Hessian at this point, from points near it."""
        problem, blocks = self._problem, zip(self._blocks, point.rate, strict=True)
        w = device.join([block.p * rate() for block, rate in blocks])
        a, e, side = problem.a, self._band.e, _side(point)
        a = a if e is None else a.minus(e, side)
        gram = Gram(a, w, len(side), problem.over, exact=True)
        (total,) = problem.over.total(gram.summand())
        return functools.partial(_step, gram.whole(total))


def _side(point: Point) -> Tensor:
    """The side of the band that a constraint is at, or would be at: 1 or -1."""
    return torch.where(point.nu == 0, point.g, point.nu).sign()


def _step(hessian: Tensor, point: Point, _tol: float) -> Tensor:
    """Solve for the active constraints; the multipliers of others become zero.

    A constraint is active if its gap would be outside of the band without its own
    multiplier, and if its multiplier keeps its sign. If constraints are dependent, not
    all of them can be at their sides. Then the solution is huge, but points to the
    constraint that becomes inactive first. Conjugate gradients would not find it.
    """
    nu, _, _, g, _, w = point
    assert w is not None
    side, diagonal = _side(point), hessian.diagonal()
    active = side * (g + diagonal * nu) > w
    flat = diagonal <= 2 * torch.finfo(g.dtype).tiny  # no score of it can move
    ridge = RIDGE * diagonal + flat
    gap, now = g - side * w + hessian @ nu, active * nu
    reads = device.reads_are_free(g)
    for _ in range(DROPS if reads else FEW_DROPS):
        on = active.to(g)
        matrix = hessian * on * on[:, None]
        matrix.diagonal().add_(ridge + (1 - on))
        new = factorise(matrix).solve(on * gap)
        wrong = side * new < 0
        if reads and not wrong.any().item():
            break
        # go on until the first multiplier reaches zero
        share = torch.where(wrong, now / (now - new), 1.0)
        least = share.amin()
        active = active & ~(wrong & (share <= least))
        now = active * torch.lerp(now, new, least)
    return torch.where(side * new < 0, 0.0, new) - nu
