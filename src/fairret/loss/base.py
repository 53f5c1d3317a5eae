"""The base class of all fairrets (Def. 6), and the call that they share."""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, overload

import torch
from torch import Tensor, nn

from fairret import device
from fairret.batch import Batch, Layout, read_batch
from fairret.checks import check_options, check_positive
from fairret.device import full_precision, result_dtype
from fairret.distributed import ALONE, Choice, Processes, check_group, find_processes
from fairret.errors import DtypeError, RangeError, ShapeError
from fairret.loss.memory import Memory, check_memory
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name
from fairret.statistic.stacked import get_statistic
from fairret.statistic.sums import Coefficients

OPTIONS = ("sharpness", "memory", "process_group")
GATHERED = 400_000  # numbers, such as 32 000 rows with 8 groups


class Evaluated(NamedTuple):
    """A batch with the coefficients of the statistic: what a loss is computed from."""

    pred: Tensor  # (n,): logits that include the sharpness, or probabilities
    is_logit: bool
    s: Tensor  # (n, d_s)
    w: Tensor | None  # (n,)
    coef: Coefficients  # (K, n) each
    parts: int  # K
    target: Tensor | None  # (K,)
    over: Processes  # which have the other rows

    @property
    def h(self) -> Tensor:
        r"""Scores :math:`h = \sigma_a(x)`, `(n,)`."""
        return torch.sigmoid(self.pred) if self.is_logit else self.pred

    @property
    def weight(self) -> Tensor:
        """The weights, written out, `(n,)`."""
        return torch.ones_like(self.pred) if self.w is None else self.w

    @property
    def rows(self) -> Tensor:
        """The number of rows without padding, which has weight 0."""
        if self.w is None:
            return self.pred.new_full((), len(self.pred))
        return (self.w != 0).sum().to(self.pred)

    def gather(self) -> tuple["Evaluated", slice]:
        """Gather the rows of all processes, if that is faster than summing.

        Returns:
            The whole batch and the slice of this process's rows. The batch itself if
            there is no other process, the rows are too many, or host reads are not
            free.
        """
        if self.over.size == 1 or not device.reads_are_free(self.pred):
            return self, slice(None)
        varying = [x for x in self.coef if isinstance(x, Tensor)]  # (K, n) each
        columns = [self.pred[:, None], self.weight[:, None], *(x.T for x in varying)]
        rows = torch.cat([*columns, self.s.to(self.pred)], 1)
        found = self.over.gather(rows, GATHERED)
        if found is None:
            return self, slice(None)
        whole, own = found
        widths = [1, 1, *(len(x) for x in varying), self.s.shape[1]]
        pred, w, *parts, s = torch.split(whole, widths, 1)
        given = iter(parts)
        coef = Coefficients(
            *(next(given).T if isinstance(x, Tensor) else x for x in self.coef)
        )
        return self._replace(
            pred=pred[:, 0], w=w[:, 0], coef=coef, s=s, over=ALONE
        ), own


