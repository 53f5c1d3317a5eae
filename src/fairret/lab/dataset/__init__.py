"""Data for experiments: the paper's four datasets, and a simulated population."""

from fairret.lab.dataset.acs_income import load_acs_income
from fairret.lab.dataset.bank import load_bank
from fairret.lab.dataset.catalogue import (
    TITLES,
    dataset_names,
    load,
    load_synthetic,
    register,
)
from fairret.lab.dataset.credit_card import load_credit_card
from fairret.lab.dataset.law_school import load_law_school
from fairret.lab.dataset.synthetic import Population, synthetic_population
from fairret.lab.dataset.table import Card, Dataset, make_dataset
from fairret.lab.plugins import NameTakenError

__all__ = [
    "TITLES",
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
