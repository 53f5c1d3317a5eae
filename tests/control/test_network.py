"""A network, its data and a tolerance become one module that decides."""

import copy
import dataclasses
import re

import pytest
import torch
from torch import nn

from control.crowd import Crowd, N, true_network, violation_of
from fairret.control import control_network, find_rule
from fairret.errors import ArgumentError, DtypeError, RangeError, ShapeError
from fairret.statistic import ConditionalPositiveRate, get_statistic

pytestmark = pytest.mark.slow  # trains many networks


def test_blind_decisions_are_within_the_tolerance(crowd, blind):
    decision, margin = blind(crowd.feat)
    assert blind.solution.status == "met"
    assert violation_of(decision, crowd, "pr") <= 0.1
    assert torch.equal(decision, (margin > 0).double())
    assert torch.equal(decision, blind.solution.decisions)


def test_informed_decisions_are_within_the_tolerance(crowd, informed):
    decision, _ = informed(crowd.feat, crowd.sens)
    assert informed.solution.status == "met"
    assert violation_of(decision, crowd, "pr") <= 0.1


def test_refit_is_kept_only_if_more_accurate(crowd, blind):
    rule = control_network(
        true_network(), crowd.data, max_violation=0.1, compare=False, adapt=False
    )
    gained = rule.solution.accuracy - blind.solution.accuracy
    assert gained > 0 if rule.refit is not None else gained == 0
    assert violation_of(rule(crowd.feat).decision, crowd, "pr") <= 0.1


def test_rule_lends_its_memberships_to_another_tolerance(crowd, blind):
    other = control_network(
        true_network(), crowd.data, max_violation=0.2, q=blind, compare=False, seed=5
    )
    fresh = control_network(
        true_network(), crowd.data, max_violation=0.2, compare=False, seed=0
    )
    assert torch.equal(other.read(crowd.feat).groups, blind.read(crowd.feat).groups)
    assert other.groups is not blind.groups
    assert other.solution.accuracy == pytest.approx(fresh.solution.accuracy, abs=0.01)


def test_informed_rule_has_no_memberships_to_lend(crowd, informed):
    with pytest.raises(ArgumentError, match="`q` must be a blind rule whose"):
        control_network(true_network(), crowd.data, max_violation=0.2, q=informed)


