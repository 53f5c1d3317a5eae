"""Data to try fairrets on: the paper's four datasets, and people who do not exist."""

from fairret.dataset.acs_income import load_acs_income
from fairret.dataset.bank import load_bank
from fairret.dataset.catalogue import (
    NameTakenError,
    dataset_names,
    load,
    load_synthetic,
    register,
)
from fairret.dataset.credit_card import load_credit_card
from fairret.dataset.law_school import load_law_school
from fairret.dataset.synthetic import Population, synthetic_population
from fairret.dataset.table import Card, Dataset, make_dataset

__all__ = [
    "Card",
    "Dataset",
    "NameTakenError",
    "Population",
    "dataset_names",
    "load",
    "load_acs_income",
    "load_bank",
    "load_credit_card",
    "load_law_school",
    "load_synthetic",
    "make_dataset",
    "register",
    "synthetic_population",
]
