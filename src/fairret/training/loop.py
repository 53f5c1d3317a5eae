"""The training loop: tensors in, a trained network out."""

import math
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairret.errors import FairretError
from fairret.training.network import HIDDEN, Network
from fairret.training.sampler import StratifiedBatchSampler, rarest_group
from fairret.training.schedule import WARM_UP, strength_at
from fairret.training.split import Rows, Split


class DivergedError(FairretError, RuntimeError):
    """The loss is not a finite number any more."""


class Term(Protocol):
    """A fairness term: any fairret, or a baseline that is called like one."""

    def __call__(self, logit: Tensor, /, **inputs: object) -> Tensor:
        """Compute the term of a batch."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Parameters of its own, such as those of an adversary."""


@dataclass(frozen=True)
class TrainingSettings:
    """How the paper trains (App. D.2).

    Args:
        epochs: Passes over the training rows.
        warm_up: Epochs before the fairness term counts.
        batch: Rows of a batch.
        learning_rate: Of Adam.
        hidden: Sizes of the hidden layers.
        validation: Share of the training rows that choose the epoch to stop at; 0 to
            take the last one, as the paper does.
        stratified: Whether every batch has rows of every group, weighted to make up
            for it.
    """

    epochs: int = 100
    warm_up: int = WARM_UP
    batch: int = 4096
    learning_rate: float = 1e-3
    hidden: tuple[int, ...] = field(default=HIDDEN)
    validation: float = 0.0
    stratified: bool = False


class Trained(NamedTuple):
    """A network, and how it came about."""

    network: Network
    epoch: int  # the one that was kept, the first being 0
    seconds: float
    losses: list[float]  # mean loss of each epoch


class WarmUp(NamedTuple):
    """A training before its fairness term counts: the same for every term."""

    network: dict[str, Tensor]
    adam: dict[str, object]
    order: Tensor  # state of the generator that deals the batches
    seconds: float
    losses: list[float]


def warm_up(split: Split, settings: TrainingSettings, *, seed: int) -> WarmUp:
    """Train until the fairness term would count; `train` can go on from there."""
    course = Course(split, None, settings, seed=seed)
    for epoch in range(min(settings.warm_up, settings.epochs)):
        course.epoch(epoch, 0.0)
    return course.state()


def train(
    split: Split,
    term: Term | None,
    strength: float,
    settings: TrainingSettings,
    *,
    seed: int,
    start: WarmUp | None = None,
    on_epoch: Callable[[int], object] = lambda epoch: None,
) -> Trained:
    """Minimise the cross-entropy plus a fairness term (Eq. 8).

    The network starts with, and sees the batches in, the same order for every term.

    Args:
        split: The rows.
        term: The fairness term; None for the cross-entropy alone.
        strength: How much the term counts after the warm-up.
        settings: How to train.
        seed: Of the network and the order of the batches.
        start: A warm-up with the same rows, settings and seed, so that several terms
            share it; None to warm up here. The outcome is the same, bit for bit.
        on_epoch: Is called after every epoch.

    Raises:
        DivergedError: If the loss becomes NaN or infinite.
    """
    course = Course(split, term, settings, seed=seed)
    if start is not None:
        course.go_on_from(start)
    best = Best(course.network, split.validation)
    for epoch in range(len(course.losses), settings.epochs):
        course.epoch(epoch, strength)
        if epoch >= settings.warm_up:
            best.look(epoch, term, strength)
        on_epoch(epoch)
    kept = best.keep(settings.epochs - 1)
    return Trained(course.network.eval(), kept, course.seconds, course.losses)


