"""Violation fairrets: functions of the distance from parity (Section 3.1)."""

from abc import abstractmethod
from typing import ClassVar, NoReturn

from torch import Tensor

from fairret.batch import Layout
from fairret.checks import check_number, check_options
from fairret.distributed import Choice
from fairret.errors import RangeError
from fairret.loss.base import OPTIONS, Evaluated, FairnessLoss
from fairret.loss.memory import Memory
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import LEAST_SHARE, Sums, over_all, over_groups, summands
from fairret.statistic.violation import norm, smooth_max, violation


class ViolationLoss(FairnessLoss):
    r"""A function of the violation :math:`v(h)` of Eq. 9, summed over a stack."""

    layout: ClassVar[Layout] = "narrow"
    remembered: ClassVar[tuple[str, ...]] = ("group_num", "group_den", "num", "den")

    @abstractmethod
    def penalize_violation(self, violation: Tensor) -> Tensor:
        """Turn violations, `(d_s,)` or `(K, d_s)`, into a scalar."""

    def evaluate(self, batch: Evaluated) -> Tensor:
        """Compute the loss of a checked batch."""
        rows = summands(batch.h, batch.w, batch.coef)
        groups, overall = over_groups(rows, batch.s), over_all(rows)
        memory = self._remembers()
        if memory is not None or batch.over.size > 1:
            n, *parts = batch.over.add_up(batch.rows, *groups, *overall)
            if memory is not None:
                parts = _remember(memory, n, parts)
            groups, overall = Sums(*parts[:2]), Sums(*parts[2:])
        least = LEAST_SHARE[batch.s.dtype]
        v = violation(groups, overall, batch.target, least)
        return self.penalize_violation(v if self.statistic.stacked else v[0])


def _remember(memory: Memory, n: Tensor, sums: list[Tensor]) -> list[Tensor]:
    """Return running means, with the gradient of the batch's own means."""
    share = memory.add_rows(n, *sums)
    means = [x / n.clamp_min(1) for x in sums]
    return [
        memory.mix(name, x.detach(), share) + (x - x.detach())
        for name, x in zip(memory.names, means, strict=True)
    ]


class NormLoss(ViolationLoss):
    r"""The p-norm of the violation, :math:`\lVert v(h) \rVert_p` (Def. 7).

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        p: Order of the norm, at least 1; `math.inf` is the maximum.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Number of past rows to remember, see :class:`FairnessLoss`.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.

    Example:
        >>> import torch
        >>> fairret = NormLoss("pr")
        >>> logit = torch.tensor([0.0, 0.0, 2.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> fairret(logit, sens)
        tensor(0.6074)
    """

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        p: float = 1,
        *,
        sharpness: float = 1.0,
        memory: int = 0,
        process_group: Choice = None,
        **unknown: NoReturn,
    ) -> None:
        check_options(type(self).__name__, unknown, ("p", *OPTIONS))
        super().__init__(
            statistic, sharpness=sharpness, memory=memory, process_group=process_group
        )
        hint = "Pass 1, 2 or math.inf."
        self.p = check_number("p", p, hint)
        if not p >= 1:
            raise RangeError(f"`p` must be at least 1; got {p!r}. {hint}")

    def penalize_violation(self, violation: Tensor) -> Tensor:
        """Sum the norms of the rows."""
        return norm(violation, self.p)

    def extra_repr(self) -> str:
        """Show the settings."""
        return ", ".join(filter(None, (f"p={self.p:g}", super().extra_repr())))


class SmoothMaxLoss(ViolationLoss):
    r"""A smooth maximum of the violation (Def. 8).

    .. math::
        R_\gamma(h) = \log \sum_k \exp(v_k(h)) - \log d_s

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Number of past rows to remember, see :class:`FairnessLoss`.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.
    """

    def penalize_violation(self, violation: Tensor) -> Tensor:
        """Sum the smooth maxima of the rows."""
        return smooth_max(violation)


LSELoss = SmoothMaxLoss  # its name in 0.1.3
