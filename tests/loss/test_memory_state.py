"""What a loss remembers: kept, loaded, compiled, and left alone in an evaluation."""

import copy

import pytest
import torch

from fairret.errors import ShapeError, StateError
from fairret.loss import KLProjectionLoss, NormLoss
from fairret.loss.memory import Memory
from fairret.statistic import ConditionalPositiveRate
from small_stream import (
    REMEMBERING,
    SIZE,
    N,
    evaluate,
    stream,
    take,
    with_many_groups,
)


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_evaluation_neither_uses_nor_changes_the_memory(loss_cls):
    loss = loss_cls("pr", memory=500)
    stream(loss, 5)
    before = copy.deepcopy(loss.state_dict())
    loss.eval()
    batch = take(slice(50))
    assert evaluate(loss, batch)[0] == evaluate(loss_cls("pr"), batch)[0]
    after = loss.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_batch_without_a_gradient_stands_for_itself(loss_cls, mode):
    loss, batch = loss_cls("pr", memory=500), take(slice(50))
    with mode():
        first = loss(*batch)
    assert first == loss_cls("pr")(*batch)
    assert not loss.memory.seen
    stream(loss, 2)
    assert loss.memory.seen == 2 * SIZE


@pytest.mark.parametrize("cast", ["float", "half", "bfloat16"])
@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_cast_of_the_model_leaves_the_memory_as_it_is(loss_cls, cast):
    loss, plain = loss_cls("ppv", memory=500), loss_cls("ppv", memory=500)
    getattr(loss, cast)()
    assert torch.equal(stream(loss, 3)[0], stream(plain, 3)[0])
    getattr(loss, cast)()
    assert torch.equal(stream(loss, 3)[0], stream(plain, 3)[0])
    assert {x.dtype for x in loss.memory.kept()} == {torch.float64}


@pytest.mark.filterwarnings("ignore:for memory.*:UserWarning")  # meta has no numbers
def test_state_is_loaded_to_the_device_of_the_loss():
    loss = KLProjectionLoss("pr", memory=500)
    stream(loss, 3)
    elsewhere = KLProjectionLoss("pr", memory=500).to("meta")
    elsewhere.load_state_dict(loss.state_dict())
    assert {x.device.type for x in elsewhere.buffers()} == {"meta"}


def test_state_of_another_loss_is_refused():
    violations, projection = (
        NormLoss("pr", memory=500),
        KLProjectionLoss("pr", memory=500),
    )
    stream(violations, 2)
    with pytest.raises(StateError, match="got that of 'pr' for 'pr, KullbackLeibler"):
        projection.load_state_dict(violations.state_dict())
    with pytest.raises(RuntimeError, match=r"Missing key.*memory\.den"):
        violations.load_state_dict({"memory.seen": violations.memory.seen})


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_state_of_another_statistic_is_refused(loss_cls):
    loss, other = loss_cls("tpr", memory=500), loss_cls("ppv", memory=500)
    stream(loss, 2)
    for strict in (True, False):
        with pytest.raises(StateError, match=r"got that of 'tpr.* for 'ppv.*\. Load"):
            torch.nn.Sequential(other).load_state_dict(
                torch.nn.Sequential(loss).state_dict(), strict=strict
            )
    assert not other.memory.seen


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_state_of_an_older_version_does_not_say_its_statistic(loss_cls):
    loss, again = loss_cls("tpr", memory=500), loss_cls("tpr", memory=500)
    stream(loss, 2)
    state = loss.state_dict()
    assert bytes(state.pop("memory.statistic").tolist()).startswith(b"tpr")
    again.load_state_dict(state)
    assert torch.equal(stream(again, 2)[0], stream(loss, 2)[0])
    own = loss.state_dict()["memory.statistic"]
    assert torch.equal(again.state_dict()["memory.statistic"], own)


