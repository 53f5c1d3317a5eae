"""The projection fairret of any divergence (Section 3.2)."""

import math
from typing import Any, ClassVar, Literal, NoReturn, TypeAlias

import torch
from torch import Tensor

from fairret.batch import Layout
from fairret.checks import check_number, check_options, check_positive
from fairret.device import full_precision, result_dtype
from fairret.distributed import Choice
from fairret.divergence import Divergence, bounded_logit, get_divergence
from fairret.errors import RangeError
from fairret.loss.base import Evaluated, FairnessLoss
from fairret.loss.compiled import is_node, measure_as_node
from fairret.loss.legacy import OURS
from fairret.loss.memory import Memory
from fairret.loss.nearest import (
    Settings,
    add_up_batch,
    measure,
    measure_divergence,
    pose_problem,
)
from fairret.loss.running import REMEMBERED, measure_running, remembered
from fairret.projection import MAX_ITER, TOLERANCE, Projection, find_status, solve
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name

Gradient: TypeAlias = Literal["paper", "exact"]


class ProjectionLoss(FairnessLoss):
    r"""The divergence to the closest fair scores of the same overall value (Eq. 11).

    .. math::
        R_\gamma(h) = \min_{f \in \mathcal{F}_\gamma(\bar\gamma(h))} E[D(f \| h)]

    The projection :math:`f^*` is computed from the dual problem, in float64. The
    gradient holds it fixed, as in the paper. With `gradient="exact"` it is the gradient
    of the minimum itself, which also depends on :math:`c = \bar\gamma(h)`.

    With a tolerance, groups may differ: the set then holds all scores f with
    :math:`|\gamma(k; f) / \bar\gamma(h) - 1| \le \epsilon` for every group k. A model
    within tolerance costs exactly 0, with gradient 0. Others pay for the distance to
    the tolerance, not to parity.

    Weights, memberships and labels get no gradient. There are no second derivatives.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        divergence: "kl", "js", "sed", "tv" or "chi2".
        max_violation: The tolerance :math:`\epsilon`, such as 0.1 for 10 %; 0 asks for
            parity. It limits the violation of scores, not of decisions.
        gradient: "paper" or "exact". If a constraint is infeasible, or nearly so,
            "exact" equals "paper".
        max_iter: Largest number of solver steps; fewer are faster and less exact.
        tol: Largest residual of a converged projection, relative to the groups.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Number of past rows to remember, see :class:`FairnessLoss`. Each batch
            then moves the multipliers by a fraction of a Newton step.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.
    """

    layout: ClassVar[Layout] = "given"
    remembered: ClassVar[tuple[str, ...]] = REMEMBERED

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        divergence: Divergence | str = "kl",
        *,
        max_violation: float = 0.0,
        gradient: Gradient = "paper",
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        sharpness: float = 1.0,
        memory: int = 0,
        process_group: Choice = None,
        **unknown: NoReturn,
    ) -> None:
        check_options(type(self).__name__, unknown, ("divergence", *OURS))
        super().__init__(
            statistic, sharpness=sharpness, memory=memory, process_group=process_group
        )
        self.divergence = get_divergence(divergence)
        if memory and self.divergence.has_kink:
            raise RangeError(
                f"`memory` must be 0 for {self.divergence!r}; got {memory}. Its scores "
                "do not follow from multipliers alone. Use another divergence."
            )
        self.max_violation = check_max_violation(max_violation)
        if self.memory is not None:
            self.memory = self._make_memory(self.memory.rows)
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

    def _make_memory(self, rows: int) -> Memory:
        """Multipliers belong to a divergence and a tolerance, too."""
        owner = f"{get_name(self.statistic)}, {self.divergence!r}"
        if self.max_violation:
            owner += f", max_violation={self.max_violation:g}"
        return Memory(rows, remembered(self.max_violation), owner)

    def evaluate(self, batch: Evaluated) -> Tensor:
        """Find f* (step i), then measure its divergence from the scores (step ii)."""
        logit = bounded_logit(batch.pred, batch.is_logit)
        fixed = logit.detach()
        batch, memory = batch._replace(pred=fixed), self._remembers()
        settings = self._settings
        if is_node(self.divergence):
            loss, slope = measure_as_node(batch, memory, settings, self._group_name)
        elif memory is not None:
            loss, slope = measure_running(batch, memory, settings)
        else:
            loss, slope, _ = measure(batch, settings)
        term: Tensor = loss + slope @ (logit - fixed)  # adds only the derivative
        return term

    @torch.no_grad()
    def project(
        self, logit: Tensor, *args: Tensor | None, **options: Any
    ) -> Projection[Tensor]:
        """Compute the projection itself; called like the loss.

        Returns:
            The projected scores, in the shape and dtype of `logit`, with status,
            residual and iterations.
        """
        batch = self.read(logit, *args, **options)
        with full_precision(batch.pred.device):
            bounded = bounded_logit(batch.pred, batch.is_logit)
            batch, own = batch._replace(pred=bounded).gather()
            summed = add_up_batch(batch)
            problem = pose_problem(
                batch, self.divergence, self.max_violation, summed
            ).problem
            found = solve(
                problem, self.divergence, tol=self.tol, max_iter=self.max_iter
            )
            value, _ = measure_divergence(problem, self.divergence, found.f, found.nu)
        dtype = logit.dtype if logit.is_floating_point() else result_dtype(logit)
        return Projection(
            f_star=found.f[own].to(dtype).reshape(logit.shape),
            status=find_status(problem, found, self.tol),
            residual=float(found.residual),
            iterations=found.iterations,
            divergence=max(float(value), 0.0),
        )

    @property
    def _settings(self) -> Settings:
        return Settings(
            self.divergence, self.gradient, self.tol, self.max_iter, self.max_violation
        )

    def extra_repr(self) -> str:
        """Show the settings."""
        shown = [repr(self.divergence)] if type(self) is ProjectionLoss else []
        if self.max_violation:
            shown.append(f"max_violation={self.max_violation:g}")
        shown.append(f"gradient={self.gradient!r}")
        if self.max_iter != MAX_ITER:
            shown.append(f"max_iter={self.max_iter}")
        if self.tol != TOLERANCE:
            shown.append(f"tol={self.tol:g}")
        return ", ".join(filter(None, (*shown, super().extra_repr())))


def check_max_violation(value: float) -> float:
    """Require a tolerance; violations may exceed 1."""
    hint = "For example, pass 0.1 for 10%, or 0 for parity."
    if not 0 <= check_number("max_violation", value, hint) < math.inf:
        raise RangeError(
            f"`max_violation` must be at least 0 and finite; got {value!r}. {hint}"
        )
    return float(value)
