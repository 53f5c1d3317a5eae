r"""Divergences :math:`D(f \| h)` between Bernoulli scores (Def. 9-11, and two more).

Each has what the projection needs: its value, its first two derivatives in :math:`f`,
and the minimiser of :math:`D(f \| h) + t f`, a closed form that makes the dual problem
small.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from fairret import device
from fairret.errors import DtypeError, NameNotFoundError

NEARLY = 30.0  # logit at which a score is numerically 1


class Scores(NamedTuple):
    """Scores of a classifier. Both tails are computed, so that neither loses digits."""

    logit: Tensor
    h: Tensor
    k: Tensor  # 1 - h
    pair: Tensor  # (2, n): h and k


class Value(NamedTuple):
    r"""The value of D and its derivative, for step (ii) (Eq. 16)."""

    value: Tensor  # D(f || h)
    gradient: Tensor  # its derivative in the logit of h


class Minimiser(NamedTuple):
    r"""The minimiser of :math:`D(f \| h) + t f` over [0, 1] and its derivative."""

    f: Tensor
    rate: Callable[[], Tensor]  # w' = -df/dt, computed where a Hessian is needed


class Divergence(ABC):
    """A convex function of two scores that is zero if and only if they agree.

    The constants belong to the solvers. The defaults suit a smooth divergence; the
    values of the five below come from a study of 1 352 small problems.
    """

    name: ClassVar[str]
    has_kink: ClassVar[bool] = False  # at f = h: its projection is a linear programme
    growth: ClassVar[float] = 1.0  # change of t that multiplies w' by at most about e
    path_steps: ClassVar[int] = 15  # of the interior point without host reads
    ridge: ClassVar[float] = 1e-10  # of the interior point, absolute
    least_barrier: ClassVar[float] = 1e-10  # of the interior point

    @abstractmethod
    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Value:
        r""":math:`D(f \| h)` per row, and its derivative in the logit of h.

        If D has a kink at f = h, its derivative in h there is :math:`t_i = \nu \cdot
        a_i`, that of the projection by the envelope theorem.
        """

    @abstractmethod
    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        r""":math:`D'(f)`, the derivative in f; u is 1 - f."""

    @abstractmethod
    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        r""":math:`D''(f)`, the second derivative in f."""

    @abstractmethod
    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        r"""Minimise :math:`D(f \| h) + t f` over :math:`0 \le f \le 1`."""

    def rate_at_h(self, scores: Scores) -> Tensor:
        r""":math:`w' = 1 / D''(h)`, at t = 0, where f is h."""
        return self.curvature(scores.h, scores.k, scores).reciprocal_()

    def largest_t(self, scores: Scores) -> Tensor:
        """The t that moves a score almost to a bound."""
        end = torch.full_like(scores.h, math.exp(-NEARLY))
        down, up = self.slope(end, 1 - end, scores), self.slope(1 - end, end, scores)
        return torch.maximum(down.abs(), up.abs())

    def __repr__(self) -> str:
        """Show the class."""
        return f"{type(self).__name__}()"


class KullbackLeibler(Divergence):
    r""":math:`f \log \frac{f}{h} + (1 - f) \log \frac{1 - f}{1 - h}` (Def. 9)."""

    name = "kl"

    def largest_t(self, scores: Scores) -> Tensor:
        return scores.logit.abs() + NEARLY

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Value:
        both = torch.stack((f, 1 - f))
        return Value(_relative_entropy(both, scores.pair).sum(0), scores.h - f)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return f.log() - u.log() - scores.logit

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 1 / (f * u)

    def rate_at_h(self, scores: Scores) -> Tensor:
        return scores.h * scores.k

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        f = torch.sigmoid(scores.logit - t)
        return Minimiser(f, lambda: torch.addcmul(f, f, f, value=-1))  # f (1 - f)


class JensenShannon(Divergence):
    r""":math:`(D_{KL}(f \| m) + D_{KL}(h \| m)) / 2`, m the mean of both (Def. 10)."""

    name = "js"
    growth = 0.5
    ridge = 1e-9

    def largest_t(self, scores: Scores) -> Tensor:
        return torch.full_like(scores.h, NEARLY / 2)

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Value:
        both = torch.stack((f, 1 - f))
        m = (both + scores.pair).div_(2)
        logs = (scores.pair / m).log_()
        sums = torch.addcmul(_relative_entropy(both, m), scores.pair, logs).sum(0)
        slope = scores.h * scores.k * (logs[0] - logs[1])
        return Value(sums.div_(2), slope.div_(2))

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        h, k = scores.h, scores.k
        return ((f / (f + h)).log() - (u / (u + k)).log()) / 2

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        h, k = scores.h, scores.k
        return (h / (f * (f + h)) + k / (u * (u + k))) / 2

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        r"""Solve :math:`D' = -t`, which is quadratic in f.

        It is invariant under (f, h, t) -> (1 - f, 1 - h, -t), so solve for the score
        that decreases, where :math:`r = e^{-2|t|}` cannot overflow:
        :math:`(1 - r) f^2 - (1 + k (1 - r)) f + r h = 0`.
        """
        h, k = scores.h, scores.k
        down = t >= 0
        h, k = torch.where(down, h, k), torch.where(down, k, h)
        r = t.abs().mul_(-2).exp_()
        square = 1 - r
        linear = (k * square).add_(1)
        constant = r * h
        root = torch.addcmul(linear * linear, square, constant, value=-4)
        root = root.clamp_(min=torch.finfo(r.dtype).tiny).sqrt_()
        small = (2 * constant).div_(linear + root).clamp_(max=1)

        def rate() -> Tensor:
            top = torch.addcmul(h, small, k - small).mul_(r)
            return top.div_(root).mul_(2).clamp_(min=0)

        return Minimiser(torch.where(down, small, 1 - small), rate)


class SquaredEuclidean(Divergence):
    r""":math:`2 (f - h)^2` (Def. 11)."""

    name = "sed"
    growth = math.inf
    ridge = 1e-9

    def largest_t(self, scores: Scores) -> Tensor:
        return torch.full_like(scores.h, 4.0)

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Value:
        h, k = scores.h, scores.k
        apart = h - f
        return Value(2 * apart.square(), 4 * apart * h * k)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 4 * (f - scores.h)

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return torch.full_like(f, 4)

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        return _clipped_line(scores.h, 1 / 4, t)


class ChiSquared(Divergence):
    r""":math:`\frac{(f - h)^2}{h (1 - h)}`, with the denominator at least 1e-6.

    The bound affects scores beyond a logit of 13.8. Without it the multipliers grow
    like the inverse of the score.
    """

    name = "chi2"
    growth = math.inf
    path_steps = 25
    ridge = 1e-13
    least_variance: ClassVar[float] = 1e-6

    def largest_t(self, scores: Scores) -> Tensor:
        return 2 / self._variance(scores)

    def _variance(self, scores: Scores) -> Tensor:
        return (scores.h * scores.k).clamp_min(self.least_variance)

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Value:
        h, k = scores.h, scores.k
        apart = (h - f) / self._variance(scores)
        varies = h * k > self.least_variance  # else the denominator is a constant
        slope = 2 * apart - torch.where(varies, apart.square() * (k - h), 0.0)
        return Value(apart * (h - f), h * k * slope)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 2 * (f - scores.h) / self._variance(scores)

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 2 / self._variance(scores)

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        return _clipped_line(scores.h, self._variance(scores) / 2, t)


class TotalVariation(Divergence):
    r""":math:`|f - h|`, which is not smooth: its projection is a linear programme."""

    name = "tv"
    has_kink = True
    path_steps = 30
    least_barrier = 1e-8

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Value:
        h, k = scores.h, scores.k
        apart = h - f
        kink = 0.0 if t is None else t.clamp(-1, 1)
        slope = torch.where(apart == 0, kink, apart.sign())
        return Value(apart.abs(), slope * h * k)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return (f - scores.h).sign()

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return torch.zeros_like(f)

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        f = torch.where(t.abs() <= 1, scores.h, (t < 0).to(t))
        return Minimiser(f, lambda: torch.zeros_like(f))


def _relative_entropy(f: Tensor, h: Tensor) -> Tensor:
    r""":math:`f \log (f / h)`, which is 0 at f = 0."""
    tiny = torch.finfo(f.dtype).tiny
    return f.clamp_min(tiny).div_(h).log_().mul_(f)


def _clipped_line(h: Tensor, rate: Tensor | float, t: Tensor) -> Minimiser:
    line = h - rate * t
    f = line.clamp(0, 1)
    # a score that lies exactly on a bound still moves: f == line, not 0 < f < 1
    return Minimiser(f, lambda: (f == line).to(f).mul_(rate))


DIVERGENCES: dict[str, Divergence] = {
    divergence.name: divergence
    for divergence in (
        KullbackLeibler(),
        JensenShannon(),
        SquaredEuclidean(),
        TotalVariation(),
        ChiSquared(),
    )
}


def get_divergence(divergence: str | Divergence) -> Divergence:
    """Look up a divergence by name: "kl", "js", "sed", "tv" or "chi2"."""
    if isinstance(divergence, Divergence):
        return divergence
    names = f"Pass one of {', '.join(DIVERGENCES)}."
    if not isinstance(divergence, str):
        got = type(divergence).__name__
        raise DtypeError(
            f"`divergence` must be a name or a `Divergence`; got {got}. {names}"
        )
    if divergence.lower() not in DIVERGENCES:
        raise NameNotFoundError(f"Unknown divergence {divergence!r}. {names}")
    return DIVERGENCES[divergence.lower()]


def is_built_in(divergence: Divergence) -> bool:
    """Whether a divergence is one of the five above."""
    return type(DIVERGENCES.get(divergence.name)) is type(divergence)


def bounded_logit(pred: Tensor, is_logit: bool) -> Tensor:
    """Logits of predictions, bounded so that neither h nor 1 - h is zero."""
    info = torch.finfo(pred.dtype)
    if is_logit:
        bound = -0.7 * math.log(info.tiny)  # 496 in float64
        if device.reads_are_free(pred) and pred.numel():
            low, high = torch.aminmax(pred.detach())
            if -bound <= low.item() and high.item() <= bound:
                return pred
        return pred.clamp(-bound, bound)
    return torch.logit(pred, eps=info.eps)


def read_scores(logit: Tensor) -> Scores:
    """Compute both tails of the scores."""
    pair = torch.stack((logit, -logit)).sigmoid_()
    return Scores(logit, pair[0], pair[1], pair)
