r"""Divergences :math:`D(f \| h)` between Bernoulli scores (Def. 9-11, and two more).

Each is defined once, here, with what the projection needs of it: its value, its first
two derivatives in :math:`f`, and the minimiser of :math:`D(f \| h) + t f`, which is the
closed form that makes the dual of the projection small.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from fairret.errors import DtypeError, NameNotFoundError

NEARLY = 30.0  # logits from ½ to what is as good as 0 or 1


class Scores(NamedTuple):
    """Scores of a classifier, three ways, so that neither tail loses its digits."""

    logit: Tensor
    h: Tensor
    k: Tensor  # 1 - h


class Measured(NamedTuple):
    r"""Both halves of step (ii): the value of D and how it moves with the score."""

    value: Tensor  # D(f || h)
    pull: Tensor  # its derivative in the logit of h


class Minimiser(NamedTuple):
    r"""The minimiser of :math:`D(f \| h) + t f` over [0, 1] and how fast it moves."""

    f: Tensor
    rate: Tensor  # w' = -df/dt


class Divergence(ABC):
    """A convex function of two scores that is zero where they agree, and only there."""

    name: ClassVar[str]

    @abstractmethod
    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Measured:
        r""":math:`D(f \| h)` of every row, and its derivative in the logit of h.

        Where D has a kink at f = h, t is its slope in h: that of the projection with
        multipliers :math:`t_i = \nu \cdot a_i`, by the envelope theorem.
        """

    def __repr__(self) -> str:
        """Show the class, which is all there is to know."""
        return f"{type(self).__name__}()"


class SmoothDivergence(Divergence):
    """A divergence that is twice differentiable in f."""

    bend: ClassVar[float]  # a change of t by which w' may grow e-fold, or about so

    @abstractmethod
    def reach(self, scores: Scores) -> Tensor:
        """How large t must be to take a score nearly to a bound."""

    @abstractmethod
    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        r""":math:`D'(f)`, the derivative in f."""

    @abstractmethod
    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        r""":math:`D''(f)`, the second derivative in f."""

    @abstractmethod
    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        r"""Minimise :math:`D(f \| h) + t f` over :math:`0 \le f \le 1`."""


class KullbackLeibler(SmoothDivergence):
    r""":math:`f \log \frac{f}{h} + (1 - f) \log \frac{1 - f}{1 - h}` (Def. 9)."""

    name = "kl"
    bend = 1.0

    def reach(self, scores: Scores) -> Tensor:
        return scores.logit.abs() + NEARLY

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Measured:
        _, h, k = scores
        u, tiny = 1 - f, torch.finfo(f.dtype).tiny  # where f is 0, so is its term
        value = f * (f.clamp_min(tiny) / h).log() + u * (u.clamp_min(tiny) / k).log()
        return Measured(value, h - f)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return f.log() - u.log() - scores.logit

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 1 / (f * u)

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        f = torch.sigmoid(scores.logit - t)
        return Minimiser(f, f - f * f)


class JensenShannon(SmoothDivergence):
    r""":math:`(D_{KL}(f \| m) + D_{KL}(h \| m)) / 2`, m the mean of both (Def. 10)."""

    name = "js"
    bend = 0.5

    def reach(self, scores: Scores) -> Tensor:
        return torch.full_like(scores.h, NEARLY / 2)

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Measured:
        _, h, k = scores
        u, tiny = 1 - f, torch.finfo(f.dtype).tiny
        m, rest = (f + h) / 2, (u + k) / 2
        own = f * (f.clamp_min(tiny) / m).log() + u * (u.clamp_min(tiny) / rest).log()
        log_h, log_k = (h / m).log(), (k / rest).log()
        value = (own + h * log_h + k * log_k) / 2
        return Measured(value, h * k * (log_h - log_k) / 2)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        _, h, k = scores
        return ((f / (f + h)).log() - (u / (u + k)).log()) / 2

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        _, h, k = scores
        return (h / (f * (f + h)) + k / (u * (u + k))) / 2

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        r"""Solve :math:`D' = -t`, which is quadratic in f.

        (f, h, t) -> (1 - f, 1 - h, -t) leaves it as it is, so solve for the half that
        shrinks, where :math:`r = e^{-2|t|}` cannot overflow:
        :math:`(1 - r) f^2 - (1 + k (1 - r)) f + r h = 0`.
        """
        _, h, k = scores
        down = t >= 0
        near, far = torch.where(down, h, k), torch.where(down, k, h)
        r = torch.exp(-2 * t.abs())
        shrink = 1 - r
        half = 1 + far * shrink
        reach = r * near
        root = torch.addcmul(half * half, shrink, reach, value=-4)
        root = root.clamp_(min=torch.finfo(r.dtype).tiny).sqrt_()
        small = (2 * reach).div_(half + root).clamp_(max=1)
        rate = torch.addcmul(near, small, far - small).mul_(r).div_(root).mul_(2)
        return Minimiser(torch.where(down, small, 1 - small), rate.clamp_(min=0))


class SquaredEuclidean(SmoothDivergence):
    r""":math:`2 (f - h)^2` (Def. 11)."""

    name = "sed"
    bend = math.inf

    def reach(self, scores: Scores) -> Tensor:
        return torch.full_like(scores.h, 4.0)

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Measured:
        _, h, k = scores
        apart = h - f
        return Measured(2 * apart.square(), 4 * apart * h * k)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 4 * (f - scores.h)

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return torch.full_like(f, 4)

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        return _clipped_line(scores.h, torch.full_like(t, 1 / 4), t)


class ChiSquared(SmoothDivergence):
    r""":math:`\frac{(f - h)^2}{h (1 - h)}`, with the denominator at least 1e-6.

    The bound concerns scores beyond a logit of 13.8. Without it the multipliers grow
    like the inverse of the score.
    """

    name = "chi2"
    bend = math.inf
    least_variance: ClassVar[float] = 1e-6

    def reach(self, scores: Scores) -> Tensor:
        return 2 / self._variance(scores)

    def _variance(self, scores: Scores) -> Tensor:
        return (scores.h * scores.k).clamp_min(self.least_variance)

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Measured:
        _, h, k = scores
        apart = (h - f) / self._variance(scores)
        bent = h * k > self.least_variance  # else the denominator is a constant
        slope = 2 * apart - torch.where(bent, apart.square() * (k - h), 0.0)
        return Measured(apart * (h - f), h * k * slope)

    def slope(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 2 * (f - scores.h) / self._variance(scores)

    def curvature(self, f: Tensor, u: Tensor, scores: Scores) -> Tensor:
        return 2 / self._variance(scores)

    def minimise(self, scores: Scores, t: Tensor) -> Minimiser:
        return _clipped_line(scores.h, self._variance(scores) / 2, t)


class TotalVariation(Divergence):
    r""":math:`|f - h|`: not smooth, so its projection is a linear programme."""

    name = "tv"

    def measure(self, f: Tensor, scores: Scores, t: Tensor | None = None) -> Measured:
        _, h, k = scores
        apart = h - f
        kink = 0.0 if t is None else t.clamp(-1, 1)
        slope = torch.where(apart == 0, kink, apart.sign())
        return Measured(apart.abs(), slope * h * k)


def _clipped_line(h: Tensor, rate: Tensor, t: Tensor) -> Minimiser:
    line = h - rate * t
    f = line.clamp(0, 1)
    # a score that lies exactly on a bound still moves: f == line, not 0 < f < 1
    return Minimiser(f, torch.where(f == line, rate, 0.0))


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
    """Look a divergence up by its name: "kl", "js", "sed", "tv" or "chi2"."""
    if isinstance(divergence, Divergence):
        return divergence
    if not isinstance(divergence, str):
        raise DtypeError(
            "`divergence` must be a name or a `Divergence`; "
            f"got {type(divergence).__name__}. Pass one of {', '.join(DIVERGENCES)}."
        )
    if divergence.lower() not in DIVERGENCES:
        raise NameNotFoundError(
            f"`divergence` must be one of {', '.join(DIVERGENCES)}; "
            f"got {divergence!r}. Pass one of these names."
        )
    return DIVERGENCES[divergence.lower()]


def bounded_logit(pred: Tensor, is_logit: bool) -> Tensor:
    """Logits of predictions, held where neither h nor 1 - h is zero."""
    info = torch.finfo(pred.dtype)
    if is_logit:
        bound = -0.7 * math.log(info.tiny)  # 496 in float64
        return pred.clamp(-bound, bound)
    return torch.logit(pred, eps=info.eps)


def scores_of(logit: Tensor) -> Scores:
    """Both tails of the scores."""
    return Scores(logit, torch.sigmoid(logit), torch.sigmoid(-logit))
