"""Networks for tables: their inputs, training with a fairret, and their scores."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from fairret.control.loading import in_blocks, read_logits
from fairret.errors import ShapeError
from fairret.estimator.base import FitData, ParameterError
from fairret.estimator.features import Numbers, Standardiser, TableEncoder
from fairret.estimator.progress import epochs_shown
from fairret.loss import FairnessLoss
from fairret.training import Network, Rows, TrainingSettings, WarmUp
from fairret.training.loop import Course
from fairret.training.network import as_vector

LARGEST_BATCH = 1024
SMALLEST_BATCH = 32
BATCHES = 20  # per epoch, at least

Module: TypeAlias = nn.Module | Callable[[int], nn.Module]
Places: TypeAlias = NDArray[np.intp]


class Recipe(NamedTuple):
    """How to train a network."""

    module: Module | None  # None for the paper's
    term: Callable[[int], FairnessLoss | None]  # made for a number of rows
    strength: float
    epochs: int
    warm_up: int
    batch_size: int | None
    learning_rate: float
    validation: float  # share of the rows; 0 for none
    patience: int | None  # None to train all epochs
    device: torch.device
    verbose: bool

    def settings(self, rows: int, done: int) -> TrainingSettings:
        """The settings for some rows, after the epochs that are done."""
        batch = self.batch_size
        if batch is None:
            batch = max(SMALLEST_BATCH, min(LARGEST_BATCH, rows // BATCHES))
        return TrainingSettings(
            epochs=done + self.epochs,
            warm_up=self.warm_up,
            batch=batch,
            learning_rate=self.learning_rate,
            patience=self.patience or 0,
        )


class Inputs:
    """Turns features, and traits if decisions use them, into inputs of a network."""

    def __init__(self, table: TableEncoder, scale: Standardiser, traits: bool) -> None:
        self.table, self.scale, self.traits = table, scale, traits

    @classmethod
    def fit(cls, data: FitData, *, traits: bool) -> Inputs:
        """Learn the categories and scales of some rows."""
        inputs = cls(TableEncoder(missing=True).fit(data.X), Standardiser(), traits)
        inputs.scale.fit(inputs.numbers(data.X, data.traits.sens), data.weight)
        return inputs

    def numbers(self, X: Any, sens: Numbers | None) -> Numbers:
        """Read a table as numbers, NaN where missing."""
        x = self.table.transform(X)
        if self.traits and sens is not None:
            x = np.column_stack((x, sens))
        return x

    def scaled(self, numbers: Numbers) -> Tensor:
        """Bring numbers to the scale of a network, float32."""
        return torch.as_tensor(self.scale.transform(numbers))


class Weighted(NamedTuple):
    """Rows with weights; None for all 1."""

    rows: Rows
    weight: Tensor | None


class Trained(NamedTuple):
    """A trained network, on the CPU, and what is needed to train it further."""

    module: nn.Module
    state: WarmUp
    term: dict[str, Tensor]  # state of the fairness term
    history: list[dict[str, float]]  # per epoch


def train_network(
    recipe: Recipe,
    feat: Tensor,
    data: FitData,
    rows: Places,
    seed: int,
    *,
    earlier: Trained | None = None,
    name: str = "Training",
) -> Trained:
    """Train a network, without a trace in the global random numbers.

    Args:
        recipe: How.
        feat: Inputs of the network.
        data: All rows.
        rows: Which of them to train on.
        seed: Of the initial weights, the validation rows and the order.
        earlier: A network to train further, in a copy.
        name: What to call it in a progress bar.
    """
    with _own_generator(recipe.device):
        torch.manual_seed(seed)
        if earlier is None:
            module, done = make_module(recipe.module, feat), 0
        else:
            module, done = deepcopy(earlier.module), len(earlier.state.losses)
        train, validation = _deal(recipe, feat, data, rows, seed)
        term = recipe.term(len(train.rows.label))
        course = Course(
            train.rows,
            term,
            recipe.settings(len(train.rows.label), done),
            seed=seed,
            network=module.to(recipe.device),
            weight=train.weight,
        )
        if earlier is not None:
            course.load(earlier.state)
            if term is not None:
                with suppress(RuntimeError):  # of another fairret
                    term.load_state_dict(earlier.term)
        with epochs_shown(recipe.epochs, recipe.verbose, name) as show:
            course.run(
                recipe.strength,
                validation.rows if len(validation.rows.label) else None,
                validation_weight=validation.weight,
                on_epoch=lambda epoch: show(epoch + 1 - done, course.losses[-1]),
            )
        module.cpu()
    of_term = {} if term is None else term.state_dict()
    state, of_term = tree_map(_to_cpu, (course.state(), of_term))
    before = [] if earlier is None else earlier.history
    return Trained(module, state, of_term, before + _history(course)[done:])


def _history(course: Course) -> list[dict[str, float]]:
    """List what is known of every epoch."""
    values = zip(course.losses, course.terms, course.validations, strict=True)
    return [
        {"epoch": epoch, "loss": loss, "fairret": fair, "validation_loss": value}
        for epoch, (loss, fair, value) in enumerate(values)
    ]


def make_module(module: Module | None, feat: Tensor) -> nn.Module:
    """Make a network for some inputs, and try it.

    Args:
        module: A module, which is copied; a function of the number of inputs; or None
            for the network of the paper.
        feat: Inputs.

    Raises:
        ParameterError: If it is no module, or has nothing to train.
        ShapeError: If it does not turn the inputs into one number per row.
    """
    width = feat.shape[1]
    if module is None:
        return Network(width)
    made: object = module
    if isinstance(module, nn.Module):
        made = deepcopy(module)
    elif callable(module):
        made = module(width)
    if not isinstance(made, nn.Module):
        raise ParameterError(
            "`module` must be an nn.Module, or a function that makes one from the "
            f"number of inputs; got {type(made).__name__}."
        )
    try:
        read_logits(made.eval(), feat[:2], "module")
    except RuntimeError as error:
        raise ShapeError(
            f"`module` must take the {width} inputs that the columns of `X` become; "
            f"torch says: {error}. Pass a function of their number, such as `lambda d: "
            "nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, 1))`."
        ) from error
    if not any(p.requires_grad for p in made.parameters()):
        raise ParameterError("`module` must have parameters that can be trained.")
    return made


def score(modules: list[nn.Module], feat: Tensor) -> Numbers:
    """Average the probabilities of some networks, `(n,)`."""

    def average(x: Tensor) -> Tensor:
        each = [as_vector(own(x)).double().sigmoid() for own in modules]
        return torch.stack(each).mean(0)

    return np.asarray(in_blocks(average, feat, torch.device("cpu")).numpy())


def _own_generator(device: torch.device) -> AbstractContextManager[None]:
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])


def _deal(
    recipe: Recipe, feat: Tensor, data: FitData, rows: Places, seed: int
) -> list[Weighted]:
    """Split rows into those to train on and those that select the epoch."""
    sens = torch.as_tensor(np.nan_to_num(data.traits.sens, nan=0.0)).float()
    everybody = Rows(feat, sens, torch.as_tensor(data.labels.binary).float())
    both = hold_out(data.labels.binary[rows], recipe.validation, seed)
    mean = data.weight[rows[both[0]]].mean()  # so that the term keeps its strength
    weight = torch.as_tensor(data.weight / mean).float()
    found = []
    for part in both:
        own = torch.as_tensor(rows[part])
        taken = Rows(*(x.to(recipe.device) for x in everybody.take(own)))
        given = weight[own].to(recipe.device) if data.weighted else None
        found.append(Weighted(taken, given))
    return found


def hold_out(label: Numbers, share: float, seed: int) -> tuple[Places, Places]:
    """Deal rows into two parts, with the same share of every label in the second."""
    order = np.random.default_rng(seed).permutation(len(label))
    dealt = order[np.argsort(label[order], kind="stable")]
    count = round(share * len(dealt))
    places = ((np.arange(count) + 0.5) * len(dealt) / max(count, 1)).astype(np.intp)
    chosen = np.zeros(len(dealt), dtype=bool)
    chosen[places] = True
    return dealt[~chosen], dealt[chosen]


def _to_cpu(x: object) -> object:
    return x.cpu() if isinstance(x, Tensor) else x
