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
from fairret.distributed import Choice, processes_of
from fairret.divergence import (
    DIVERGENCES,
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
    Dense,
    Matrix,
    Problem,
    Projection,
    Sparse,
    pose,
    solve,
    status_of,
)
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.constraint import Constraint, Line, constrain, fix
from fairret.statistic.memberships import Memberships, add_up, read_memberships
from fairret.statistic.sums import Coefficients, comparable, over_all, summands

Gradient: TypeAlias = Literal["paper", "exact"]
RAREST = 1e-3  # statistics below this are held to it absolutely, not relatively
LARGEST_MULTIPLIER = 1e6  # beyond it c is at the edge of what scores can reach


class _Setting(NamedTuple):
    """A batch as a projection problem, and what its gradient needs."""

    problem: Problem
    s: Memberships
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
        process_group: Who shares a batch, see :class:`FairnessLoss`.
    """

    layout: ClassVar[Layout] = "given"

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        divergence: Divergence | str = "kl",
        *,
        gradient: Gradient = "paper",
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        sharpness: float = 1.0,
        process_group: Choice = None,
    ) -> None:
        super().__init__(statistic, sharpness=sharpness, process_group=process_group)
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
        fixed = logit.detach()
        known = type(DIVERGENCES.get(self.divergence.name)) is type(self.divergence)
        if torch.compiler.is_compiling() and known:
            loss, slope = _measure_op(
                fixed,
                batch.s,
                batch.w,
                *(torch.as_tensor(x, dtype=fixed.dtype) for x in batch.coef),
                batch.target,
                self._group_name,
                self.divergence.name,
                self.gradient,
                self.tol,
                self.max_iter,
            )
        else:
            loss, slope = _measure(
                batch._replace(pred=fixed),
                self.divergence,
                gradient=self.gradient,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        term: Tensor = loss + slope @ (logit - fixed)  # adds only the derivative
        return term

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
            batch = batch._replace(pred=bounded)
            problem = _set_up(batch, self.divergence).problem
            found = solve(
                problem, self.divergence, tol=self.tol, max_iter=self.max_iter
            )
            own = problem.p @ self.divergence.measure(found.f, problem.scores).value
            (value,) = batch.over.total(own)
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


@torch.no_grad()
def _measure(
    batch: Batch,
    divergence: Divergence,
    *,
    gradient: str,
    tol: float,
    max_iter: int,
) -> tuple[Tensor, Tensor]:
    """Compute the loss and its derivative in the logits, which are `batch.pred`."""
    setting = _set_up(batch, divergence)
    problem = setting.problem
    f_star, nu, _, residual, *_ = solve(problem, divergence, tol=tol, max_iter=max_iter)
    smooth = isinstance(divergence, SmoothDivergence)
    t = None if smooth else problem.a.spread(nu)
    value, pull = divergence.measure(f_star, problem.scores, t)
    slope = problem.p * pull  # step (ii) holds f* fixed
    sums = [problem.p @ value]
    through_c = gradient == "exact" and batch.target is None
    if through_c:
        sums.append(add_up(summands(f_star, problem.p, batch.coef).den, setting.s))
    loss, *den = batch.over.total(*sums)
    if through_c:
        largest = (nu * problem.size).abs().amax()
        envelope = _slope_through_c(batch, setting, den[0], nu)
        sound = (residual <= tol) & (largest < LARGEST_MULTIPLIER)
        slope = slope + torch.where(sound & envelope.isfinite(), envelope, 0.0)
    # rounding may leave -1e-17; NaN in the inputs, seen only here on other devices,
    # must not look like a loss; those who train on several processes average gradients
    return loss.clamp_min(0) + 0 * residual, slope * batch.over.size


def _set_up(batch: Batch, divergence: Divergence) -> _Setting:
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
    b, size = batch.over.total(parity.b, parity.size)
    if isinstance(divergence, SmoothDivergence):  # total variation's barrier is coarse
        # relative to c D_k a residual is a violation, which matters for rare events
        half = (c.unsqueeze(-1) * groups).abs() / weight
        size = torch.minimum(size, torch.maximum(half, RAREST * size))
    a = _matrix(parity, s)
    problem = pose(scores, a, b.flatten(), p, size.flatten(), batch.over)
    return _Setting(problem, s, line, whole, mask)


def _matrix(parity: Constraint, s: Memberships) -> Matrix:
    r"""Multiply :math:`a_{ik} = S_{ik} \\beta_i` out, zeros or not."""
    beta, kept = parity.beta.unsqueeze(1), parity.kept
    if isinstance(s, Tensor):
        return Dense((beta * s.T).mul_(kept.unsqueeze(-1)).flatten(0, 1))
    first = torch.arange(len(kept), device=kept.device) * s.d_s  # of every statistic
    place = (first[:, None, None] + s.place).flatten(0, 1)
    value = beta * s.value * kept[:, s.place]
    return Sparse(place, value.flatten(0, 1), kept.numel())


def _slope_through_c(
    batch: Batch, setting: _Setting, den: Tensor, nu: Tensor
) -> Tensor:
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
def _measure_op(
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
    coef = Coefficients(
        *(float(x) if x.dim() == 0 else x for x in (alpha0, beta0, alpha1, beta1))
    )
    batch = Batch(logit, True, s, w, coef, target, processes_of(group))
    return _measure(
        batch, get_divergence(divergence), gradient=gradient, tol=tol, max_iter=max_iter
    )


@_measure_op.register_fake
def _(logit: Tensor, *args: object) -> tuple[Tensor, Tensor]:
    return logit.new_empty(()), torch.empty_like(logit)


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
        process_group: Choice = None,
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
            process_group=process_group,
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
