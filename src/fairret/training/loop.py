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

from fairret.checks import known_logits
from fairret.errors import FairretError
from fairret.training.network import HIDDEN, Network, as_vector
from fairret.training.sampler import StratifiedBatchSampler, rarest_group
from fairret.training.schedule import WARM_UP, strength_at
from fairret.training.split import Rows, Split


class DivergedError(FairretError, RuntimeError):
    """The loss is not finite."""


class Term(Protocol):
    """A fairness term: any fairret, or a baseline that is called like one."""

    def __call__(self, logit: Tensor, /, **inputs: object) -> Tensor:
        """Compute the term of a batch."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Trainable parameters, such as those of an adversary."""


@dataclass(frozen=True)
class TrainingSettings:
    """How the paper trains (App. D.2).

    Args:
        epochs: Passes over the training rows.
        warm_up: Epochs before the fairness term counts.
        batch: Rows per batch.
        learning_rate: Of Adam.
        hidden: Sizes of the hidden layers.
        validation: Share of the training rows that selects the best epoch; 0 to keep
            the last one, as in the paper.
        stratified: Whether every batch has rows of every group, with weights that
            correct for it.
        patience: Stop after so many epochs without an improvement on the validation
            rows; 0 to train all epochs.
    """

    epochs: int = 100
    warm_up: int = WARM_UP
    batch: int = 4096
    learning_rate: float = 1e-3
    hidden: tuple[int, ...] = field(default=HIDDEN)
    validation: float = 0.0
    stratified: bool = False
    patience: int = 0


class Trained(NamedTuple):
    """A trained network, and how it was trained."""

    network: Network
    epoch: int  # that was kept, counted from 0
    seconds: float
    losses: list[float]  # mean loss per epoch


class WarmUp(NamedTuple):
    """The state after the warm-up, which is the same for every fairness term."""

    network: dict[str, Tensor]
    adam: dict[str, object]
    order: Tensor  # state of the generator that shuffles the rows
    seconds: float
    losses: list[float]


