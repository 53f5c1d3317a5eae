"""The metric of fairret 0.1.3, over additive sums."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from fairret.batch import read_batch
from fairret.distributed import DEFAULT, find_processes
from fairret.errors import ShapeError
from fairret.metric.fingerprint import fingerprint, require_equal
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.stacked import get_statistic
from fairret.statistic.sums import (
    Sums,
    comparable,
    over_all,
    over_groups,
    ratio,
    summands,
)
from fairret.statistic.violation import violation


def gap_abs_max(vals: Tensor, target_val: Tensor) -> Tensor:
    """Largest distance from the target; NaN groups are ignored."""
    return _largest((vals - target_val).abs())


def gap_relative_abs_max(vals: Tensor, target_val: Tensor) -> Tensor:
    """Largest violation (Eq. 9); NaN groups are ignored."""
    overall = target_val[..., 0]
    groups = Sums(vals, torch.ones_like(vals))
    return _largest(violation(groups, Sums(overall, torch.ones_like(overall))))


def _largest(gaps: Tensor) -> Tensor:
    """The maximum, ignoring NaN; NaN if all are."""
    none = gaps.isnan().all(-1)
    return gaps.nan_to_num(nan=-1.0).amax(-1).masked_fill(none, torch.nan)


class LinearFractionalParity(Metric):
    """Largest gap between a group's statistic and the overall one, over all batches.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        stat_shape: d_s, or (K, d_s) for a stack of K.
        gap_fn: Turns the groups' values, `(d_s,)` or `(K, d_s)`, and the overall value,
            with a last dimension of 1, into the gap.
        **kwargs: Options of :class:`torchmetrics.Metric`.

    Example:
        >>> import torch
        >>> metric = LinearFractionalParity("pr", 2)
        >>> sens = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> metric.update(torch.tensor([0.2, 0.6]), sens)
        >>> metric.update(torch.tensor([0.4, 0.8]), sens)
        >>> metric.compute()
        tensor(0.4000, dtype=torch.float64)
    """

    is_differentiable = True
    higher_is_better = False
    full_state_update = False
    groups: Tensor  # (2, *stat_shape): numerators and denominators
    overall: Tensor  # (2,) or (2, K)
    key: Tensor

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        stat_shape: int | tuple[int, ...],
        gap_fn: Callable[[Tensor, Tensor], Tensor] = gap_relative_abs_max,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stat = get_statistic(statistic)
        self.stat_shape = (stat_shape,) if isinstance(stat_shape, int) else stat_shape
        self.gap_fn = gap_fn
        lead = (len(self.stat.parts),) if self.stat.stacked else ()
        if self.stat_shape[:-1] != lead:
            wanted = (*lead, "d_s")
            raise ShapeError(
                f"`stat_shape` must be {wanted} for {self.stat!r}; "
                f"got {self.stat_shape}. Give the number of columns of `sens` last."
            )
        key = fingerprint(self.stat, self.stat_shape)
        self.add_state("key", key, dist_reduce_fx=require_equal)
        for name, shape in (("groups", self.stat_shape), ("overall", lead)):
            zeros = torch.zeros((2, *shape), dtype=torch.float64)
            self.add_state(name, zeros, dist_reduce_fx="sum")

    def update(self, pred: Tensor, *args: Tensor | None, **inputs: object) -> None:
        """Add a batch of probabilities or decisions; called like the statistic."""
        others = find_processes(DEFAULT).size > 1  # they may have all rows
        batch = read_batch(pred, args, inputs, may_be_empty=others)
        if batch.sens.shape[1] != self.stat_shape[-1]:
            raise ShapeError(
                f"`sens` must have d_s={self.stat_shape[-1]} columns, as `stat_shape` "
                f"says; got {batch.sens.shape[1]}. Encode every batch in the same way."
            )
        rows = summands(batch.pred, batch.weight, self.stat.coefficients(batch))
        groups, overall = over_groups(rows, batch.sens), over_all(rows)
        self.groups = self.groups + torch.stack(groups).view_as(self.groups)
        self.overall = self.overall + torch.stack(overall).view_as(self.overall)

    def compute(self) -> Tensor:
        """Compare the groups with the whole: `()`, or `(K,)` for a stack."""
        groups, overall = Sums(*self.groups), Sums(*self.overall)
        gamma = ratio(groups).masked_fill(
            ~comparable(groups.den, overall.den), torch.nan
        )
        return self.gap_fn(gamma, ratio(overall).unsqueeze(-1))