class FairnessLoss(nn.Module, ABC):
    r"""A fairness regularisation term :math:`R_\gamma(h) \ge 0` (Def. 6).

    It is strict: zero if and only if the statistic has parity. Multiply it by a
    strength and add it to the loss that you minimise.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        sharpness: The a of :math:`\sigma_a(x) = \sigma(a x)` (App. B.3). Values above
            1 bring scores closer to hard decisions. Gradients become up to a times
            larger near ½ and vanish elsewhere, so lower the strength.
        memory: Approximate number of past rows averaged into each batch; 0 disables
            it. With small batches, 4096 gives about the loss of a batch of that size.
            Only used in training mode and with gradients.
        process_group: The processes that share a batch, each with its own rows. The
            loss is that of the whole batch, and so is the gradient once DDP or FSDP
            have averaged it. None is the default group, if there is one; False is
            this process alone.
    """

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        *,
        sharpness: float = 1.0,
        memory: int = 0,
        process_group: Choice = None,
        **unknown: NoReturn,
    ) -> None:
        super().__init__()
        check_options(type(self).__name__, unknown, OPTIONS)
        self.statistic = get_statistic(statistic)
        self.sharpness = check_positive(
            "sharpness", sharpness, "1 leaves the scores as they are."
        )
        rows = check_memory(memory)
        owner = get_name(self.statistic)
        self.memory = Memory(rows, self.remembered, owner) if rows else None
        self._group_name = check_group(process_group)
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
        self, logit: Tensor | None = None, *args: Tensor | None, **options: Any
    ) -> Tensor:
        r"""Compute the fairret of a batch.

        Args:
            logit: The model's output, `(n,)` or `(n, 1)`: logits, or probabilities
                with `pred_as_logit=False`.
            *args: `[feat,] sens[, label]`: one is `sens`, two are `sens, label`, three
                are `feat, sens, label`. These are features, for a statistic that uses
                them; memberships in [0, 1], `(n, d_s)`; and labels, `(n,)` or `(n, 1)`.
            **options: Any of these.

                - `feat`, `sens` and `label` by keyword.
                - `weight`: sample weights, `(n,)` or `(n, 1)`. Weight 2 counts a row
                  twice.
                - `pred_as_logit`: whether `logit` holds logits, which is the default.
                - `sharpness`: replaces the loss's own in this call.
                - `target_statistic`: the value that the statistic should have, a
                  number or one per stacked statistic. The default is the overall
                  value :math:`\bar\gamma(h)`.
                - Further inputs of the statistic, by name.

        Returns:
            A scalar: float64 for float64 input, else float32.
        """
        if logit is None:
            logit = options.pop("pred", None)  # 0.1.3's name
        batch = self.read(logit, *args, **options)
        with full_precision(batch.pred.device):
            loss = self.evaluate(batch)
        assert logit is not None  # else the batch was refused
        return loss.to(result_dtype(logit))

    @abstractmethod
    def evaluate(self, batch: Evaluated) -> Tensor:
        """Compute the loss of a checked batch."""

    def read(
        self,
        logit: Tensor | None,
        *args: Tensor | None,
        pred_as_logit: bool = True,
        sharpness: float | None = None,
        target_statistic: Tensor | float | None = None,
        **inputs: object,
    ) -> Evaluated:
        """Check a call, and evaluate the coefficients; called like the loss."""
        over = find_processes(self._group_name)
        checked = read_batch(
            logit,
            args,
            inputs,
            name="logit" if pred_as_logit else "prob",
            layout=self.layout,
            may_be_empty=over.size > 1,
        )
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
        return Evaluated(
            pred,
            pred_as_logit,
            checked.sens,
            checked.weight,
            coef,
            len(self.statistic.parts),
            _as_target(target_statistic, checked, len(self.statistic.parts)),
            over,
        )

    def extra_repr(self) -> str:
        """Show the settings that are not the default."""
        return "" if self.sharpness == 1 else f"sharpness={self.sharpness:g}"

    def _remembers(self) -> Memory | None:
        """The memory, if this call uses it."""
        return self.memory if self.training and torch.is_grad_enabled() else None

    def _agree(self, over: Processes, sens: Tensor) -> None:
        """Compare the numbers of columns once: unequal ones end the process."""
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
    target: Tensor | float | None, batch: Batch, parts: int
) -> Tensor | None:
    if target is None:
        return None
    hint = "Leave it out for the overall value."
    if isinstance(target, float | int):
        finite = -math.inf < target < math.inf  # isfinite breaks a compiled graph
        target = batch.pred.new_full((), float(target))
    elif isinstance(target, Tensor):
        finite = not device.reads_are_free(target) or bool(target.isfinite().all())
    else:
        raise DtypeError(
            "`target_statistic` must be a number or a tensor; "
            f"got {type(target).__name__}. {hint}"
        )
    if not finite:
        raise RangeError(
            f"`target_statistic` must be finite; got {target.tolist()}. {hint}"
        )
    if target.numel() not in (1, parts):
        raise ShapeError(
            f"`target_statistic` must be one number, or one per statistic, of which "
            f"there are {parts}; got shape {tuple(target.shape)}. "
            "The same value holds for every group."
        )
    return target.to(batch.pred).flatten().expand(parts)
