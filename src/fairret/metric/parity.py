"""0.1.3's metric over additive sums, right for stacks and for absent groups."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from fairret.checks import check_batch, sort_positional
from fairret.distributed import DEFAULT, processes_of
from fairret.errors import ShapeError
from fairret.metric.key import all_the_same, key_of
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.stacked import get_statistic
from fairret.statistic.sums import (
    Sums,
    comparable,
    over_all,
    over_groups,
    ratio,
    summands,
    violation,
)


def gap_abs_max(vals: Tensor, target_val: Tensor) -> Tensor:
    """Largest distance from the target; groups that are NaN do not count."""
    return _largest((vals - target_val).abs())


def gap_relative_abs_max(vals: Tensor, target_val: Tensor) -> Tensor:
    """Largest violation (Eq. 9); groups that are NaN do not count."""
    one = torch.ones_like(target_val)
    overall = Sums(target_val[..., 0], one[..., 0])
    return _largest(violation(Sums(vals, torch.ones_like(vals)), overall))


def _largest(gaps: Tensor) -> Tensor:
    """The maximum without NaN, and NaN where there is nothing else."""
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
    group_num: Tensor
    group_den: Tensor
    overall_num: Tensor
    overall_den: Tensor
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
        key = key_of(self.stat, self.stat_shape)
        self.add_state("key", key, dist_reduce_fx=all_the_same)
        for name, shape in (("group", self.stat_shape), ("overall", lead)):
            for side in ("num", "den"):
                zeros = torch.zeros(shape, dtype=torch.float64)
                self.add_state(f"{name}_{side}", zeros, dist_reduce_fx="sum")

    def update(
        self,
        pred: Tensor,
        *args: Tensor | None,
        feat: Tensor | None = None,
        sens: Tensor | None = None,
        label: Tensor | None = None,
        weight: Tensor | None = None,
        **inputs: object,
    ) -> None:
        """Add a batch of probabilities or decisions; called like the statistic."""
        named = sort_positional(args, feat, sens, label)
        others = processes_of(DEFAULT).size > 1  # who may have the rows
        batch = check_batch(
            pred, *named, weight, inputs, name="prob", may_be_empty=others
        )
        assert batch.sens is not None  # check_batch requires it
        if batch.sens.shape[1] != self.stat_shape[-1]:
            raise ShapeError(
                f"`sens` must have d_s={self.stat_shape[-1]} columns, as `stat_shape` "
                f"says; got {batch.sens.shape[1]}. Encode every batch in the same way."
            )
        rows = summands(batch.pred, batch.weight, self.stat.coefficients(batch))
        groups, overall = over_groups(rows, batch.sens), over_all(rows)
        self.group_num = self.group_num + groups.num.view_as(self.group_num)
        self.group_den = self.group_den + groups.den.view_as(self.group_den)
        self.overall_num = self.overall_num + overall.num.view_as(self.overall_num)
        self.overall_den = self.overall_den + overall.den.view_as(self.overall_den)

    def compute(self) -> Tensor:
        """Compare the groups with the whole: `()`, or `(K,)` for a stack."""
        groups = Sums(self.group_num, self.group_den)
        overall = Sums(self.overall_num, self.overall_den)
        gamma = ratio(groups).masked_fill(
            ~comparable(groups.den, overall.den), torch.nan
        )
        return self.gap_fn(gamma, ratio(overall).unsqueeze(-1))
