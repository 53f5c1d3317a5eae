r"""The dual of a linear programme over decisions, smoothed and solved by Newton steps.

The programme knows nothing of fairness or of learners:

.. math::
    \max_{0 \le f \le 1, \; m} \; \mathrm{mean}(s f)
    \quad \text{s.t.} \quad b_j + \mathrm{mean}(G_j f) + L_j \cdot m \le 0

with :math:`G = M C`, few columns C and a matrix M of m constraints. Its dual has one
unknown per constraint, and its solution is the rule :math:`f = 1[s > \nu \cdot G]`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

RIDGE = 5e-6  # keeps the multipliers of constraints that cannot be told apart finite
PROXIMAL = 0.2  # κ: how firmly a free level stays where it was
ARMIJO = 1e-4
SHORTEST = 1e-6  # step of the line search
CLOSE = 1e-7  # |min(ν, gradient)| at the optimum
PIVOTS = 200  # changes of the active bounds in one Newton step
ROUNDING = 1e-12
NEGLIGIBLE = 1e-2  # of the largest curvature: rows without it are left out


@dataclass(frozen=True)
class Programme:
    """A linear programme over n decisions, whose constraints are few."""

    gain: Tensor  # (n,) s: what a yes is worth
    columns: Tensor  # (p, n) C
    share: Tensor  # (n,) weights that sum to 1
    matrix: Tensor  # (m, p) M
    constant: Tensor  # (m,) b
    level: Tensor  # (m, t) L: how free levels enter the constraints

    def margin(self, nu: Tensor) -> Tensor:
        r""":math:`s - \nu \cdot G`: a yes where it is positive."""
        return torch.addmv(self.gain, self.columns.T, nu @ self.matrix, alpha=-1)

    def shifted(self, defect: Tensor) -> "Programme":
        """The same with means of columns that are larger by a defect, `(p,)`."""
        return replace(self, constant=self.constant + self.matrix @ defect)

    def means(self, f: Tensor) -> Tensor:
        r""":math:`\mathrm{mean}(C f)`, `(p,)`."""
        return self.columns @ (self.share * f)


class Point(NamedTuple):
    """The smoothed dual at one ν."""

    value: Tensor
    margin: Tensor  # (n,)


def minimise(
    programme: Programme,
    nu: Tensor,
    *,
    temperature: float,
    steps: int,
    centre: Tensor | None = None,
    ridge: float = RIDGE,
    close: float = CLOSE,
) -> Tensor:
    r"""Find the multipliers :math:`\nu \ge 0` by projected Newton steps.

    .. math::
        \min_{\nu \ge 0} \; T \, \mathrm{mean} \, \mathrm{softplus}((s - \nu \cdot G)/T)
        - b \cdot \nu + r |\nu|^2 + m_0 \cdot d + |d|^2 / (2 \kappa),
        \qquad d = -L^\top \nu

    The last two terms keep the free levels near :math:`m_0`, their `centre`.

    Args:
        programme: The linear programme.
        nu: Where to start, `(m,)`.
        temperature: T, the width of the smoothed threshold.
        steps: Newton steps at most.
        centre: Where free levels were before, `(t,)`.
        ridge: r.
        close: :math:`|\min(\nu, \text{gradient})|` at which to stop.
    """
    m0 = nu.new_zeros(programme.level.shape[1]) if centre is None else centre
    t = temperature

    def at(x: Tensor) -> Point:
        margin = programme.margin(x)
        d = -(x @ programme.level)
        smooth = t * (programme.share @ softplus(margin / t, threshold=40.0))
        rest = ridge * x @ x - programme.constant @ x + m0 @ d
        return Point(smooth + rest + d @ d / (2 * PROXIMAL), margin)

    point = at(nu)
    for _ in range(steps):
        f = torch.sigmoid(point.margin / t)
        d = -(nu @ programme.level)
        gradient = (
            2 * ridge * nu
            - programme.constant
            - programme.matrix @ programme.means(f)
            - programme.level @ (m0 + d / PROXIMAL)
        )
        if torch.minimum(nu, gradient).abs().max() < close:
            break
        step = _newton_step(_hessian(programme, f, t, ridge), gradient, nu)
        new = _line_search(at, nu, step, gradient, point)
        if new is None:
            break
        nu, point = new
    return nu


def emptiness(programme: Programme, nu: Tensor) -> float:
    r"""Bound the smallest violation from below: above 0, no decisions are feasible.

    .. math:: F(\nu) = \bigl(b \cdot \nu + \mathrm{mean} \min(0, \nu \cdot G)\bigr)
                       / \textstyle\sum \nu

    For any :math:`\nu \ge 0` that cancels free levels, and any :math:`0 \le f \le 1`,
    the weighted mean of the constraints is at least that.
    """
    total = float(nu.sum())
    if total == 0 or (nu @ programme.level).abs().sum() > 1e-6 * total:
        return 0.0
    cost = programme.gain - programme.margin(nu)
    least = programme.constant @ nu + programme.share @ cost.clamp_max(0)
    return float(least) / total


def _hessian(programme: Programme, f: Tensor, t: float, ridge: float) -> Tensor:
    r""":math:`M \, \mathrm{mean}(C C^\top f (1 - f) / T) \, M^\top`, and the rest."""
    curvature = programme.share * f * (1 - f) / t
    rows = (curvature > NEGLIGIBLE * curvature.max()).nonzero()[:, 0]
    kept = programme.columns[:, rows]
    inner = (kept * curvature[rows]) @ kept.T
    matrix, level = programme.matrix, programme.level
    more = 2 * ridge * torch.eye(len(matrix), dtype=f.dtype, device=f.device)
    return matrix @ inner @ matrix.T + level @ level.T / PROXIMAL + more


def _newton_step(hessian: Tensor, gradient: Tensor, nu: Tensor) -> Tensor:
    r"""Minimise the quadratic model over the step d, with :math:`\nu + d \ge 0`.

    The active-set method of Lawson and Hanson: the model falls in every pivot.
    """
    linear = gradient - hessian @ nu
    x, free = nu, (nu > 0) | (gradient < 0)
    for _ in range(PIVOTS):
        target = torch.zeros_like(nu)
        if free.any():
            target[free] = -torch.linalg.solve(hessian[free][:, free], linear[free])
        outside = free & (target < 0)
        if outside.any():
            length = (x[outside] / (x[outside] - target[outside])).min()
            x = (x + length * (target - x)).clamp_min(0)
            free = free & ~(outside & (x <= ROUNDING * nu.max()))
            continue
        x = target
        slope = (hessian @ x + linear).masked_fill(free, 0)
        if slope.min() >= -CLOSE:
            break
        free[slope.argmin()] = True
    return x - nu


def _line_search(
    at: Callable[[Tensor], Point],
    nu: Tensor,
    step: Tensor,
    gradient: Tensor,
    old: Point,
) -> tuple[Tensor, Point] | None:
    """Halve the step until the value falls enough (Armijo), projected on ν ≥ 0."""
    length = 1.0
    while length > SHORTEST:
        new = (nu + length * step).clamp_min(0)
        point = at(new)
        if point.value <= old.value + ARMIJO * gradient @ (new - nu):
            return new, point
        length /= 2
    return None
