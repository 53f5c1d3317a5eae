"""The call that the baselines share: that of a fairret, for one categorical trait."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from fairret import batch as call
from fairret.device import full_precision, result_dtype
from fairret.errors import ArgumentError, RangeError, did_you_mean

OPTIONS = ("feat", "sens", "label", "weight", "pred_as_logit")


class TraitBatch(NamedTuple):
    """What a baseline sees of a batch: float64, except on devices without it."""

    h: Tensor  # (n,): scores
    complement: Tensor  # (n,): 1 - h, without its cancellation
    s: Tensor  # (n, d): one-hot, zeros where the trait is missing
    p: Tensor  # (n,): weights that add up to 1, zero where the trait is missing
    dtype: torch.dtype  # that of the result
    named: dict[str, object]


class IndependenceLoss(nn.Module, ABC):
    """A term that is small if the model reveals little about one categorical trait.

    A baseline supports one trait and one notion, independence: it has no statistic and
    ignores the label. Rows with a missing trait are left out.
    """

    if TYPE_CHECKING:  # nn.Module hides the signature of forward behind its own

        def __call__(self, /, *args: Tensor | None, **options: object) -> Tensor:
            """Compute the term of a batch, see :meth:`forward`."""
            ...

    @property
    def needs_hidden(self) -> bool:
        """Whether the call needs `hidden=`, the last hidden layer of the model.

        A loop that trains with fairrets and baselines alike asks
        `getattr(loss, "needs_hidden", False)`.
        """
        return False

    def forward(
        self,
        logit: Tensor | None = None,
        *args: Tensor | None,
        pred_as_logit: bool = True,
        **inputs: object,
    ) -> Tensor:
        """Compute the term of a batch.

        Args:
            logit: The model's output, `(n,)` or `(n, 1)`: logits, or probabilities
                with `pred_as_logit=False`.
            *args: `[feat,] sens[, label]`: one is `sens`, two are `sens, label`, three
                are `feat, sens, label`. `sens` is one trait, one-hot, `(n, d)`; a row
                of zeros is a missing value. The others are ignored.
            pred_as_logit: Whether `logit` holds logits.
            **inputs: The same by keyword; `weight`, sample weights, `(n,)` or `(n, 1)`:
                weight 2 is the row twice; and `hidden`, where :attr:`needs_hidden` is
                true.

        Returns:
            A scalar: float64 for float64 input, else float32.
        """
        self._check_names(inputs)
        checked = call.read_batch(
            logit, args, inputs, name="logit" if pred_as_logit else "prob"
        )
        assert logit is not None  # else the batch was refused
        batch = _batch(checked, pred_as_logit, result_dtype(logit))
        with full_precision(batch.h.device):
            loss = self.evaluate(batch)
        return loss.to(batch.dtype)

    @abstractmethod
    def evaluate(self, batch: TraitBatch) -> Tensor:
        """Compute the term of a checked batch."""

    def _check_names(self, inputs: dict[str, object]) -> None:
        known = ("hidden",) if self.needs_hidden else ()
        for name in inputs:
            if name not in ("feat", "sens", "label", "weight", *known):
                raise ArgumentError(
                    f"`{name}` must be an option of the call; {type(self).__name__} "
                    f"knows {', '.join((*OPTIONS, *known))}."
                    f"{did_you_mean(name, (*OPTIONS, *known))} Leave it out otherwise."
                )


def _batch(checked: call.Batch, pred_as_logit: bool, dtype: torch.dtype) -> TraitBatch:
    pred, s = checked.pred, checked.sens
    if may_look(s):
        _check_one_hot(s)
    w = s.sum(1) if checked.weight is None else s.sum(1) * checked.weight.detach()
    p = w / w.sum().clamp_min(torch.finfo(w.dtype).tiny)  # nobody known: all zero
    if pred_as_logit:
        h, complement = torch.sigmoid(pred), torch.sigmoid(-pred)
    else:
        h, complement = pred, 1 - pred
    return TraitBatch(h, complement, s, p, dtype, checked.named)


def may_look(tensor: Tensor) -> bool:
    """Tell whether values can be read for free, as in :mod:`fairret.checks`."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def _check_one_hot(s: Tensor) -> None:
    wrong = ((s != 0) & (s != 1)).any(1) | (s.sum(1) > 1)
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise RangeError(
            "`sens` must be one categorical trait, one-hot: a single 1 in every row, "
            f"or zeros where it is missing; got {int(wrong.sum())} other rows of "
            f"{len(s)}, first {s[row].tolist()} in row {row}. Pass the columns of one "
            "trait, combine several with `fairret.sensitive.Intersection`, and cut a "
            "continuous one into bins; the losses in `fairret.loss` take all as is."
        )