class Noise(nn.Module):
    """Large margins that have nothing to do with the target."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))

    def forward(self, feat):
        return 9 * torch.sin(1e4 * feat[:, 0]) + 0 * self.weight


def test_a_worse_refit_is_not_kept(crowd, blind):
    rule = control_network(
        true_network(),
        crowd.data,
        max_violation=0.1,
        refit=Noise(),
        compare=False,
        adapt=False,
    )
    assert rule.refit is None
    assert rule.solution.accuracy == blind.solution.accuracy


def test_a_useful_refit_is_averaged_with_the_rule():
    """A network that misses a feature, and a second one that sees it."""
    crowd = Crowd(shift=0.8)
    hidden = torch.randn(N, generator=torch.Generator().manual_seed(5))
    feat = torch.column_stack((crowd.feat, hidden))
    label = (torch.sigmoid(crowd.logit + 3 * hidden) > 0.5).float()
    network = nn.Linear(3, 1)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[1.5, 0.0, 0.0]]))
        network.bias.fill_(-0.6)
    options = {"max_violation": 0.1, "compare": False, "adapt": False}
    data = feat, crowd.sens, label
    plain = control_network(network, data, refit=False, **options)
    rule = control_network(network, data, refit=True, **options)
    assert rule.refit is not None
    assert rule.solution.accuracy > plain.solution.accuracy + 0.05
    assert torch.equal(rule(feat).decision, rule.solution.decisions)
    logit, q = rule.read(feat)
    first = rule.solution.rule.margin(torch.sigmoid(logit), q=q.chunk(2, 1))
    both = (first + rule.refit(feat)) / 2
    torch.testing.assert_close(rule(feat).margin, both, atol=1e-6, rtol=0)


def test_the_network_of_the_user_stays_as_it_was(crowd):
    network = nn.Sequential(nn.Linear(2, 4), nn.Dropout(), nn.Linear(4, 1)).train()
    before = copy.deepcopy(network.state_dict())
    rng = torch.get_rng_state()
    options = {"max_violation": 0.2, "q": "head", "refit": False, "compare": False}
    rule = control_network(network, crowd.data, **options)
    assert torch.equal(torch.get_rng_state(), rng)
    assert all(m.training for m in network.modules())
    assert all(p.requires_grad for p in network.parameters())
    assert not any(m._forward_pre_hooks for m in network.modules())
    torch.testing.assert_close(network.state_dict(), before, atol=0, rtol=0)
    assert not any(m.training for m in rule.train().modules())  # no dropout, ever
    with torch.no_grad():
        network[0].weight.fill_(0)
    assert float(rule.network[0].weight.abs().min()) > 0


def test_fit_rows_fit_the_rule(crowd):
    other = Crowd(900, seed=7)
    rule = control_network(
        true_network(),
        crowd.data,
        max_violation=0.1,
        refit=False,
        compare=False,
        adapt=False,
        fit_rows=other.data,
    )
    assert len(rule.solution.decisions) == 900
    assert violation_of(rule(other.feat).decision, other, "pr") <= 0.1


def test_features_may_have_more_dimensions_and_traits_may_be_missing(crowd):
    sens = crowd.sens.clone()
    sens[::9] = torch.nan
    network = nn.Sequential(nn.Flatten(), true_network())
    data = crowd.feat[:, :, None], sens, crowd.label
    rule = control_network(network, data, max_violation=0.1, compare=False)
    assert rule.solution.status == "met"
    assert len(rule(crowd.feat[:5, :, None]).decision) == 5


def test_weights_count_rows(crowd):
    """A weight of 2 is a row twice, for the solver and for the estimates of groups."""
    weight = 1 + crowd.label
    rule = control_network(
        true_network(),
        (*crowd.data, weight),
        max_violation=0.1,
        refit=False,
        compare=False,
        adapt=False,
    )
    decision = rule(crowd.feat).decision
    statistic = get_statistic("pr")
    gamma = statistic(decision, crowd.sens, weight=weight)
    overall = statistic.overall(decision, weight=weight)
    assert float((gamma / overall - 1).abs().max()) <= 0.1


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
def test_networks_of_any_precision_are_controlled(crowd, dtype):
    feat = crowd.feat.to(dtype)
    rule = control_network(
        true_network().to(dtype),
        (feat, crowd.sens, crowd.label),
        max_violation=0.1,
        compare=False,
        adapt=False,
    )
    assert violation_of(rule(feat).decision, crowd, "pr") <= 0.1


def test_the_other_choice_is_stated(crowd, blind):
    both = blind.comparison
    assert both.blind.accuracy == blind.solution.accuracy
    assert both.informed.accuracy > both.blind.accuracy
    assert re.fullmatch(r"blind 0\.\d{3}, informed 0\.\d{3}", str(both))
    assert str(both) in blind.report
    other = control_network(
        true_network(), crowd.data, max_violation=0.1, informed=True, adapt=False
    )
    # the comparison of an informed rule refits the blind one, which may gain
    assert other.comparison.blind.accuracy >= both.blind.accuracy
    assert other.comparison.informed == both.informed


def test_a_tolerance_that_was_not_met_is_a_warning(crowd, monkeypatch):
    def miss(*args, **options):
        return dataclasses.replace(find_rule(*args, **options), status="missed")

    monkeypatch.setattr("fairret.control.network.find_rule", miss)
    with pytest.warns(
        UserWarning, match=r"\(max_violation 0.1\) was not met on the fit"
    ):
        rule = control_network(
            true_network(), crowd.data, max_violation=0.1, informed=True, compare=False
        )
    assert "was not met" in rule.report


class Constant(nn.Module):
    def forward(self, feat):
        return feat[:, 0] * 0


class Pair(nn.Module):
    def forward(self, feat):
        return feat[:, 0], feat


class Undefined(nn.Module):
    def forward(self, feat):
        return feat[:, 0].log()


@pytest.mark.parametrize(
    ("network", "error", "message"),
    [
        (nn.Linear(2, 3), ShapeError, r"one number per row.* got \(1500, 3\)"),
        (Pair(), DtypeError, "as a tensor; got tuple"),
        (Constant(), RangeError, "must vary"),
        (Undefined(), RangeError, "finite logits; got"),
        (torch.sigmoid, DtypeError, "must be an nn.Module; got builtin"),
    ],
    ids=["outputs", "tuple", "constant", "nan", "function"],
)
def test_networks_that_give_no_logits_are_refused(crowd, network, error, message):
    with pytest.raises(error, match=message):
        control_network(network, crowd.data, max_violation=0.1)


def test_probabilities_in_the_place_of_logits_are_noticed(crowd):
    network = nn.Sequential(true_network(), nn.Sigmoid())
    with pytest.warns(UserWarning, match="look like probabilities"):
        control_network(
            network, crowd.data, max_violation=0.1, informed=True, compare=False
        )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"q": "heads"}, ArgumentError, "Did you mean 'head'"),
        ({"q": nn.Linear(2, 3)}, ShapeError, "must return 4 logits per row"),
        ({"refit": nn.Linear(2, 3)}, ShapeError, "`refit` must return one number"),
        ({"informed": True, "refit": True}, ArgumentError, "is for blind rules"),
        (
            {"notion": ConditionalPositiveRate(lambda feat: feat[:, 0] > 0)},
            ArgumentError,
            "needs feat too",
        ),
        ({"max_violation": None}, ArgumentError, "Pass one of `max_violation`"),
    ],
    ids=["q", "q module", "refit", "informed", "notion", "tolerance"],
)
def test_wrong_options_are_refused(crowd, change, error, message):
    options = {"max_violation": 0.1, **change}
    with pytest.raises(error, match=message):
        control_network(true_network(), crowd.data, **options)
