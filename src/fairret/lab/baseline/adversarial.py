"""An adversary that predicts the trait from the model: the baseline AdvDebias."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fairret.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    RangeError,
    ShapeError,
)
from fairret.lab.baseline.base import IndependenceLoss, TraitBatch, may_look


def cross_entropy(guess: Tensor, s: Tensor, p: Tensor) -> Tensor:
    r"""Cross-entropy :math:`-\sum_i p_i \sum_k S_{ik} \log q_k(z_i)`, in nats.

    The guess `(n, d)` holds the logits of q.
    """
    log_q = torch.log_softmax(guess, 1)
    return -(p.unsqueeze(1) * s * log_q).sum()


def entropy(s: Tensor, p: Tensor) -> Tensor:
    r"""Entropy :math:`-\sum_k P(k) \log P(k)` of the groups' shares, in nats."""
    share = p @ s
    return -torch.xlogy(share, share).sum()


class _OwnObjective(torch.autograd.Function):
    """Contributes 0 to the loss but passes an unscaled gradient to the adversary."""

    @staticmethod
    def forward(ctx: Any, objective: Tensor) -> Tensor:
        return torch.zeros_like(objective)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return torch.ones_like(grad)


class AdversarialDebiasingLoss(IndependenceLoss):
    r"""What an adversary learns about the trait (App. D.3, AdvDebias in the paper).

    A network with one hidden layer predicts S from z, the last hidden layer of the
    model. With q its prediction, the term is minus its cross-entropy (Adel et al. 2019)
    plus the entropy of S, a constant that does not change the gradient:

    .. math::
        R(h) = H(S) - \mathrm{CE}(q), \qquad
        \mathrm{CE}(q) = -\frac{1}{n} \sum_i \log q_{S_i}(z_i)

    At 0 the adversary predicts as well as the base rates; above 0 it has found
    information (at most the mutual information of z and S in the batch); below 0 it has
    not learned enough yet. So unlike a fairret, the term may be negative, and it is
    only as good as its adversary.

    The adversary is part of this module and trains with the model, by the same
    backward pass and the same optimizer:

    >>> import torch
    >>> baseline = AdversarialDebiasingLoss(groups=3, hidden_size=16)
    >>> body, head = torch.nn.Linear(5, 16), torch.nn.Linear(16, 1)
    >>> parameters = [*body.parameters(), *head.parameters(), *baseline.parameters()]
    >>> optimizer = torch.optim.Adam(parameters)
    >>> z = body(torch.ones(4, 5)).relu()
    >>> (0.1 * baseline(head(z), torch.eye(4, 3), hidden=z)).backward()

    **Gradients.** The model gets the gradient of the value, times your strength λ. The
    adversary gets the gradient of its own cross-entropy, reversed in sign and without
    λ, so that a weak term does not slow the adversary, and λ = 0 trains an adversary
    that does not influence the model. Other factors, such as that of a `GradScaler` or
    of accumulated batches, do not reach the adversary either. To make it faster or
    slower than the model, give `baseline.parameters()` its own parameter group in the
    optimizer. Momentum can make the two oscillate: in our tests, Adam with
    `betas=(0, 0.999)` is more stable.

    A weak adversary does not prove independence: a new one, trained on the final layer,
    may find the group again. Judge the model by a metric.

    Args:
        groups: Number of columns of `sens`.
        hidden_size: Width of the layer passed to the call as `hidden=`, `(n,
            hidden_size)`. Without it the adversary uses the score h alone, and the call
            is that of any fairret.
        width: Width of the adversary's hidden layer; 32 was the most stable in the
            paper.
    """

    def __init__(
        self, groups: int, hidden_size: int | None = None, *, width: int = 32
    ) -> None:
        super().__init__()
        self.groups = _check_count("groups", groups, "Pass the columns of `sens`.")
        self.hidden_size = hidden_size
        if hidden_size is not None:
            _check_count("hidden_size", hidden_size, "Leave it out to see scores only.")
        _check_count("width", width, "The paper has 32.")
        self.adversary = nn.Sequential(
            nn.Linear(hidden_size or 1, width), nn.ReLU(), nn.Linear(width, groups)
        )

    @property
    def needs_hidden(self) -> bool:
        """Whether the call needs `hidden=`: with a `hidden_size` it does."""
        return self.hidden_size is not None

    def evaluate(self, batch: TraitBatch) -> Tensor:
        """Compute the term of a checked batch."""
        s, p = batch.s, batch.p
        if s.shape[1] != self.groups:
            raise ShapeError(
                f"`sens` must have {self.groups} columns, the groups of the adversary; "
                f"got {tuple(s.shape)}. Construct it with `groups={s.shape[1]}`."
            )
        weights = dict(self.adversary.named_parameters())
        first = next(iter(weights.values()))
        z = self._seen(batch)
        if z.device != first.device:
            raise DeviceError(
                f"`logit` must be on {first.device}, where the adversary is; "
                f"got {z.device}. Move the adversary with `.to({str(z.device)!r})`."
            )
        z = z.to(first.dtype)
        fixed = {name: value.detach() for name, value in weights.items()}
        ce = cross_entropy(functional_call(self.adversary, fixed, (z,)), s, p)
        own = cross_entropy(self.adversary(z.detach()), s, p)
        learn: Tensor = _OwnObjective.apply(own)  # type: ignore[no-untyped-call]  # untyped in torch
        return entropy(s, p) - ce + learn

    def _seen(self, batch: TraitBatch) -> Tensor:
        if self.hidden_size is None:
            return batch.h.unsqueeze(1)
        hidden = batch.named.get("hidden")
        n, width = len(batch.h), self.hidden_size
        if hidden is None:
            raise ArgumentError(
                "`hidden` is required, the last hidden layer of the model; got nothing."
                " Pass `hidden=`, or leave out `hidden_size` to see scores only."
            )
        if not isinstance(hidden, Tensor) or not hidden.is_floating_point():
            came = hidden.dtype if isinstance(hidden, Tensor) else type(hidden).__name__
            raise DtypeError(
                f"`hidden` must be a tensor of a floating dtype; got {came}. Pass what "
                "the last layer of the model gets as its input."
            )
        if hidden.shape != (n, width):
            raise ShapeError(
                f"`hidden` must have shape (n, hidden_size), here {(n, width)}; got "
                f"{tuple(hidden.shape)}. Pass the layer from the same batch, or "
                "construct the adversary with the width that it has."
            )
        if hidden.device != batch.h.device:
            raise DeviceError(
                f"`hidden` must be on {batch.h.device}, the device of the predictions; "
                f"got {hidden.device}. Move it with `.to({str(batch.h.device)!r})`."
            )
        if may_look(hidden) and not hidden.isfinite().all():
            bad = int((~hidden.isfinite()).any(1).sum())
            raise RangeError(
                f"`hidden` must be finite; got NaN or infinity in {bad} of {n} rows. "
                "Look for a model that diverged, or for missing values in its input."
            )
        return hidden

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"groups={self.groups}, hidden_size={self.hidden_size}"


def _check_count(name: str, value: object, hint: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise RangeError(
            f"`{name}` must be a whole number of at least 1; got {value!r}. {hint}"
        )
    return value