def test_state_of_a_statistic_with_a_function_can_be_loaded_elsewhere():
    one, other = (
        NormLoss(ConditionalPositiveRate(lambda feat: feat > 0), memory=9)
        for _ in range(2)
    )
    logit, sens, feat = take(slice(20))
    logit = logit.clone().requires_grad_()
    one(logit, feat, sens, None)
    other.load_state_dict(one.state_dict())
    assert one(logit, 1 - feat, sens, None) == other(logit, 1 - feat, sens, None) > 0


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_memory_is_part_of_the_state(loss_cls):
    loss = loss_cls("tpr+ppv", memory=500)
    stream(loss, 7)
    again = loss_cls("tpr+ppv", memory=500)
    again.load_state_dict(loss.state_dict())
    copied = copy.deepcopy(loss)
    expected = stream(loss, 3, seed=1)[0]
    assert torch.equal(stream(again, 3, seed=1)[0], expected)
    assert torch.equal(stream(copied, 3, seed=1)[0], expected)
    fresh = loss_cls("tpr+ppv", memory=500)
    assert not torch.equal(stream(fresh, 3, seed=1)[0], expected)
    loss.memory.forget()
    fresh = loss_cls("tpr+ppv", memory=500)
    assert torch.equal(stream(loss, 3, seed=1)[0], stream(fresh, 3, seed=1)[0])


def test_loss_without_a_memory_has_no_state():
    assert NormLoss("pr").memory is None
    assert not KLProjectionLoss("pr").state_dict()


@pytest.mark.compile
@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_remembering_loss_compiles_without_a_graph_break(loss_cls):
    torch._dynamo.reset()
    loss = loss_cls("ppv", memory=500)
    evaluate(loss, take(slice(20)))  # which tells how many groups there are
    same = copy.deepcopy(loss)
    compiled = torch.compile(same, fullgraph=True, backend="aot_eager")
    rng = torch.Generator().manual_seed(0)
    for _ in range(6):
        batch = take(torch.randint(N, (SIZE,), generator=rng))
        value, grad = evaluate(loss, batch)
        found, other = evaluate(compiled, batch)
        assert found == pytest.approx(value)
        torch.testing.assert_close(other, grad)


@pytest.mark.compile
def test_remembering_projection_of_many_groups_compiles():
    torch._dynamo.reset()
    people = with_many_groups(20, seed=0)
    loss = KLProjectionLoss("pr", memory=90)
    evaluate(loss, take(slice(20), people))
    compiled = torch.compile(copy.deepcopy(loss), fullgraph=True, backend="aot_eager")
    for size in (30, 100, 30):  # the second stands for itself
        batch = take(slice(size), people)
        value, grad = evaluate(loss, batch)
        same, other = evaluate(compiled, batch)
        assert same == pytest.approx(value)
        torch.testing.assert_close(other, grad)


@pytest.mark.compile
@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_loss_must_see_a_batch_before_it_is_compiled(loss_cls):
    torch._dynamo.reset()
    loss = loss_cls("pr", memory=9)
    compiled = torch.compile(loss, fullgraph=True, backend="eager")
    with pytest.raises(Exception, match="must see a batch before it is compiled"):
        compiled(*take(slice(5)))


@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_other_groups_in_a_later_batch_are_refused(loss_cls):
    loss = loss_cls("pr", memory=100)
    logit, sens, label = take(slice(20))
    loss(logit, sens, label)
    with pytest.raises(ShapeError, match="`sens` must have the same columns in all"):
        loss(logit, sens[:, 1:], label)
    loss.memory.forget()
    loss(logit, sens[:, 1:], label)


def test_value_that_is_not_finite_is_not_remembered():
    memory, one = Memory(100, ["x"]), torch.ones(2, dtype=torch.float64)
    memory.mix("x", one, memory.add_rows(one.sum(), one))
    bad = one * torch.nan
    seen = memory.mix("x", bad, memory.add_rows(one.sum(), bad))
    assert seen.isnan().all()
    assert memory.recall("x", one).tolist() == [1.0, 1.0]
    assert memory.seen == 2
