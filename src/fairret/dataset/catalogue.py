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
from fairret.errors import ArgumentError, NameNotFoundError
from fairret.sensitive import Categorical, Continuous


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
