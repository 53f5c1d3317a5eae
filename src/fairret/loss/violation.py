"""Violation fairrets: functions of the distance from parity (Section 3.1)."""

import math
from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from fairret.checks import Layout
from fairret.distributed import Choice
from fairret.errors import DtypeError, RangeError
from fairret.loss.base import Batch, FairnessLoss
from fairret.loss.memory import Memory
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import (
    LEAST_SHARE,
    Sums,
    over_all,
    over_groups,
    summands,
    violation,
)


def norm(violation: Tensor, p: float) -> Tensor:
    r"""The p-norm :math:`\lVert v \rVert_p` (Def. 7), summed over a stack."""
    norms: Tensor
    if p in (1, 2, math.inf):
        norms = torch.linalg.vector_norm(violation, p, dim=-1)
    else:  # a high power of a small or large number leaves the range of floats
        largest = violation.detach().amax(-1)
        largest = largest.masked_fill(largest == 0, 1)
        relative = violation / largest.unsqueeze(-1)
        norms = largest * torch.linalg.vector_norm(relative, p, dim=-1)
    return norms.sum()


def smooth_max(violation: Tensor) -> Tensor:
    r"""The smooth maximum :math:`\log \sum_k e^{v_k} / d_s` (Def. 8), summed."""
    smooth = torch.logsumexp(violation, -1) - math.log(violation.shape[-1])
    return smooth.clamp_min(0).sum()  # rounding may leave -1e-16


class ViolationLoss(FairnessLoss):
    r"""A function of the violation :math:`v(h)` of Eq. 9, summed over a stack."""

    layout: ClassVar[Layout] = "narrow"
    remembered: ClassVar[tuple[str, ...]] = ("group_num", "group_den", "num", "den")

    @abstractmethod
    def penalize_violation(self, violation: Tensor) -> Tensor:
        """Turn violations, `(d_s,)` or `(K, d_s)`, into a scalar."""

    def evaluate(self, batch: Batch) -> Tensor:
        """Compute the term of a checked batch."""
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
    """Give running means, with the gradient of the batch's own."""
    share = memory.share_of(n, *sums)
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
        memory: Rows that it remembers, see :class:`FairnessLoss`.
        process_group: Who shares a batch, see :class:`FairnessLoss`.

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
    ) -> None:
        super().__init__(
            statistic, sharpness=sharpness, memory=memory, process_group=process_group
        )
        if isinstance(p, bool) or not isinstance(p, int | float):
            raise DtypeError(
                f"`p` must be a number; got {type(p).__name__}. Pass 1, 2 or math.inf."
            )
        if not p >= 1:
            raise RangeError(
                f"`p` must be at least 1, else it is no norm; got {p!r}. "
                "Pass 1, 2 or math.inf."
            )
        self.p = p

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
        memory: Rows that it remembers, see :class:`FairnessLoss`.
        process_group: Who shares a batch, see :class:`FairnessLoss`.
    """

    def penalize_violation(self, violation: Tensor) -> Tensor:
        """Sum the smooth maxima of the rows."""
        return smooth_max(violation)


LSELoss = SmoothMaxLoss  # its name in 0.1.3
