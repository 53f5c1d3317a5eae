"""Modules, dtypes, devices, autocast and torch.compile."""

import copy
import io
import pickle

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from batches import LOSSES, PROJECTIONS, VIOLATIONS, sample
from fairret import device
from fairret.loss import KLProjectionLoss, NormLoss, TotalVariationProjectionLoss
from fairret.statistic import LinearFractionalStatistic

N = 26
BATCH = sample(N, "three", seed=1).to(torch.float32)
SMOOTH = [x for x in PROJECTIONS if x is not TotalVariationProjectionLoss]
HOST_READS = {
    *("_local_scalar_dense", "nonzero", "equal", "is_nonzero", "masked_select"),
    "item",  # as inference mode has it
}


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_losses_copy_and_pickle(loss_cls):
    loss = loss_cls("tpr+ppv", sharpness=2.0)
    expected = loss(*BATCH)
    buffer = io.BytesIO()
    torch.save(loss, buffer)
    buffer.seek(0)
    for other in (
        copy.deepcopy(loss),
        pickle.loads(pickle.dumps(loss)),
        torch.load(buffer, weights_only=False),
    ):
        assert other(*BATCH) == expected
        assert repr(other) == repr(loss)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_loss_has_no_state_to_save(loss_cls):
    assert loss_cls("tpr").state_dict() == {}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_narrow_dtypes_are_computed_in_float32(loss_cls, dtype):
    logit = BATCH.logit.clone().to(dtype).requires_grad_()
    loss = loss_cls("ppv")(logit, BATCH.sens.to(dtype), BATCH.label.to(dtype))
    assert loss.dtype == torch.float32
    loss.backward()
    assert logit.grad.dtype == dtype
    expected = loss_cls("ppv")(logit.detach().double(), *BATCH[1:])
    assert expected.dtype == torch.float64
    torch.testing.assert_close(loss.detach().double(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_autocast_does_not_lose_digits(loss_cls):
    expected = loss_cls("ppv")(*BATCH)
    with torch.autocast("cpu", torch.bfloat16):
        assert loss_cls("ppv")(*BATCH) == expected


class Costs(LinearFractionalStatistic):
    """A statistic that multiplies matrices."""

    def nom_slope(self, prices):
        return (prices @ torch.tensor([[0.7], [0.9]])).abs()

    def denom_intercept(self):
        return 1


@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_statistics_of_ones_own_keep_their_digits_under_autocast(loss_cls):
    prices = torch.randn(N, 2, generator=torch.Generator().manual_seed(0))
    loss = loss_cls(Costs())
    expected = loss(*BATCH, prices=prices)
    with torch.autocast("cpu", torch.bfloat16):
        assert loss(*BATCH, prices=prices) == expected


@pytest.mark.slow
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_forward_needs_no_value_of_the_device(loss_cls):
    """Meta tensors have no values: whatever would wait for the device fails on them."""
    batch = [x.to("meta") for x in BATCH]
    logit = batch[0].requires_grad_()
    loss = loss_cls("ppv")(logit, *batch[1:], weight=batch[2])
    assert loss.device.type == "meta"
    assert loss.shape == ()
    loss.backward()
    assert logit.grad.shape == logit.shape


class NoHostRead(TorchDispatchMode):
    """Raise where the host would wait for the device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.__name__.split(".")[0] not in HOST_READS, func
        return func(*args, **(kwargs or {}))


class Count(TorchDispatchMode):
    """Count kernels, and how often the host reads a number."""

    def __init__(self):
        super().__init__()
        self.kernels = self.reads = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.reads += func.__name__.split(".")[0] in HOST_READS
        self.kernels += not func.is_view
        return func(*args, **(kwargs or {}))


@pytest.fixture
def other_device(monkeypatch):
    """Run here what other devices run."""
    monkeypatch.setattr(device, "reads_are_free", lambda _: False)
    monkeypatch.setattr("fairret.batch.reads_are_free", lambda _: False)


@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_solver_while_a_graph_is_captured_never_waits(
    loss_cls, other_device, monkeypatch
):
    loss = loss_cls("ppv")
    expected = loss(*BATCH)
    monkeypatch.setattr(device, "may_read", lambda _: False)
    with NoHostRead():
        got = loss(*BATCH)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["pr", "tpr"])
@pytest.mark.parametrize("loss_cls", SMOOTH)
def test_solver_for_other_devices_reads_one_number(loss_cls, name, other_device):
    batch = sample(2000, "three", seed=1)
    loss = loss_cls(name)
    logit = batch.logit.clone().requires_grad_()
    with Count() as count:
        value = loss(logit, *batch[1:])
        value.backward()
    assert count.reads == 1
    assert count.kernels <= (250 if loss_cls is KLProjectionLoss else 350)
    assert loss.project(*batch).residual <= 1e-6


@pytest.mark.compile
@pytest.mark.parametrize("name", ["tpr", "tpr+ppv"])
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_compiles_without_a_graph_break(loss_cls, name):
    torch._dynamo.reset()
    loss = loss_cls(name)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    results = []
    for function in (loss, compiled):
        logit = BATCH.logit.clone().requires_grad_()
        value = function(logit, *BATCH[1:])
        value.backward()
        results.append((value.detach(), logit.grad))
    torch.testing.assert_close(*results)


@pytest.mark.compile
def test_compiled_loss_agrees_for_new_values_and_options():
    torch._dynamo.reset()
    loss = KLProjectionLoss("fn_fp", gradient="exact", sharpness=2.0)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for seed in (3, 4):
        batch = sample(N, "three", seed).to(torch.float32)
        options = {"weight": batch.label + 0.5, "target_statistic": 0.8}
        torch.testing.assert_close(compiled(*batch, **options), loss(*batch, **options))


@pytest.mark.compile
@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_targets_may_change_in_a_compiled_loss(loss_cls):
    torch._dynamo.reset()
    loss = loss_cls("pr")
    compiled = torch.compile(loss, fullgraph=True, backend="eager")
    for target in (0.3, 0.4, 0.5):
        got = compiled(*BATCH, target_statistic=target)
        torch.testing.assert_close(got, loss(*BATCH, target_statistic=target))


@pytest.mark.compile
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_new_values_are_not_compiled_anew(loss_cls):
    torch._dynamo.reset()
    graphs = []

    def count(graph, _):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(loss_cls("tpr+ppv"), fullgraph=True, backend=count)
    for seed in range(4):
        batch = sample(N, "three", seed).to(torch.float32)
        batch.sens[:, seed] = 0  # also where a group is absent
        compiled(*batch, weight=batch.label + seed)
    assert len(graphs) == 1


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_step_in_mixed_precision_is_close_to_one_in_full(loss_cls):
    feat = torch.randn(N, 4, generator=torch.Generator().manual_seed(0))
    grads = []
    for mixed in (False, True):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            logit = model(feat)
            loss = loss_cls("tpr")(logit, *BATCH[1:])
        assert logit.dtype == (torch.bfloat16 if mixed else torch.float32)
        assert loss.dtype == torch.float32
        loss.backward()
        grads.append(model.weight.grad)
    torch.testing.assert_close(*grads, rtol=0.1, atol=0.02)


@pytest.mark.compile
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # inductor's own
@pytest.mark.parametrize(
    ("loss_cls", "memory"), [(NormLoss, 0), (KLProjectionLoss, 4 * N)]
)
def test_model_and_loss_compile_into_one_graph(loss_cls, memory):
    torch._dynamo.reset()
    torch.manual_seed(0)  # else the logits may look like probabilities
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)
    )
    fairret = loss_cls("tpr", memory=memory)
    rng = torch.Generator().manual_seed(0)
    rows = torch.randn(4, N, 4, generator=rng)
    fairret(model(rows[0]), *BATCH[1:])  # a memory learns how many groups there are
    other = copy.deepcopy(fairret)

    def step(feat):
        return other(model(feat), *BATCH[1:])

    compiled = torch.compile(step, fullgraph=True)  # with the real backend, here alone
    for feat in rows[1:]:
        expected, found = fairret(model(feat), *BATCH[1:]), compiled(feat)
        torch.testing.assert_close(found, expected)
        own, same = (
            torch.autograd.grad(x, [*model.parameters()]) for x in (expected, found)
        )
        torch.testing.assert_close(same, own, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss_cls", VIOLATIONS)
def test_custom_penalty_needs_one_method(loss_cls):
    class Squared(loss_cls):
        def penalize_violation(self, violation):
            return violation.square().sum()

    squared = Squared("pr")(*BATCH[:2])
    torch.testing.assert_close(squared, NormLoss("pr", 2)(*BATCH[:2]).square())
