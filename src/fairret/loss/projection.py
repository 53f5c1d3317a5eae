"""Projection fairrets: the divergence to the nearest fair scores (Section 3.2)."""

from typing import ClassVar, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from fairret.checks import (
    Layout,
    check_positive,
    full_precision,
    result_dtype,
    sort_positional,
)
from fairret.divergence import (
    Divergence,
    SmoothDivergence,
    bounded_logit,
    get_divergence,
    scores_of,
)
from fairret.errors import RangeError
from fairret.loss.base import Batch, FairnessLoss
from fairret.loss.legacy import read_solver_options
from fairret.projection import (
    MAX_ITER,
    TOLERANCE,
    Problem,
    Projection,
    pose,
    solve,
    solve_for_loss,
    status_of,
)
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.constraint import Line, constrain, fix
from fairret.statistic.sums import comparable, over_all, summands

Gradient: TypeAlias = Literal["paper", "exact"]
RAREST = 1e-3  # statistics below this are held to it absolutely, not relatively
LARGEST_MULTIPLIER = 1e6  # beyond it c is at the edge of what scores can reach


class _Setting(NamedTuple):
    """A batch as a projection problem, and what its gradient needs."""

    problem: Problem
    line: Line  # (K, n) each
    whole: Tensor  # (K,), the overall denominator, or 1 where there is none
    mask: Tensor  # (K, d_s)


