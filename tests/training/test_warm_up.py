"""A warm-up that several terms share leaves every bit as it was."""

from dataclasses import replace

import pytest
import torch

from fairret.lab.baseline import AdversarialDebiasingLoss
from fairret.loss import KLProjectionLoss
from fairret.training import train, warm_up


def make_adversary():
    torch.manual_seed(0)
    return AdversarialDebiasingLoss(2, 5)


TERMS = {
    "none": lambda: None,
    "KL": lambda: KLProjectionLoss("pr"),
    "an adversary": make_adversary,
}


def same(one, two):
    pairs = zip(one.network.parameters(), two.network.parameters(), strict=True)
    return all(torch.equal(x, y) for x, y in pairs) and one.losses == two.losses


@pytest.mark.parametrize("validation", [0.0, 0.25])
@pytest.mark.parametrize("name", TERMS)
def test_shared_warm_up_changes_no_bit(split, quick, name, validation):
    settings = replace(quick, warm_up=3, epochs=6)
    split = type(split)(*(x and x._replace(sens=x.sens[:, :2]) for x in split))
    if validation:
        split = split._replace(validation=split.test)
    whole = train(split, TERMS[name](), 1.0, settings, seed=4)
    start = warm_up(split, settings, seed=4)
    for _ in range(2):  # the first must not spoil the start of the second
        rest = train(split, TERMS[name](), 1.0, settings, seed=4, start=start)
        assert same(whole, rest)
        assert whole.epoch == rest.epoch
        assert rest.seconds > start.seconds


def test_warm_up_may_last_to_the_end(split, quick):
    settings = replace(quick, warm_up=9, epochs=4)
    start = warm_up(split, settings, seed=1)
    assert len(start.losses) == 4
    whole = train(split, None, 0.0, settings, seed=1)
    assert same(whole, train(split, None, 0.0, settings, seed=1, start=start))
