"""Projection fairrets: the divergence to the nearest fair scores (Section 3.2)."""

from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from fairret.checks import (
    Layout,
    check_positive,
    full_precision,
    result_dtype,
    sort_positional,
)
from fairret.distributed import Choice
from fairret.divergence import (
    DIVERGENCES,
    Divergence,
    SmoothDivergence,
    bounded_logit,
    get_divergence,
)
from fairret.errors import RangeError
from fairret.loss.base import Batch, FairnessLoss
from fairret.loss.legacy import read_solver_options
from fairret.loss.memory import Memory
from fairret.loss.nearest import measure, measure_op, set_up
from fairret.loss.running import REMEMBERED, measure_running, measure_running_op
from fairret.projection import MAX_ITER, TOLERANCE, Projection, solve, status_of
from fairret.statistic.base import LinearFractionalStatistic

Gradient: TypeAlias = Literal["paper", "exact"]


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
        memory: Rows that it remembers, see :class:`FairnessLoss`. The multipliers then
            follow all batches, a part of a Newton step at a time.
        process_group: Who shares a batch, see :class:`FairnessLoss`.
    """

    layout: ClassVar[Layout] = "given"
    remembered: ClassVar[tuple[str, ...]] = REMEMBERED

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        divergence: Divergence | str = "kl",
        *,
        gradient: Gradient = "paper",
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        sharpness: float = 1.0,
        memory: int = 0,
        process_group: Choice = None,
    ) -> None:
        super().__init__(
            statistic, sharpness=sharpness, memory=memory, process_group=process_group
        )
        self.divergence = get_divergence(divergence)
        if memory and not isinstance(self.divergence, SmoothDivergence):
            raise RangeError(
                f"`memory` must be 0 for {self.divergence!r}; got {memory}. Its scores "
                "do not follow from multipliers alone; take another divergence."
            )
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
        memory = self._remembers()
        if torch.compiler.is_compiling() and known:
            loss, slope = self._as_node(batch._replace(pred=fixed), memory)
        elif memory is not None:
            assert isinstance(self.divergence, SmoothDivergence)  # else it was refused
            loss, slope = measure_running(
                batch._replace(pred=fixed),
                self.divergence,
                memory,
                gradient=self.gradient,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        else:
            loss, slope, _ = measure(
                batch._replace(pred=fixed),
                self.divergence,
                gradient=self.gradient,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        term: Tensor = loss + slope @ (logit - fixed)  # adds only the derivative
        return term

    def _as_node(self, batch: Batch, memory: Memory | None) -> tuple[Tensor, Tensor]:
        """Measure as one node of a compiled graph."""
        inputs = (
            batch.pred,
            batch.s,
            batch.w,
            *(torch.as_tensor(x, dtype=batch.pred.dtype) for x in batch.coef),
            batch.target,
            self._group_name,
            self.divergence.name,
            self.gradient,
            self.tol,
            self.max_iter,
        )
        if memory is None:
            loss, slope = measure_op(*inputs)
        else:
            kept = (memory.rows, memory.seen, memory.rooms())
            loss, slope = measure_running_op(*inputs, *kept)
        return loss, slope

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
            problem = set_up(batch, self.divergence).problem
            found = solve(
                problem, self.divergence, tol=self.tol, max_iter=self.max_iter
            )
            value = found.divergence
            if value is None:
                apart = self.divergence.measure(found.f, problem.scores).value
                value = problem.mean(apart)
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
        memory: int = 0,
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
            memory=memory,
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
