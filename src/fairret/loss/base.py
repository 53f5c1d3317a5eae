"""The call that every fairret has in common."""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast, overload

import torch
from torch import Tensor, nn

from fairret.checks import (
    Inputs,
    Layout,
    check_batch,
    check_positive,
    full_precision,
    result_dtype,
    sort_positional,
)
from fairret.distributed import Choice, Processes, name_of, processes_of
from fairret.errors import DtypeError, RangeError, ShapeError
from fairret.loss.memory import Memory, check_memory
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.stacked import get_statistic
from fairret.statistic.sums import Coefficients


class Batch(NamedTuple):
    """What a fairret sees of a batch, in the dtype that it computes in."""

    pred: Tensor  # (n,): logits that include the sharpness, or probabilities
    is_logit: bool
    s: Tensor  # (n, d_s)
    w: Tensor | None  # (n,)
    coef: Coefficients  # (K, n) each
    target: Tensor | None  # (K,)
    over: Processes  # those who have the other rows

    @property
    def h(self) -> Tensor:
        r"""Scores :math:`h = \sigma_a(x)`, `(n,)`."""
        return torch.sigmoid(self.pred) if self.is_logit else self.pred

    @property
    def rows(self) -> Tensor:
        """How many rows count; padding, of weight 0, does not."""
        if self.w is None:
            return self.pred.new_full((), len(self.pred))
        return (self.w != 0).sum().to(self.pred)


