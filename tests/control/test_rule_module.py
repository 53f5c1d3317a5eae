"""A rule in a module decides as the rule does, saved, compiled and exported."""

import copy
import io

import pytest
import torch
from torch import nn

from control.conftest import draw_people
from control.crowd import Crowd, First, Rest
from fairret.control import RuleModule, find_rule, recalibrate
from fairret.control.membership import GroupNetwork
from fairret.errors import ArgumentError, RangeError, ShapeError
from fairret.training import Network


def test_module_agrees_with_its_rule(crowd, blind, informed):
    logit, q = blind.read(crowd.feat)
    eta = torch.sigmoid(logit)
    margin = blind.solution.rule.margin(eta, q=q.chunk(2, 1))
    torch.testing.assert_close(blind(crowd.feat).margin, margin, atol=1e-9, rtol=0)

    eta = recalibrate(eta, crowd.sens.double(), crowd.label)(eta, crowd.sens)
    margin = informed.solution.rule.margin(eta, sens=crowd.sens)
    found = informed(crowd.feat, crowd.sens).margin
    torch.testing.assert_close(found, margin, atol=1e-9, rtol=0)


@pytest.mark.parametrize("notion", ["tpr", "ppv", "fn_fp", "accuracy", "tpr+fpr"])
def test_every_rule_is_one_matrix(people, notion):
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        notion=notion,
        max_violation=0.2,
        q=people.q,
        threshold=0.45,
    )
    logits = torch.logit(torch.column_stack((people.eta, *people.q)))
    module = RuleModule(First(), Rest(), found.rule.names)
    module.write(found.rule)
    margin = found.rule.margin(people.eta, q=people.q)
    torch.testing.assert_close(module(logits).margin, margin, atol=1e-9, rtol=0)


def test_state_goes_into_a_fresh_module(crowd, blind):
    fresh = RuleModule(nn.Linear(2, 1), GroupNetwork(2, 2), blind.names)
    fresh.load_state_dict(blind.state_dict())
    assert torch.equal(fresh(crowd.feat).margin, blind(crowd.feat).margin)
    assert not any(p.requires_grad for p in fresh.parameters())


def test_saved_modules_decide_alike_and_hold_no_people(crowd, blind):
    file = io.BytesIO()
    torch.save(blind, file)
    assert file.tell() < 60_000  # the rows alone take 100 000 bytes
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    for other in (loaded, copy.deepcopy(blind)):
        assert torch.equal(other(crowd.feat).margin, blind(crowd.feat).margin)
        assert other.solution is None
        assert other.report == blind.report


def test_margins_in_single_precision_are_close(crowd, blind):
    single = copy.deepcopy(blind).to(torch.float32)
    margin = single(crowd.feat).margin
    assert margin.dtype == torch.float32
    close = blind(crowd.feat).margin.float()
    torch.testing.assert_close(margin, close, atol=1e-5, rtol=0)


@pytest.fixture(params=["blind", "head", "informed"])
def small_rule(request):
    """A rule of each kind that was not fitted, and its inputs."""
    feat, sens = Crowd(40).data[:2]
    network, names = Network(2, (8,)), ("a", "b")
    if request.param == "informed":
        return RuleModule(network, None, names, recalibrated=True), (feat, sens)
    if request.param == "head":
        return RuleModule(network, nn.Linear(8, 4), names, tapped="head"), (feat,)
    groups = GroupNetwork(2, 2)
    return RuleModule(network, groups, names, refit=Network(2, (8,))), (feat,)


@pytest.mark.compile
def test_rules_compile_as_one_graph(small_rule):
    rule, inputs = small_rule
    found = torch.compile(rule, fullgraph=True, backend="eager")(*inputs)
    torch.testing.assert_close(found, rule(*inputs))


def test_rules_are_exported_for_any_number_of_rows(small_rule):
    rule, inputs = small_rule
    shapes = tuple({0: torch.export.Dim("n", min=2)} for _ in inputs)
    program = torch.export.export(rule, inputs, dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    few = [x[:7] for x in inputs]
    torch.testing.assert_close(loaded(*few), rule(*few))


def test_decisions_need_what_the_rule_was_fitted_with(crowd, blind, informed):
    with pytest.raises(ArgumentError, match="decides without the groups"):
        blind(crowd.feat, crowd.sens)
    with pytest.raises(ArgumentError, match="decides with the groups"):
        informed(crowd.feat)
    with pytest.raises(ShapeError, match=r"shape \(n, 2\).* got \(1500, 1\)"):
        informed(crowd.feat, crowd.sens[:, :1])
    unknown = torch.full((3, 2), torch.nan)
    found = informed(crowd.feat[:3], unknown)
    torch.testing.assert_close(found, informed(crowd.feat[:3], torch.zeros(3, 2)))


def test_nobody_is_refused_for_missing_features(crowd, blind, informed):
    feat, sens = crowd.feat[:5].clone(), crowd.sens[:5]
    feat[3, 0] = torch.nan
    with pytest.raises(RangeError, match=r"`feat` must not lead to NaN; .* 1 of 5"):
        blind(feat)
    with pytest.raises(RangeError, match=r"no decision about them. Impute"):
        informed(feat, sens)
    with pytest.raises(RangeError, match="`eta` must not lead to NaN"):
        informed.solution.rule.decide(feat[:, 0] * 0 + 0.4, sens=sens)


def test_unfitted_modules_decide_as_the_network_does():
    people = draw_people(50, 3)
    module = RuleModule(First(), Rest(), ("a", "b", "c"))
    logits = torch.logit(torch.column_stack((people.eta, *people.q)))
    assert torch.equal(module(logits).decision, (people.eta > 0.5).double())