class ProjectionLoss(FairnessLoss):
    r"""The divergence to the closest scores that are fair at the same overall value.

    .. math::
        R_\gamma(h) = \min_{f \in \mathcal{F}_\gamma(\bar\gamma(h))} E[D(f \| h)]

    The projection :math:`f^*` is found through its dual, in float64, and held fixed
    when the gradient is taken, as in the paper. With `gradient="exact"` the gradient is
    that of the minimum itself, which also moves with :math:`c = \bar\gamma(h)`.

    Weights, memberships and labels are constants, and there are no second derivatives.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        divergence: "kl", "js", "sed", "tv" or "chi2".
        gradient: "paper" or "exact". Where a constraint cannot be met, or only just,
            "exact" is "paper".
        max_iter: Steps of the solver at the most; fewer are faster and less exact.
        tol: Residual at which the projection counts as found, relative to the groups.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
    """

    layout: ClassVar[Layout] = "columns"

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        divergence: Divergence | str = "kl",
        *,
        gradient: Gradient = "paper",
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        sharpness: float = 1.0,
    ) -> None:
        super().__init__(statistic, sharpness=sharpness)
        self.divergence = get_divergence(divergence)
        if gradient not in ("paper", "exact"):
            raise RangeError(
                f"`gradient` must be 'paper' or 'exact'; got {gradient!r}. "
                "'paper' holds the projection and c fixed."
            )
        if type(max_iter) is not int or max_iter < 1:
            raise RangeError(
                f"`max_iter` must be a whole number of at least 1; got {max_iter!r}. "
                f"Leave it out for {MAX_ITER}."
            )
        hint = f"Leave it out for {TOLERANCE:g}."
        if check_positive("tol", tol, hint) >= 1:
            raise RangeError(f"`tol` must lie between 0 and 1; got {tol!r}. {hint}")
        self.gradient: Gradient = gradient
        self.max_iter = max_iter
        self.tol = tol

    def evaluate(self, batch: Batch) -> Tensor:
        """Find f* (step i), then measure its divergence from the scores (step ii)."""
        logit = bounded_logit(batch.pred, batch.is_logit)
        loss, slope = self._solve(batch, logit.detach())
        return loss + slope @ (logit - logit.detach())  # the derivative in closed form

    @torch.no_grad()
    def _solve(self, batch: Batch, logit: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the loss and its derivative in the logits."""
        setting = _set_up(batch, logit, self.divergence)
        problem = setting.problem
        f_star, nu, residual = solve_for_loss(
            problem, self.divergence, tol=self.tol, max_iter=self.max_iter
        )
        smooth = isinstance(self.divergence, SmoothDivergence)
        t = None if smooth else nu @ problem.a
        value, pull = self.divergence.measure(f_star, problem.scores, t)
        slope = problem.p * pull  # step (ii) holds f* fixed
        if self.gradient == "exact" and batch.target is None:
            largest = (nu * problem.size).abs().amax()
            envelope = _slope_through_c(batch, setting, f_star, nu)
            sound = (residual <= self.tol) & (largest < LARGEST_MULTIPLIER)
            slope = slope + torch.where(sound & envelope.isfinite(), envelope, 0.0)
        loss = (problem.p @ value).clamp_min(0)  # rounding may leave -1e-17
        # NaN in the inputs, seen only here on other devices, must not look like a loss
        return loss + 0 * residual, slope

    @torch.no_grad()
    def project(
        self,
        logit: Tensor,
        *args: Tensor | None,
        feat: Tensor | None = None,
        sens: Tensor | None = None,
        label: Tensor | None = None,
        weight: Tensor | None = None,
        pred_as_logit: bool = True,
        sharpness: float | None = None,
        target_statistic: Tensor | float | None = None,
        **inputs: object,
    ) -> Projection[Tensor]:
        """Find the projection itself; called like the loss.

        Returns:
            The projected scores, in the shape and dtype of `logit`, with status,
            residual and iterations.
        """
        named = sort_positional(args, feat, sens, label)
        batch = self._batch(
            logit, named, weight, pred_as_logit, sharpness, target_statistic, inputs
        )
        with full_precision(batch.pred.device):
            bounded = bounded_logit(batch.pred, batch.is_logit)
            problem = _set_up(batch, bounded, self.divergence).problem
            found = solve(
                problem, self.divergence, tol=self.tol, max_iter=self.max_iter
            )
            value = problem.p @ self.divergence.measure(found.f, problem.scores).value
        dtype = logit.dtype if logit.is_floating_point() else result_dtype(logit)
        return Projection(
            f_star=found.f.to(dtype).reshape(logit.shape),
            status=status_of(problem, found, self.tol),
            residual=float(found.residual),
            iterations=found.iterations,
            divergence=max(float(value), 0.0),
        )

    def extra_repr(self) -> str:
        """Show the settings."""
        shown = [repr(self.divergence)] if type(self) is ProjectionLoss else []
        shown.append(f"gradient={self.gradient!r}")
        if self.max_iter != MAX_ITER:
            shown.append(f"max_iter={self.max_iter}")
        if self.tol != TOLERANCE:
            shown.append(f"tol={self.tol:g}")
        return ", ".join(filter(None, (*shown, super().extra_repr())))


def _set_up(batch: Batch, logit: Tensor, divergence: Divergence) -> _Setting:
    scores = scores_of(logit)
    rows = summands(scores.h, batch.w, batch.coef)
    groups, overall = rows.den @ batch.s, over_all(rows)
    mask = comparable(groups, overall.den)
    none = ~mask.any(-1)
    whole = overall.den.masked_fill(none, 1)
    c = batch.target
    if c is None:
        c = (overall.num / whole).masked_fill(none, 0)
    w = torch.ones_like(scores.h) if batch.w is None else batch.w
    weight = w.sum().clamp_min(torch.finfo(w.dtype).tiny)
    p = w / weight
    line = fix(batch.coef, c)
    a, b, size = constrain(line, batch.s, p, mask)
    if isinstance(divergence, SmoothDivergence):  # total variation's barrier is coarse
        # relative to c D_k a residual is a violation, which matters for rare events
        half = (c.unsqueeze(-1) * groups).abs().flatten() / weight
        size = torch.minimum(size, torch.maximum(half, RAREST * size))
    return _Setting(pose(scores, a, b, p, size), line, whole, mask)


def _slope_through_c(
    batch: Batch, setting: _Setting, f_star: Tensor, nu: Tensor
) -> Tensor:
    r"""How the minimum moves with the logits through c (envelope theorem), `(n,)`.

    .. math::
        \nu \cdot \frac{\partial g}{\partial c} \frac{\partial c}{\partial x_i}, \qquad
        \frac{\partial g_k}{\partial c} = -\sum_i p_i S_{ik} (\alpha_1 + f^*_i \beta_1),
        \qquad
        \frac{\partial c}{\partial h_i} = \frac{w_i (\beta_0 - c \beta_1)_i}{\bar D}
    """
    (_, h, k), _, _, p, _ = setting.problem
    den = summands(f_star, p, batch.coef).den @ batch.s
    in_c = -(nu.view_as(den) * den * setting.mask).sum(-1)  # (K,)
    of_c = setting.line.beta / setting.whole.unsqueeze(-1)  # (K, n), in h
    if batch.w is not None:
        of_c = of_c * batch.w
    return (in_c @ of_c.expand(-1, h.shape[0])) * h * k


class _NamedProjectionLoss(ProjectionLoss):
    """A projection whose class says the divergence; takes 0.1.3's options too."""

    _divergence: str

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        *legacy: object,
        gradient: Gradient = "paper",
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        sharpness: float = 1.0,
        **solver_options: object,
    ) -> None:
        limit = read_solver_options(legacy, solver_options, type(self).__name__)
        super().__init__(
            statistic,
            self._divergence,
            gradient=gradient,
            max_iter=max_iter if limit is None else limit,
            tol=tol,
            sharpness=sharpness,
        )


class KLProjectionLoss(_NamedProjectionLoss):
    r"""Projection with the Kullback-Leibler divergence (Def. 9)."""

    _divergence = "kl"


class JensenShannonProjectionLoss(_NamedProjectionLoss):
    r"""Projection with the Jensen-Shannon divergence (Def. 10)."""

    _divergence = "js"


class SquaredEuclideanProjectionLoss(_NamedProjectionLoss):
    r"""Projection with the squared Euclidean distance (Def. 11)."""

    _divergence = "sed"


class TotalVariationProjectionLoss(_NamedProjectionLoss):
    r"""Projection with the total variation distance, :math:`|f - h|`."""

    _divergence = "tv"


class ChiSquaredProjectionLoss(_NamedProjectionLoss):
    r"""Projection with the chi-squared divergence."""

    _divergence = "chi2"
