"""Small networks fitted with early stopping: memberships, and the combined target."""

from collections.abc import Callable
from copy import deepcopy
from typing import Protocol

import torch
from torch import Tensor, nn

from fairret.control.loading import find_device

EPOCHS = 200
PATIENCE = 8  # epochs without improvement on the validation rows
VALIDATION = 0.2
LARGEST_BATCH = 1024
BATCHES = 20  # of an epoch, at least
LEARNING_RATE = 2e-3
SMALL = 1e-4  # improvement, over the first value, that is none
STEPS = 100  # of L-BFGS
RIDGE = 1e-4


class Fitter(Protocol):
    """Fits a module in place."""

    def __call__(
        self,
        module: nn.Module,
        feat: Tensor,
        loss: Callable[[Tensor, Tensor], Tensor],
        *,
        seed: int,
    ) -> None:
        """Fit."""


def fit_early(
    module: nn.Module,
    feat: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    seed: int,
) -> None:
    """Minimise a loss with Adam; keep the epoch that is best on validation rows.

    Args:
        module: What to fit, in place.
        feat: Features of all rows.
        loss: Mean loss of outputs on the rows with given numbers.
        seed: Of the split and of the order of rows.
    """
    device, n = find_device(module), len(feat)
    order = torch.Generator().manual_seed(seed)
    deal = torch.randperm(n, generator=order)
    cut = min(max(1, round(VALIDATION * n)), n - 1)
    held_out, train = deal[:cut], deal[cut:]
    size = max(16, min(LARGEST_BATCH, len(train) // BATCHES))
    adam = torch.optim.Adam(module.parameters(), LEARNING_RATE)
    best, state = float("inf"), deepcopy(module.state_dict())
    first, goal, waited = None, float("inf"), 0
    x_held_out = feat[held_out].to(device)
    for _ in range(EPOCHS):
        module.train()
        deal = train[torch.randperm(len(train), generator=order)]
        for rows in torch.split(deal, size):
            adam.zero_grad()
            torch.autograd.backward(loss(module(feat[rows].to(device)), rows))
            adam.step()
        module.eval()
        with torch.no_grad():
            value = float(loss(module(x_held_out), held_out))
        if value < best:
            best, state = value, deepcopy(module.state_dict())
        first = value if first is None else first
        goal, waited = (
            (value - SMALL * first, 0) if value < goal else (goal, waited + 1)
        )
        if waited >= PATIENCE:
            break
    module.load_state_dict(state)
    module.requires_grad_(False)


def fit_convex(
    module: nn.Module,
    feat: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    seed: int,
) -> None:
    """Minimise a convex loss over all rows by L-BFGS, with a small ridge."""
    x, rows = feat.to(find_device(module)), torch.arange(len(feat))
    optimiser = torch.optim.LBFGS(
        module.parameters(), max_iter=STEPS, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        ridge = sum(p.square().sum() for p in module.parameters())
        value = loss(module(x), rows) + RIDGE * ridge
        torch.autograd.backward(value)
        return value

    optimiser.step(closure)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    module.requires_grad_(False)


def fit_standardised(
    module: nn.Module,
    feat: Tensor,
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    seed: int,
    fit: Fitter = fit_early,
) -> None:
    r"""Fit on standardised features, then fold their scale into the first layer.

    .. math:: W (x - m) / s + b = (W / s) x + (b - (W / s) m)

    The module must begin with an `nn.Linear`, possibly after an `nn.Flatten`.
    """
    kind = torch.float64 if feat.dtype == torch.float64 else torch.float32
    module.to(kind)
    flat = feat.flatten(1).to(kind)
    mean, sd = flat.mean(0), flat.std(0, correction=0)
    as_it_is = ((flat == 0) | (flat == 1)).all(0) | (sd == 0)  # a yes or no
    mean, sd = mean.masked_fill(as_it_is, 0), sd.masked_fill(as_it_is, 1)
    fit(module, (flat - mean) / sd, loss, seed=seed)
    first = next(m for m in module.modules() if isinstance(m, nn.Linear))
    with torch.no_grad():
        first.weight.div_(sd.to(first.weight))
        first.bias.sub_(first.weight @ mean.to(first.weight))
    module.to(feat.dtype)
