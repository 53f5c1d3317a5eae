"""The rows of a case: the same test rows for all methods of a learner."""

from functools import partial

import pytest
import torch

from fairret.lab.dataset import load
from fairret.lab.tolerance import people
from fairret.lab.tolerance.people import Case, load_people
from fairret.training import split_rows

N, SEED = 500, 3


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(people, "load", partial(load, n=N, seed=1))
    for cached in (people.load_some, people.load_split):
        cached.cache_clear()
    yield
    for cached in (people.load_some, people.load_split):
        cached.cache_clear()


def case(method, traits="all"):
    return Case("synthetic", SEED, traits, method, "pr", 0.1)


def test_test_rows_are_those_of_an_experiment_and_all_others_fit_a_rule():
    data = load("synthetic", n=N, seed=1)
    rows = split_rows(data.feat, data.sens, data.label, seed=SEED)
    own = load_people(case("network"))
    assert torch.equal(own.test.label, rows.test.label)
    assert torch.equal(own.test.sens, rows.test.sens)
    assert len(own.fit.label) == len(rows.train.label)


def test_one_trait_has_its_columns_only():
    own, all_traits = (
        load_people(case("boosting", "region")),
        load_people(case("boosting")),
    )
    assert {name.split("=")[0] for name in own.names} == {"region"}
    assert own.traits == {"region": (0, 1, 2, 3)}
    assert torch.equal(own.fit.sens, all_traits.fit.sens[:, own.columns])


def test_trees_get_fewer_rows(monkeypatch):
    monkeypatch.setattr(people, "TREE_ROWS", 100)
    sizes = [len(load_people(case(m)).fit.label) for m in ("boosting", "network")]
    assert sizes == [80, 400]
