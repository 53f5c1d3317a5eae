"""Datasets by name, and the card that each of them carries."""

import subprocess
import sys

import pytest
import torch

from fairret.errors import ArgumentError, NameNotFoundError, RangeError
from fairret.lab.dataset import Card, Dataset, dataset_names, load, synthetic_population


def test_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(
        NameNotFoundError, match=r"Unknown dataset 'CreditCards'.*'creditcard'\? The"
    ):
        load("CreditCards")


def test_names_are_the_five():
    assert set(dataset_names()) == {
        *("bank", "creditcard", "lawschool", "acsincome", "synthetic"),
    }


def test_option_that_the_loader_does_not_take_is_refused():
    with pytest.raises(ArgumentError, match="must be among state; got seed"):
        load("acsincome", seed=3)
    with pytest.raises(ArgumentError, match="must be among none; got state"):
        load("Bank", state="CA")


def test_synthetic_people_are_the_same_as_a_dataset():
    data, people = load("synthetic", n=307, seed=5), synthetic_population(307, seed=5)
    assert isinstance(data, Dataset)
    assert len(data) == 307
    assert torch.equal(data.feat, people.feat)
    assert torch.equal(data.label, people.label)
    assert data.feat_names == people.feature_names
    assert data.traits == {"sex": (0, 1), "region": (2, 3, 4, 5), "age": (6,)}
    women = torch.from_numpy(people.traits["sex"] == "woman").float()
    assert torch.equal(data.sens[:, 0], women)
    assert data.card.group_sizes["sex=woman"] == int(women.sum())
    assert data.card.group_sizes["age"] is None


def test_loader_checks_its_own_options():
    with pytest.raises(RangeError, match="`n` must be at least 1"):
        load("synthetic", n=0)


def test_representation_is_short():
    assert repr(load("synthetic", n=11)) == "Dataset('synthetic', n=11, d_x=6, d_s=7)"


def test_card_reads_as_text():
    card = Card(
        title="Loans",
        source="a bank",
        licence="CC0",
        citation="Doe (2020)",
        rows=41_108,
        positives=4_628,
        group_sizes={"sex=female": 20_001, "age": None},
        paper_rows=41_188,
        paper_positives=4_640,
        notes=("Eighty rows are gone. " * 5,),
    )
    text = str(card).splitlines()
    assert text[:4] == [
        "Loans",
        "  rows       41 108; in the paper 41 188",
        "  positives  4 628 (11.3 %); in the paper 4 640",
        "  groups     sex=female 20 001, age",
    ]
    assert text[-2].startswith("  note       Eighty")
    assert max(map(len, text)) <= 88


def test_card_never_parts_a_group_from_its_size():
    sizes = {f"education=level {k}": 10_000 + k for k in range(20)}
    text = str(Card("a", "b", "c", "d", group_sizes=sizes))
    assert all(f"education=level {k} 10 {k:03}" in text for k in range(20))


@pytest.mark.process
def test_import_does_not_bring_pandas_or_pooch():
    code = (
        "import sys, fairret.lab.dataset; "
        "sys.exit(any(x in sys.modules for x in ('pandas', 'pooch', 'xlrd')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
