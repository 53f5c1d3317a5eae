"""Datasets by name, for command lines and configurations."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from fairret.checks import nearest
from fairret.dataset.acs_income import load_acs_income
from fairret.dataset.bank import load_bank
from fairret.dataset.credit_card import load_credit_card
from fairret.dataset.law_school import load_law_school
from fairret.dataset.synthetic import synthetic_population
from fairret.dataset.table import Card, Dataset, make_dataset
from fairret.errors import ArgumentError, FairretError, NameNotFoundError
from fairret.sensitive import Categorical, Continuous


class NameTakenError(FairretError, ValueError):
    """A name is registered for something else."""


def load_synthetic(n: int = 8000, seed: int = 0) -> Dataset:
    """Load people who do not exist (:func:`synthetic_population`).

    Args:
        n: Number of people.
        seed: The same seed gives the same people.

    Returns:
        The dataset; its single trait is the sex.

    Raises:
        DtypeError: If an argument is not a whole number.
        RangeError: If `n` is below 1 or `seed` below 0.
    """
    people = synthetic_population(n, seed)
    features = zip(people.feature_names, people.feat.T.numpy(), strict=True)
    return make_dataset(
        "synthetic",
        {**dict(features), **people.traits, "label": people.label.numpy()},
        amounts=people.feature_names,
        groups={},
        traits=[
            Categorical("sex", categories=("woman", "man")),
            Categorical("region", categories=("centre", "north", "coast", "islands")),
            Continuous("age", low=20, high=65),
        ],
        label="label",
        single="sex",
        about=Card(
            title="Synthetic",
            source=f"drawn by fairret.dataset.synthetic_population({n}, seed={seed})",
            licence="that of fairret",
            citation="none: these people do not exist",
        ),
    )


_LOADERS: dict[str, Callable[..., Dataset]] = {
    "bank": load_bank,
    "creditcard": load_credit_card,
    "lawschool": load_law_school,
    "acsincome": load_acs_income,
    "synthetic": load_synthetic,
}


def dataset_names() -> tuple[str, ...]:
    """List the names that :func:`load` knows.

    >>> dataset_names()
    ('bank', 'creditcard', 'lawschool', 'acsincome', 'synthetic')
    """
    return tuple(_LOADERS)


def register(name: str, loader: Callable[..., Dataset]) -> None:
    """Make a dataset of one's own known to :func:`load` and to experiments' files.

    Args:
        name: Its name, in small letters.
        loader: Gives the dataset; :func:`make_dataset` helps to make it.

    Raises:
        ArgumentError: If `name` is no such text, or `loader` cannot be called.
        NameTakenError: If another loader has that name.
    """
    given: object = name  # a plugin's author may have no type checker
    if not isinstance(given, str) or not given or given != given.lower():
        raise ArgumentError(
            f"`name` must be a text in small letters; got {name!r}. Write 'loans', say."
        )
    if not callable(loader):
        raise ArgumentError(
            "`loader` must be a function that gives a `Dataset`; got "
            f"{type(loader).__name__}. Pass the function itself, without calling it."
        )
    if not same_code(_LOADERS.get(name, loader), loader):
        raise NameTakenError(
            f"`name` must be that of no other dataset; got {name!r}, which there is. "
            "Choose another name."
        )
    _LOADERS[name] = loader


def same_code(known: object, other: object) -> bool:
    """Tell whether two are one, or one that was defined anew, as in a notebook."""
    place = [
        (getattr(x, "__module__", 0), getattr(x, "__qualname__", x))
        for x in (known, other)
    ]
    return known is other or place[0] == place[1]


def load(name: str, **options: object) -> Dataset:
    """Load a dataset by its name.

    Args:
        name: One of :func:`dataset_names`, in small letters or as the paper writes it.
        options: What the dataset's own loader takes: `state` for "acsincome", `n` and
            `seed` for "synthetic".

    Returns:
        The dataset.

    Raises:
        NameNotFoundError: If there is no such dataset.
        ArgumentError: If its loader does not take an option.
        DataFileError: If its file is nowhere to be had, or is not the published one.
        MissingExtraError: If a package of the extra `experiment` is not installed.

    Example:
        >>> load("synthetic", n=500, seed=3)
        Dataset('synthetic', n=500, d_x=6, d_s=7)
    """
    loader = _LOADERS.get(name.lower())
    if loader is None:
        raise NameNotFoundError(
            f"`name` must be a dataset's name; got {name!r}."
            f"{nearest(name.lower(), _LOADERS)} Known are {', '.join(_LOADERS)}."
        )
    known = inspect.signature(loader).parameters
    strange = [option for option in options if option not in known]
    if strange:
        raise ArgumentError(
            f"`options` of {name!r} must be among {', '.join(known) or 'none'}; got "
            f"{', '.join(strange)}. Leave it out."
        )
    return loader(**options)
