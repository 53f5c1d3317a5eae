"""A loss that remembers: small batches, and the gradient of large ones."""

import copy

import pytest
import torch

from batches import LOSSES, SMOOTH_PROJECTIONS, VIOLATIONS, sample
from fairret.errors import RangeError, ShapeError
from fairret.loss import KLProjectionLoss, NormLoss, ProjectionLoss, SmoothMaxLoss
from fairret.loss.memory import Memory

N, SIZE = 6000, 32
REMEMBERING = (*VIOLATIONS, *SMOOTH_PROJECTIONS)
PEOPLE = sample(N, "three", seed=2)


def take(rows):
    return type(PEOPLE)(*(x[rows] for x in PEOPLE))


def evaluate(loss, batch):
    logit = batch.logit.clone().requires_grad_()
    value = loss(logit, *batch[1:])
    value.backward()
    return value.item(), len(logit) * logit.grad


def stream(loss, steps, seed=0):
    """Values of small batches, and how far their gradients are from those of all."""
    rng = torch.Generator().manual_seed(seed)
    _, whole = evaluate(copy.deepcopy(loss).eval(), PEOPLE)
    values, errors = [], []
    for _ in range(steps):
        rows = torch.randint(N, (SIZE,), generator=rng)
        value, grad = evaluate(loss, take(rows))
        values.append(value)
        errors.append((grad - whole[rows]).square().mean() / whole.square().mean())
    return torch.tensor(values), torch.stack(errors)


@pytest.mark.parametrize("name", ["pr", "ppv", "fn_fp"])
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_small_batches_have_the_gradient_of_all_rows(loss_cls, name):
    expected, _ = evaluate(loss_cls(name), PEOPLE)
    values, errors = stream(loss_cls(name, memory=4096), 300)
    plain_values, plain_errors = stream(loss_cls(name), 40)
    assert errors[-100:].mean() < 0.3
    assert errors[-100:].mean() < 0.05 * plain_errors.mean()
    assert 0.3 < values[-100:].mean() / expected < 1.8
    assert plain_values.mean() / expected > 1.9


@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_multipliers_come_back_from_far_away(loss_cls):
    loss = loss_cls("pr", memory=1000)
    stream(loss, 40)
    loss.memory.nu += torch.linspace(-9, 9, len(loss.memory.nu))
    assert stream(loss, 20)[1].mean() > 1
    assert stream(loss, 500)[1][-50:].mean() < 0.1


@pytest.mark.parametrize("name", ["pr", "ppv"])
@pytest.mark.parametrize("loss_cls", VIOLATIONS)
def test_violation_of_small_batches_is_that_of_all_rows(loss_cls, name):
    expected, _ = evaluate(loss_cls(name), PEOPLE)
    values, errors = stream(loss_cls(name, memory=4096), 300)
    plain_values, plain_errors = stream(loss_cls(name), 40)
    assert values[-100:].mean() < 1.5 * expected
    assert plain_values.mean() > 2.5 * expected
    assert errors[-100:].mean() < plain_errors.mean()


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_batch_as_long_as_the_memory_stands_for_itself(loss_cls):
    loss = loss_cls("ppv", memory=100)
    for start in (0, 100, 200):
        batch = take(slice(start, start + 100))
        value, grad = evaluate(loss, batch)
        expected, plain = evaluate(loss_cls("ppv"), batch)
        assert value == pytest.approx(expected, rel=1e-12)
        torch.testing.assert_close(grad, plain)


@pytest.mark.parametrize("gradient", ["paper", "exact"])
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_same_batch_again_and_again_is_projected_exactly(loss_cls, gradient):
    batch = take(slice(0, 300))
    loss = loss_cls("ppv", memory=301, gradient=gradient)
    for _ in range(60):
        value, grad = evaluate(loss, batch)
    expected, plain = evaluate(loss_cls("ppv", gradient=gradient), batch)
    assert value == pytest.approx(expected, rel=1e-4)
    torch.testing.assert_close(grad, plain, rtol=1e-2, atol=1e-4)


def test_first_batches_count_alike():
    loss, rows = NormLoss("pr", memory=10**6), torch.arange(N)
    for part in rows[:960].split(SIZE):
        value, _ = evaluate(loss, take(part))
    assert value == pytest.approx(evaluate(NormLoss("pr"), take(rows[:960]))[0])


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


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_remembering_loss_compiles_without_a_graph_break(loss_cls):
    torch._dynamo.reset()
    loss = loss_cls("ppv", memory=500)
    evaluate(loss, take(slice(20)))  # which tells how many groups there are
    same = copy.deepcopy(loss)
    compiled = torch.compile(same, fullgraph=True, backend="aot_eager")
    expected, found = stream(loss, 6)[0], []
    rng = torch.Generator().manual_seed(0)
    for _ in range(6):
        rows = torch.randint(N, (SIZE,), generator=rng)
        found.append(evaluate(compiled, take(rows))[0])
    torch.testing.assert_close(torch.tensor(found), expected)


def test_loss_must_see_a_batch_before_it_is_compiled():
    torch._dynamo.reset()
    loss = NormLoss("pr", memory=9)
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


def test_constraints_out_of_reach_leave_the_loss_finite():
    batch = sample(30, "three", seed=0)
    assert KLProjectionLoss("tpr+ppv").project(*batch).status.name == "INFEASIBLE"
    loss = KLProjectionLoss("tpr+ppv", memory=60, gradient="exact")
    for _ in range(500):
        value, grad = evaluate(loss, batch)
    assert 0 < value < 10
    assert grad.isfinite().all()


def test_absent_groups_and_classes_leave_the_loss_finite():
    for name in ("pr", "tpr", "ppv", "fn_fp"):
        for make in (SmoothMaxLoss, KLProjectionLoss):
            loss = make(name, memory=200)
            for row in range(40):
                value, grad = evaluate(loss, take(slice(row, row + 1)))
                assert torch.tensor(value).isfinite()
                assert grad.isfinite().all()


def test_value_that_is_not_finite_is_not_remembered():
    memory, one = Memory(100), torch.ones(2, dtype=torch.float64)
    memory.mix("x", one, memory.share_of(one.sum()))
    seen = memory.mix("x", one * torch.nan, memory.share_of(one.sum()))
    assert seen.isnan().all()
    assert memory.recall("x", one).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("memory", [-1, 1.5, True, "long", 2**60])
@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_memory_that_is_no_number_of_rows_is_refused(loss_cls, memory):
    with pytest.raises(RangeError, match="`memory` must be a whole number of rows"):
        loss_cls("pr", memory=memory)


def test_total_variation_cannot_remember():
    with pytest.raises(RangeError, match="`memory` must be 0 for TotalVariation"):
        ProjectionLoss("pr", "tv", memory=100)
    assert len(REMEMBERING) == len(LOSSES) - 1
