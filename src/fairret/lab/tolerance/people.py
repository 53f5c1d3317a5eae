"""The rows of a case: who fits a rule, who judges it, and which traits count."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.lab.dataset import Dataset, load
from fairret.training import Rows, Split, split_rows

ALL = "all"
TREE_ROWS = 25_000  # of a dataset that all methods with trees get
NETWORK_ROWS = {"acsincome": 25_000}  # others have all rows, like those of the grid
VALIDATION = 0.1  # of the fit rows: chooses the epoch of the network
COMPARED = {  # the trait of methods that take one, and one with two or three groups
    "bank": ("marital", "marital"),
    "creditcard": ("education", "sex"),
    "lawschool": ("race", "sex"),
    "acsincome": ("race", "sex"),
    "synthetic": ("sex", "sex"),
}


class Case(NamedTuple):
    """One row of the table."""

    dataset: str
    seed: int
    traits: str  # "all", or the name of one
    method: str
    notion: str
    tolerance: float  # infinite: none

    def __str__(self) -> str:
        return (
            f"{self.dataset} {self.seed}, {self.traits}: {self.method}, "
            f"{self.notion} {self.tolerance:g}"
        )


class People(NamedTuple):
    """People of one split, with the memberships that a case is about."""

    fit: Rows
    test: Rows
    columns: tuple[int, ...]  # of the memberships of the dataset
    names: tuple[str, ...]
    traits: Mapping[str, tuple[int, ...]]  # columns of `sens`


@lru_cache(maxsize=2)
def load_some(name: str) -> Dataset:
    """Load a dataset."""
    return load(name)


@lru_cache(maxsize=2)
def load_split(dataset: str, seed: int, most: int | None) -> Split:
    """Split at random, like an experiment with the same seed on as many rows."""
    data = load_some(dataset)
    feat, sens, label = data.feat, data.sens, data.label
    if most is not None and most < len(label):
        order = torch.randperm(len(label), generator=torch.Generator().manual_seed(0))
        feat, sens, label = (x[order[:most]] for x in (feat, sens, label))
    return split_rows(feat, sens, label, seed=seed, validation=VALIDATION)


def split_of(case: Case) -> Split:
    """Return the split of a case, with as many rows as its learner gets."""
    trees = not case.method.endswith("network")
    most = TREE_ROWS if trees else NETWORK_ROWS.get(case.dataset)
    return load_split(case.dataset, case.seed, most)


def load_people(case: Case, split: Split | None = None) -> People:
    """Load the rows of a case; validation rows fit a rule too."""
    data, split = load_some(case.dataset), split or split_of(case)
    assert split.validation is not None
    columns, names, traits = select(data, case.traits)
    both = zip(split.train, split.validation, strict=True)
    fit = Rows(*(torch.cat(pair) for pair in both))
    return People(
        fit._replace(sens=fit.sens[:, columns]),
        split.test._replace(sens=split.test.sens[:, columns]),
        columns,
        names,
        traits,
    )


def select(
    data: Dataset, traits: str
) -> tuple[tuple[int, ...], tuple[str, ...], dict[str, tuple[int, ...]]]:
    """Find the columns of some traits, their names, and their places among them."""
    own = [t for t in data.traits if traits in (ALL, t)]
    columns = tuple(k for t in own for k in data.traits[t])
    names = tuple(data.sens_names[k] for k in columns)
    places = {t: tuple(columns.index(k) for k in data.traits[t]) for t in own}
    return columns, names, places


def take_columns(
    q: tuple[Tensor, Tensor], columns: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Select columns of estimated memberships."""
    return q[0][:, columns], q[1][:, columns]