def warm_up(split: Split, settings: TrainingSettings, *, seed: int) -> WarmUp:
    """Train without a fairness term; `train` can continue from the result."""
    course = Course(split.train, None, settings, seed=seed)
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

    The initial weights and the order of the batches are the same for every term.

    Args:
        split: The rows.
        term: The fairness term; None for the cross-entropy alone.
        strength: Factor of the term after the warm-up.
        settings: How to train.
        seed: Of the initial weights and the order of the batches.
        start: A warm-up with the same rows, settings and seed, to share it between
            terms; None to warm up here. The result is the same, bit for bit.
        on_epoch: Called after every epoch.

    Raises:
        DivergedError: If the loss becomes NaN or infinite.
    """
    course = Course(split.train, term, settings, seed=seed)
    if start is not None:
        course.load(start)
    kept = course.run(strength, split.validation, on_epoch=on_epoch)
    assert isinstance(course.network, Network)
    return Trained(course.network, kept, course.seconds, course.losses)


class Course:
    """A training in progress: network, optimiser and order of the batches.

    Args:
        rows: The training rows.
        term: The fairness term; None for the cross-entropy alone.
        settings: How to train.
        seed: Of the initial weights and the order of the batches.
        network: What to train, in place: features to one logit. None for the paper's
            network.
        weight: Weights of the rows, `(n,)`, with a mean of 1.
    """

    def __init__(
        self,
        rows: Rows,
        term: Term | None,
        settings: TrainingSettings,
        *,
        seed: int,
        network: nn.Module | None = None,
        weight: Tensor | None = None,
    ) -> None:
        if network is None:
            torch.manual_seed(seed)
            network = Network(rows.feat.shape[1], settings.hidden)
        self.network = network
        own = [] if term is None else list(term.parameters())
        groups = [{"params": list(part)} for part in (network.parameters(), own)]
        self._adam = torch.optim.Adam(
            [group for group in groups if group["params"]],
            settings.learning_rate,
            fused=True,
        )
        self._order = torch.Generator().manual_seed(seed)
        self._rows, self._weight = rows, weight
        self._term, self._settings = term, settings
        self._strata = rarest_group(rows.sens) if settings.stratified else None
        self.seconds = 0.0
        self.losses: list[float] = []
        self.terms: list[float] = []  # mean fairness term per epoch; NaN without it
        self.validations: list[float] = []  # loss of the validation rows, or NaN

    def run(
        self,
        strength: float,
        validation: Rows | None = None,
        *,
        validation_weight: Tensor | None = None,
        on_epoch: Callable[[int], object] = lambda epoch: None,
    ) -> int:
        """Train to the end, and leave the network in evaluation mode.

        Args:
            strength: Factor of the term after the warm-up.
            validation: Rows that select the best epoch after the warm-up.
            validation_weight: Their weights.
            on_epoch: Called after every epoch.

        Returns:
            The epoch that was kept, counted from 0.
        """
        best = Best(self.network, validation, validation_weight)
        patience = self._settings.patience or math.inf
        for epoch in range(len(self.losses), self._settings.epochs):
            self.epoch(epoch, strength)
            if epoch >= self._settings.warm_up:
                self.validations[-1] = best.look(epoch, self._term, strength)
            on_epoch(epoch)
            if best.waited >= patience:
                break
        self.network.eval()
        return best.keep(len(self.losses) - 1)

    def epoch(self, epoch: int, strength: float) -> None:
        """Train for one epoch."""
        start = time.perf_counter()
        self.network.train()
        now = strength_at(epoch, strength, self._settings.warm_up)
        term = self._term if now else None
        of_batches, of_terms = [], []
        for rows, weight in self._batches():
            plain, fair = measure(self.network, rows, term, weight)
            loss = plain if fair is None else plain + now * fair
            of_batches.append(loss.item())
            of_terms.append(math.nan if fair is None else fair.item())
            if not math.isfinite(of_batches[-1]):  # before it is in the weights
                raise _diverged(of_batches[-1], plain.item(), strength, epoch)
            self._adam.zero_grad()
            torch.autograd.backward(loss)
            self._adam.step()
        self.losses.append(sum(of_batches) / len(of_batches))
        self.terms.append(sum(of_terms) / len(of_terms))
        self.validations.append(math.nan)
        self.seconds += time.perf_counter() - start

    def _batches(self) -> Iterator[tuple[Rows, Tensor | None]]:
        size, weight = self._settings.batch, self._weight
        if self._strata is None:
            for own in _deal(len(self._rows.label), size, self._order):
                yield self._rows.take(own), None if weight is None else weight[own]
            return
        seed = int(torch.randint(1 << 40, (), generator=self._order))
        sampler = StratifiedBatchSampler(self._strata, size, seed=seed)
        for places in sampler:
            own = torch.tensor(places)
            share = sampler.weight[own]
            yield self._rows.take(own), share if weight is None else share * weight[own]

    def state(self) -> WarmUp:
        """Copy everything that the next epoch depends on."""
        return WarmUp(
            deepcopy(self.network.state_dict()),
            deepcopy(self._adam.state_dict()["state"]),
            self._order.get_state(),
            self.seconds,
            self.losses.copy(),
        )

    def load(self, start: WarmUp) -> None:
        """Load a state; the optimiser has none for the parameters of the term."""
        self.network.load_state_dict(start.network)
        adam = self._adam.state_dict() | {"state": deepcopy(start.adam)}
        self._adam.load_state_dict(adam)
        self._order.set_state(start.order)
        self.seconds, self.losses = start.seconds, start.losses.copy()
        self.terms = [math.nan] * len(self.losses)
        self.validations = self.terms.copy()


def objective(
    network: nn.Module,
    rows: Rows,
    term: Term | None,
    strength: float,
    weight: Tensor | None = None,
) -> Tensor:
    """Cross-entropy plus strength times the fairness term."""
    plain, fair = measure(network, rows, term, weight)
    return plain if fair is None else plain + strength * fair


def measure(
    network: nn.Module, rows: Rows, term: Term | None, weight: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Compute the cross-entropy and the fairness term, if there is one."""
    inputs: dict[str, object] = {"sens": rows.sens, "label": rows.label}
    if getattr(term, "needs_hidden", False):
        assert isinstance(network, Network)
        logit, inputs["hidden"] = network.with_hidden(rows.feat)
    else:
        logit = as_vector(network(rows.feat))
    plain = F.binary_cross_entropy_with_logits(logit, rows.label, weight)
    if term is None:
        return plain, None
    if weight is not None:
        inputs["weight"] = weight
    with known_logits():  # early logits of a small network may lie in [0, 1]
        return plain, term(logit, **inputs)


def _diverged(loss: float, plain: float, strength: float, epoch: int) -> DivergedError:
    """Explain whether the cross-entropy or the fairness term is not finite."""
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
    """Keeps the network of the best epoch on the validation rows."""

    def __init__(
        self, network: nn.Module, rows: Rows | None, weight: Tensor | None = None
    ) -> None:
        self._network, self._rows, self._weight = network, rows, weight
        self.waited = 0  # epochs since the best
        self._value = float("inf")
        self._epoch: int | None = None
        self._state: dict[str, Tensor] = {}

    @torch.no_grad()
    def look(self, epoch: int, term: Term | None, strength: float) -> float:
        """Compare an epoch with the best so far, and return its loss."""
        if self._rows is None:
            return math.nan
        self._network.eval()
        loss = objective(self._network, self._rows, term, strength, self._weight)
        value = loss.item()
        if value < self._value:
            self._value, self._epoch = value, epoch
            self._state = deepcopy(self._network.state_dict())
            self.waited = 0
        else:
            self.waited += 1
        return value

    def keep(self, last: int) -> int:
        """Restore the best epoch; without validation rows, keep the last."""
        if self._epoch is None:
            return last
        self._network.load_state_dict(self._state)
        return self._epoch


def _deal(n: int, size: int, order: torch.Generator) -> Iterator[Tensor]:
    """Shuffle rows into batches; a rest below half a batch joins the last one."""
    shuffled = torch.randperm(n, generator=order)
    count = max(1, round(n / size))
    yield from shuffled.tensor_split([size * k for k in range(1, count)])


@torch.no_grad()
def score(network: nn.Module, feat: Tensor) -> Tensor:
    """Compute the probabilities of a network, `(n,)` in float64."""
    return torch.sigmoid(as_vector(network(feat)).double())