class Course:
    """A network on its way: with its optimizer and the order of its batches."""

    def __init__(
        self, split: Split, term: Term | None, settings: TrainingSettings, *, seed: int
    ) -> None:
        torch.manual_seed(seed)
        self.network = Network(split.train.feat.shape[1], settings.hidden)
        own = [] if term is None else list(term.parameters())
        groups = [{"params": list(part)} for part in (self.network.parameters(), own)]
        self._adam = torch.optim.Adam(
            [group for group in groups if group["params"]],
            settings.learning_rate,
            fused=True,
        )
        self._order = torch.Generator().manual_seed(seed)
        self._rows, self._term, self._settings = split.train, term, settings
        self._strata = rarest_group(split.train.sens) if settings.stratified else None
        self.seconds = 0.0
        self.losses: list[float] = []

    def epoch(self, epoch: int, strength: float) -> None:
        """Take all batches once."""
        start = time.perf_counter()
        now = strength_at(epoch, strength, self._settings.warm_up)
        term = self._term if now else None
        of_batches = []
        for rows, weight in self._batches():
            loss = objective(self.network, rows, term, now, weight)
            of_batches.append(loss.item())
            if not math.isfinite(of_batches[-1]):  # before it is in the weights
                plain = objective(self.network, rows, None, 0.0, weight).item()
                raise _diverged(of_batches[-1], plain, strength, epoch)
            self._adam.zero_grad()
            torch.autograd.backward(loss)
            self._adam.step()
        self.losses.append(sum(of_batches) / len(of_batches))
        self.seconds += time.perf_counter() - start

    def _batches(self) -> Iterator[tuple[Rows, Tensor | None]]:
        size = self._settings.batch
        if self._strata is None:
            for rows in _batches(self._rows, size, self._order):
                yield rows, None
            return
        seed = int(torch.randint(1 << 40, (), generator=self._order))
        sampler = StratifiedBatchSampler(self._strata, size, seed=seed)
        for own in sampler:
            yield self._rows.take(torch.tensor(own)), sampler.weight[own]

    def state(self) -> WarmUp:
        """Copy all that the next epoch depends on."""
        return WarmUp(
            deepcopy(self.network.state_dict()),
            deepcopy(self._adam.state_dict()["state"]),
            self._order.get_state(),
            self.seconds,
            self.losses.copy(),
        )

    def go_on_from(self, start: WarmUp) -> None:
        """Take over a state; parameters of the term have none yet."""
        self.network.load_state_dict(start.network)
        adam = self._adam.state_dict() | {"state": deepcopy(start.adam)}
        self._adam.load_state_dict(adam)
        self._order.set_state(start.order)
        self.seconds, self.losses = start.seconds, start.losses.copy()


def objective(
    network: Network,
    rows: Rows,
    term: Term | None,
    strength: float,
    weight: Tensor | None = None,
) -> Tensor:
    """Cross-entropy plus strength times the fairness term."""
    if term is None:
        logit = network(rows.feat)
        return F.binary_cross_entropy_with_logits(logit, rows.label, weight)
    logit, hidden = network.with_hidden(rows.feat)
    inputs: dict[str, object] = {"sens": rows.sens, "label": rows.label}
    if weight is not None:
        inputs["weight"] = weight
    if getattr(term, "needs_hidden", False):
        inputs["hidden"] = hidden
    loss = F.binary_cross_entropy_with_logits(logit, rows.label, weight)
    return loss + strength * term(logit, **inputs)


def _diverged(loss: float, plain: float, strength: float, epoch: int) -> DivergedError:
    """Say whether the cross-entropy or the fairness term is not finite."""
    if math.isfinite(plain):
        return DivergedError(
            f"The fairness term must be finite; it makes the loss {loss} in epoch "
            f"{epoch}, where the cross-entropy is {plain:.3g}. Look for a division by "
            f"0 in it, or lower its strength of {strength:g}."
        )
    return DivergedError(
        f"`strength` must leave the loss finite; with {strength:g} it is {loss} in "
        f"epoch {epoch}. Lower it, or the learning rate."
    )


class Best:
    """Keeps the network of the epoch that does best on the validation rows."""

    def __init__(self, network: Network, rows: Rows | None) -> None:
        self._network, self._rows = network, rows
        self._value = float("inf")
        self._epoch: int | None = None
        self._state: dict[str, Tensor] = {}

    @torch.no_grad()
    def look(self, epoch: int, term: Term | None, strength: float) -> None:
        """Compare an epoch with the best one so far."""
        if self._rows is None:
            return
        value = objective(self._network, self._rows, term, strength).item()
        if value < self._value:
            self._value, self._epoch = value, epoch
            self._state = deepcopy(self._network.state_dict())

    def keep(self, last: int) -> int:
        """Go back to the best epoch; without validation rows, stay at the last one."""
        if self._epoch is None:
            return last
        self._network.load_state_dict(self._state)
        return self._epoch


def _batches(rows: Rows, size: int, order: torch.Generator) -> Iterator[Rows]:
    """Deal the rows out anew; a rest of less than half a batch joins the last one."""
    n = len(rows.label)
    deal = torch.randperm(n, generator=order)
    count = max(1, round(n / size))
    for own in deal.tensor_split([size * k for k in range(1, count)]):
        yield rows.take(own)


@torch.no_grad()
def score(network: Network, feat: Tensor) -> Tensor:
    """Compute the probabilities that a network gives, `(n,)` in float64."""
    logit: Tensor = network(feat)
    return torch.sigmoid(logit.double())
