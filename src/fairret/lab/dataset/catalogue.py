"""Datasets by name, for command lines and configurations."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from fairret.errors import ArgumentError, NameNotFoundError, did_you_mean
from fairret.lab.dataset.acs_income import load_acs_income
from fairret.lab.dataset.bank import load_bank
from fairret.lab.dataset.credit_card import load_credit_card
from fairret.lab.dataset.law_school import load_law_school
from fairret.lab.dataset.synthetic import synthetic_population
from fairret.lab.dataset.table import Card, Dataset, make_dataset
from fairret.lab.plugins import NameTakenError, same_code
from fairret.sensitive import Categorical, Continuous

TITLES = {
    "bank": "Bank",
    "creditcard": "CreditCard",
    "lawschool": "LawSchool",
    "acsincome": "ACSIncome",
    "synthetic": "Synthetic",
}
"""How tables and figures name the datasets."""


def load_synthetic(n: int = 8000, seed: int = 0) -> Dataset:
    """Load simulated people (:func:`synthetic_population`).

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
        traits=[
            Categorical("sex", categories=("woman", "man")),
            Categorical("region", categories=("centre", "north", "coast", "islands")),
            Continuous("age", low=20, high=65),
        ],
        label="label",
        single="sex",
        about=Card(
            title="Synthetic",
            source=f"drawn by synthetic_population({n}, seed={seed}) of fairret",
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
    """List the names that :func:`load` accepts.

    >>> dataset_names()
    ('bank', 'creditcard', 'lawschool', 'acsincome', 'synthetic')
    """
    return tuple(_LOADERS)


def register(name: str, loader: Callable[..., Dataset]) -> None:
    """Register your own dataset for :func:`load` and for experiment files.

    Args:
        name: Its name in lower case.
        loader: Returns the dataset; :func:`make_dataset` helps to make it.

    Raises:
        ArgumentError: If `name` is no such text, or `loader` cannot be called.
        NameTakenError: If another loader has that name.
    """
    given: object = name  # a plugin's author may have no type checker
    if not isinstance(given, str) or not given or given != given.lower():
        raise ArgumentError(
            f"`name` must be a text in lower case; got {name!r}. Write it like 'loans'."
        )
    if not callable(loader):
        raise ArgumentError(
            "`loader` must be a function that returns a `Dataset`; got "
            f"{type(loader).__name__}. Pass the function itself, without calling it."
        )
    if not same_code(_LOADERS.get(name, loader), loader):
        raise NameTakenError(
            f"A dataset named {name!r} is already registered. Choose another name."
        )
    _LOADERS[name] = loader


def load(name: str, **options: object) -> Dataset:
    """Load a dataset by its name.

    Args:
        name: One of :func:`dataset_names`, in any case.
        options: Options of the dataset's loader: `state` for "acsincome", `n` and
            `seed` for "synthetic".

    Returns:
        The dataset.

    Raises:
        NameNotFoundError: If there is no such dataset.
        ArgumentError: If its loader does not take an option.
        DataFileError: If its file is not available, or is not the published one.
        MissingExtraError: If a package of the extra `experiment` is not installed.

    Example:
        >>> load("synthetic", n=500, seed=3)
        Dataset('synthetic', n=500, d_x=6, d_s=7)
    """
    loader = _LOADERS.get(name.lower())
    if loader is None:
        raise NameNotFoundError(
            f"Unknown dataset {name!r}.{did_you_mean(name, _LOADERS)} The datasets are "
            f"{', '.join(_LOADERS)}."
        )
    known = inspect.signature(loader).parameters
    if unknown := [option for option in options if option not in known]:
        raise ArgumentError(
            f"`options` of {name!r} must be among {', '.join(known) or 'none'}; got "
            f"{', '.join(unknown)}. Leave it out."
        )
    return loader(**options)
