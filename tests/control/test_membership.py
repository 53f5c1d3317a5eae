"""Estimates of groups from features: how good, and where they cannot be."""

import copy

import pytest
import torch
from torch import nn

from control.crowd import Crowd, First, N, true_network, violation_of
from fairret.control import control_network, find_rule
from fairret.control.boosting import BoostedGroups
from fairret.control.membership import GroupNetwork
from fairret.errors import ArgumentError

pytestmark = pytest.mark.slow  # trains many networks


@pytest.mark.parametrize("q", ["head", GroupNetwork(2, 2, (8,))], ids=["head", "own"])
def test_other_estimates_of_groups_keep_the_tolerance(crowd, q):
    rule = control_network(
        true_network(),
        crowd.data,
        notion="tpr",
        max_violation=0.1,
        q=q,
        refit=False,
        compare=False,
        adapt=False,
    )
    assert violation_of(rule(crowd.feat).decision, crowd, "tpr") <= 0.1


def test_fitted_estimates_are_as_good_as_the_true_ones(crowd, blind):
    best = find_rule(
        torch.sigmoid(crowd.logit),
        crowd.sens,
        crowd.label,
        max_violation=0.1,
        q=(crowd.q, crowd.q),
        adapt=False,
    )
    # two standard errors of the accuracy of 1500 people are 0.024
    assert blind.solution.accuracy > best.accuracy - 0.024


def test_estimates_follow_shares_of_membership(crowd):
    """S in [0, 1], as for an amount or a guess of a group."""
    sens = 0.25 + 0.5 * crowd.sens
    rule = control_network(
        true_network(),
        (crowd.feat, sens, crowd.label),
        max_violation=0.1,
        refit=False,
        compare=False,
    )
    q = rule.read(crowd.feat).groups
    true = 0.25 + 0.5 * crowd.q
    assert float((q - torch.cat((true, true), 1)).abs().mean()) < 0.03


def test_boosting_decides_but_is_no_torch_module(crowd):
    pytest.importorskip("sklearn")
    rule = control_network(
        true_network(),
        crowd.data,
        max_violation=0.1,
        q="boosting",
        refit=False,
        compare=False,
    )
    assert rule.solution.status == "met"
    decision, _ = rule(crowd.feat)
    assert decision.shape == (N,)
    with pytest.raises(ArgumentError, match="not a pure torch module"):
        rule.state_dict()
    with pytest.raises(ArgumentError, match="cannot be compiled, exported"):
        torch.export.export(rule, (crowd.feat,))
    copied = copy.deepcopy(rule)
    assert torch.equal(copied(crowd.feat).decision, decision)


def test_boosting_estimates_amounts_and_constant_columns(crowd):
    pytest.importorskip("sklearn")
    amount = crowd.sens[:, 1] * 0.5
    amount[::7] = torch.nan
    sens = torch.column_stack((amount, torch.zeros(N)))
    trees = BoostedGroups()
    trees.fit(crowd.feat, sens, crowd.label, torch.ones(N), seed=0)
    q = torch.sigmoid(trees(crowd.feat))
    known = ~amount.isnan()
    error = (q[:, 2] - 0.5 * crowd.q[:, 1])[known].abs().mean()
    assert float(error) < 0.06
    assert float(q[:, 1].max()) < 1e-5


def test_features_that_determine_a_group_are_named():
    clear = Crowd(flag=1.0)
    with pytest.warns(UserWarning, match="young, old .*is informed in effect"):
        rule = control_network(
            true_network(),
            clear.data,
            max_violation=0.1,
            refit=False,
            names=["young", "old"],
        )
    both = rule.comparison
    assert abs(both.blind.accuracy - both.informed.accuracy) < 0.01


def test_features_that_say_nothing_about_a_group_are_named():
    vague = Crowd(4000, shift=0.15, flag=0.5)
    with pytest.warns(UserWarning, match="hardly tell who .*treating everybody alike"):
        control_network(
            true_network(),
            vague.data,
            max_violation=0.02,
            refit=False,
            compare=False,
            adapt=False,
        )


def test_heads_need_a_linear_layer(crowd):
    with pytest.raises(ArgumentError, match="needs a network that ends in"):
        control_network(First(), crowd.data, max_violation=0.1, q="head")


def test_whole_numbers_need_a_module_of_the_user(crowd):
    network = nn.Sequential(nn.Embedding(50, 3), nn.Flatten(), nn.Linear(6, 1))
    words = (crowd.feat * 5 + 20).long().clamp(0, 49)
    data = words, crowd.sens, crowd.label
    with pytest.raises(ArgumentError, match="`q` must be a module of your own"):
        control_network(network, data, max_violation=0.3)
    options = {"q": "head", "refit": False, "compare": False, "max_violation": 0.3}
    rule = control_network(network, data, **options)
    assert rule(words).decision.shape == (N,)
