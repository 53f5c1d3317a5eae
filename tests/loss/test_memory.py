"""A loss that remembers: small batches, and the gradient of large ones."""

import copy

import pytest
import torch
from torch.nn.functional import one_hot

from batches import LOSSES, SMOOTH_PROJECTIONS, VIOLATIONS, Sample, sample
from fairret.errors import RangeError, ShapeError
from fairret.loss import KLProjectionLoss, NormLoss, ProjectionLoss, SmoothMaxLoss
from fairret.loss.memory import Memory

N, SIZE = 6000, 32
REMEMBERING = (*VIOLATIONS, *SMOOTH_PROJECTIONS)
PEOPLE = sample(N, "three", seed=2)


def take(rows, people=PEOPLE):
    return type(people)(*(x[rows] for x in people))


def with_many_groups(d, seed):
    """Two traits of d groups each, the last four times as large as the first."""
    rng = torch.Generator().manual_seed(seed)
    sizes = torch.linspace(1, 4, d).expand(2, d)
    codes = torch.multinomial(sizes, N, replacement=True, generator=rng)
    effect = torch.randn(2, d, generator=rng, dtype=torch.float64)
    own = 0.5 * effect[0, codes[0]] + 0.3 * effect[1, codes[1]]
    logit = own + 1.2 * torch.randn(N, generator=rng, dtype=torch.float64) - 1
    label = (torch.rand(N, generator=rng) < logit.sigmoid()).double()
    return Sample(logit, one_hot(codes.T, d).flatten(1).double(), label)


def evaluate(loss, batch):
    logit = batch.logit.clone().requires_grad_()
    value = loss(logit, *batch[1:])
    value.backward()
    return value.item(), len(logit) * logit.grad


def stream(loss, steps, seed=0, people=PEOPLE):
    """Values of small batches, and how far their gradients are from those of all."""
    rng = torch.Generator().manual_seed(seed)
    _, whole = evaluate(copy.deepcopy(loss).eval(), people)
    values, errors = [], []
    for _ in range(steps):
        rows = torch.randint(N, (SIZE,), generator=rng)
        value, grad = evaluate(loss, take(rows, people))
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
    assert 0.7 < values[-100:].mean() / expected < 1.4
    assert plain_values.mean() / expected > 1.9


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("loss_cls", SMOOTH_PROJECTIONS)
def test_more_groups_than_rows_of_a_batch_do_not_drive_it_away(loss_cls, seed):
    people = with_many_groups(45, seed)
    expected, _ = evaluate(loss_cls("pr"), people)
    values, errors = stream(loss_cls("pr", memory=4096), 300, seed, people)
    assert errors[:50].mean() < 1
    assert errors[-50:].mean() < 0.15
    assert 0.7 < values[-50:].mean() / expected < 1.3


def test_multipliers_of_hundreds_of_groups_are_found_without_a_factorisation():
    people = with_many_groups(150, seed=0)
    expected, _ = evaluate(KLProjectionLoss("pr"), people)
    values, errors = stream(KLProjectionLoss("pr", memory=4096), 300, 0, people)
    assert errors[-50:].mean() < 0.4
    assert 0.4 < values[-50:].mean() / expected < 1.3


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


@pytest.mark.parametrize("loss_cls", REMEMBERING)
def test_short_batch_after_long_ones_is_one_of_theirs(loss_cls):
    loss = loss_cls("ppv", memory=2000)
    for start in (0, 2000):
        evaluate(loss, take(slice(start, start + 2000)))
    value, _ = evaluate(loss, take(slice(4000, 4100)))
    expected, _ = evaluate(loss_cls("ppv"), take(slice(2000, 4100)))
    alone, _ = evaluate(loss_cls("ppv"), take(slice(4000, 4100)))
    assert abs(value - expected) < 0.2 * abs(alone - expected)


def test_weights_count_as_rows_do():
    loss, rows = NormLoss("ppv", memory=10**6), take(slice(600))
    weight = torch.linspace(0, 3, 600, dtype=torch.float64)
    for own in torch.arange(600).split(100):
        part = take(own)
        value = loss(part.logit.requires_grad_(), *part[1:], weight=weight[own])
    expected = NormLoss("ppv")(*rows, weight=weight)
    torch.testing.assert_close(value, expected)


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
    assert {x.dtype for x in loss.memory.rooms()} == {torch.float64}


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
    with pytest.raises(RuntimeError, match="group_num"):
        projection.load_state_dict(violations.state_dict())
    with pytest.raises(RuntimeError, match=r"Missing key.*memory\.den"):
        violations.load_state_dict({"memory.seen": violations.memory.seen})


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
    memory, one = Memory(100, ["x"]), torch.ones(2, dtype=torch.float64)
    memory.mix("x", one, memory.share_of(one.sum(), one))
    bad = one * torch.nan
    seen = memory.mix("x", bad, memory.share_of(one.sum(), bad))
    assert seen.isnan().all()
    assert memory.recall("x", one).tolist() == [1.0, 1.0]
    assert memory.seen == 2


@pytest.mark.parametrize("memory", [-1, 1.5, True, "long", 2**60])
@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_memory_that_is_no_number_of_rows_is_refused(loss_cls, memory):
    with pytest.raises(RangeError, match="`memory` must be a whole number of rows"):
        loss_cls("pr", memory=memory)


def test_total_variation_cannot_remember():
    with pytest.raises(RangeError, match="`memory` must be 0 for TotalVariation"):
        ProjectionLoss("pr", "tv", memory=100)
    assert len(REMEMBERING) == len(LOSSES) - 1