class FairnessLoss(nn.Module, ABC):
    r"""A fairness regularisation term :math:`R_\gamma(h) \ge 0` (Def. 6).

    It is strict: zero if and only if the statistic has parity. Add it to the loss that
    you minimise, times a strength.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        sharpness: The a of :math:`\sigma_a(x) = \sigma(a x)` (App. B.3). Above 1 the
            scores come closer to decisions, and their gradients poorer.
        memory: Rows of earlier batches that count with a batch, about; 0 for none. With
            small batches, about 4096 make a loss as good as that of so many rows. Only
            while training: after `eval()`, or where no gradient is taken, a batch
            stands for itself.
        process_group: The processes that share a batch, each with its own rows. The
            loss is that of the whole batch, and so is the gradient after DDP or FSDP
            have averaged it. None is the default group, where there is one; False is
            this process alone.
    """

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        *,
        sharpness: float = 1.0,
        memory: int = 0,
        process_group: Choice = None,
    ) -> None:
        super().__init__()
        self.statistic = get_statistic(statistic)
        self.sharpness = check_positive(
            "sharpness", sharpness, "1 leaves the scores as they are."
        )
        rows = check_memory(memory)
        self.memory = Memory(rows, self.remembered) if rows else None
        self._group_name = name_of(process_group)
        self._agreed: set[int] = set()  # numbers of columns that all processes had

    layout: ClassVar[Layout]  # how it wants `sens`
    remembered: ClassVar[tuple[str, ...]] = ()  # names of what `memory` keeps

    if TYPE_CHECKING:  # nn.Module hides the signature of forward behind its own

        @overload
        def __call__(
            self, logit: Tensor, sens: Tensor, /, **options: object
        ) -> Tensor: ...
        @overload
        def __call__(
            self, logit: Tensor, sens: Tensor, label: Tensor, /, **options: object
        ) -> Tensor: ...
        @overload
        def __call__(
            self,
            logit: Tensor,
            feat: Tensor | None,
            sens: Tensor,
            label: Tensor | None,
            /,
            **options: object,
        ) -> Tensor: ...
        @overload
        def __call__(self, logit: Tensor, /, **options: object) -> Tensor: ...
        @overload
        def __call__(self, /, **options: object) -> Tensor: ...
        def __call__(self, /, *args: Any, **options: Any) -> Tensor:
            """Compute the fairret of a batch, see :meth:`forward`."""
            ...

    def forward(
        self,
        logit: Tensor | None = None,
        *args: Tensor | None,
        feat: Tensor | None = None,
        sens: Tensor | None = None,
        label: Tensor | None = None,
        weight: Tensor | None = None,
        pred_as_logit: bool = True,
        sharpness: float | None = None,
        target_statistic: Tensor | float | None = None,
        **inputs: object,
    ) -> Tensor:
        r"""Compute the fairret of a batch.

        Args:
            logit: The model's output, `(n,)` or `(n, 1)`: logits, or probabilities
                with `pred_as_logit=False`.
            *args: `[feat,] sens[, label]`: one is `sens`, two are `sens, label`, three
                are `feat, sens, label`. Each also by keyword.
            feat: Features, for a statistic that asks for them.
            sens: Memberships in [0, 1], `(n, d_s)`.
            label: Labels, `(n,)` or `(n, 1)`.
            weight: Sample weights, `(n,)` or `(n, 1)`: weight 2 is the row twice.
            pred_as_logit: Whether `logit` holds logits.
            sharpness: Used for this call instead of the loss's own.
            target_statistic: What the statistic should be, instead of the overall
                value :math:`\bar\gamma(h)`: a number, or one for every stacked one.
            **inputs: Whatever else the statistic asks for by name.

        Returns:
            A scalar: float64 for float64 input, else float32.
        """
        if logit is None:
            logit = cast("Tensor | None", inputs.pop("pred", None))  # 0.1.3's name
        named = sort_positional(args, feat, sens, label)
        batch = self._batch(
            logit, named, weight, pred_as_logit, sharpness, target_statistic, inputs
        )
        with full_precision(batch.pred.device):
            loss = self.evaluate(batch)
        assert logit is not None  # else the batch was refused
        return loss.to(result_dtype(logit))

    @abstractmethod
    def evaluate(self, batch: Batch) -> Tensor:
        """Compute the term of a checked batch."""

    def _batch(
        self,
        logit: Tensor | None,
        named: tuple[object, object, object],
        weight: Tensor | None,
        pred_as_logit: bool,
        sharpness: float | None,
        target: Tensor | float | None,
        inputs: dict[str, object],
    ) -> Batch:
        over = processes_of(self._group_name)
        checked = check_batch(
            logit,
            *named,
            weight,
            inputs,
            name="logit" if pred_as_logit else "prob",
            layout=self.layout,
            may_be_empty=over.size > 1,
        )
        assert checked.sens is not None  # check_batch requires it
        self._agree(over, checked.sens)
        a = self.sharpness if sharpness is None else sharpness
        pred = checked.pred
        if a != 1:
            check_positive("sharpness", a, "1 leaves the scores as they are.")
            if not pred_as_logit:
                pred = torch.logit(pred, eps=torch.finfo(pred.dtype).eps)
            pred, pred_as_logit = a * pred, True
        with full_precision(pred.device):
            coef = self.statistic.coefficients(checked)
        return Batch(
            pred,
            pred_as_logit,
            checked.sens,
            checked.weight,
            coef,
            _as_target(target, checked, len(self.statistic.parts)),
            over,
        )

    def extra_repr(self) -> str:
        """Show the settings that are not the default."""
        return "" if self.sharpness == 1 else f"sharpness={self.sharpness:g}"

    def _remembers(self) -> Memory | None:
        """The memory, where this call is to use it."""
        return self.memory if self.training and torch.is_grad_enabled() else None

    def _agree(self, over: Processes, sens: Tensor) -> None:
        """Compare columns once: sums of other lengths would end the process."""
        d_s = sens.shape[1]
        if over.size == 1 or d_s in self._agreed or torch.compiler.is_compiling():
            return
        own = torch.full((), d_s, dtype=torch.float64, device=sens.device)
        (found,) = over.total(over.slot(own))
        columns = [int(x) for x in found.tolist()]
        if len(set(columns)) > 1:
            raise ShapeError(
                f"`sens` must have the same columns in all processes; got {columns}. "
                "Encode the rows of all of them with the same encoder."
            )
        self._agreed.add(d_s)


def _as_target(
    target: Tensor | float | None, batch: Inputs, parts: int
) -> Tensor | None:
    if target is None:
        return None
    if isinstance(target, float | int):
        if not -math.inf < target < math.inf:  # isfinite breaks a compiled graph
            raise RangeError(
                f"`target_statistic` must be finite; got {target}. "
                "Leave it out for the overall value."
            )
        return batch.pred.new_full((parts,), float(target))
    if not isinstance(target, Tensor):
        raise DtypeError(
            "`target_statistic` must be a number or a tensor; "
            f"got {type(target).__name__}. Leave it out for the overall value."
        )
    if target.numel() not in (1, parts):
        raise ShapeError(
            f"`target_statistic` must be one number, or one for each of the {parts} "
            f"statistics; got shape {tuple(target.shape)}. "
            "The same value holds for every group."
        )
    return target.to(batch.pred).flatten().expand(parts)
