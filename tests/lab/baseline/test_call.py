"""The call of a fairret, errors that teach, degenerate batches, torch habits."""

import copy
import math
import pickle

import pytest
import torch

import fairret
from batches import sample
from fairret.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    FairretError,
    RangeError,
    ShapeError,
)
from fairret.lab.baseline import AdversarialDebiasingLoss, HSICLoss, PRemoverLoss

N, D, WIDTH = 14, 3, 4
LOGIT, SENS, LABEL = sample(N, seed=1).to(torch.float32)
FEAT = torch.arange(N * 2.0).reshape(N, 2)
Z = torch.randn(N, WIDTH, generator=torch.Generator().manual_seed(0))


def seeded(hidden_size):
    with torch.random.fork_rng():
        torch.manual_seed(2)
        return AdversarialDebiasingLoss(D, hidden_size)


LOSSES = (
    PRemoverLoss(),
    HSICLoss(),
    HSICLoss(bandwidth=0.1),
    HSICLoss(bandwidth="median"),
    seeded(None),
)
BY_REPR = pytest.mark.parametrize("loss", LOSSES, ids=lambda x: repr(x).split("\n")[0])
ADVERSARY = seeded(WIDTH)


@BY_REPR
def test_every_form_of_the_call_is_the_same(loss):
    expected = loss(LOGIT, SENS)
    forms = [
        loss(LOGIT, SENS, LABEL),
        loss(LOGIT, FEAT, SENS, LABEL),
        loss(LOGIT, None, SENS, None),
        loss(LOGIT, sens=SENS),
        loss(label=LABEL, sens=SENS, logit=LOGIT, feat=FEAT),
        loss(LOGIT[:, None], SENS, LABEL[:, None]),
        loss(LOGIT, SENS.long()),
        loss(LOGIT, SENS.bool()),
        loss(LOGIT, SENS, weight=torch.full((N, 1), 3.0)),
        loss(LOGIT.sigmoid(), SENS, pred_as_logit=False),
    ]
    for form in forms:
        torch.testing.assert_close(form, expected, rtol=1e-5, atol=1e-8)


def test_hidden_layer_goes_by_keyword():
    expected = ADVERSARY(LOGIT, SENS, hidden=Z)
    assert ADVERSARY(LOGIT, FEAT, SENS, LABEL, hidden=Z) == expected
    assert ADVERSARY(-LOGIT, SENS, hidden=Z) == expected
    assert ADVERSARY(LOGIT, SENS, hidden=2 * Z) != expected


def test_loss_says_whether_it_needs_the_hidden_layer():
    assert ADVERSARY.needs_hidden
    assert not any(loss.needs_hidden for loss in LOSSES)
    assert not getattr(fairret.loss.NormLoss("pr"), "needs_hidden", False)


def test_baselines_are_reached_from_the_package():
    assert fairret.lab.baseline.HSICLoss is HSICLoss


two = SENS.clone()
two[3] = 1
soft = SENS * 0.5
BAD = {
    "two groups in a row": ((LOGIT, two), RangeError, r"first \[1.0, 1.0, 1.0\] in ro"),
    "soft groups": ((LOGIT, soft), RangeError, "got 14 other rows of 14"),
    "two traits": (
        (LOGIT, torch.cat((SENS, SENS), 1)),
        RangeError,
        "must be one categorical trait.*fairret.sensitive.Intersection",
    ),
    "two classes": ((LOGIT[:, None].repeat(1, 2), SENS), ShapeError, "`logit` must"),
    "a bare column of groups": ((LOGIT, SENS[:, 0]), ShapeError, r"sens\[:, None\]"),
    "NaN logits": ((LOGIT * torch.nan, SENS), RangeError, "must not contain NaN"),
    "labels of -1": ((LOGIT, SENS, 2 * LABEL - 1), RangeError, "from -1 to 1"),
    "nothing but logits": ((LOGIT,), ArgumentError, "`sens` is required"),
    "an empty batch": ((LOGIT[:0], SENS[:0]), ShapeError, "got an empty batch"),
}


def assert_teaches(error):
    message = str(error.value)
    assert isinstance(error.value, FairretError)
    assert message.count("`") >= 2  # the argument, in backticks
    assert "; " in message  # requirement; what came
    assert ". " in message  # what to do
    assert message.endswith(".")


@pytest.mark.parametrize("case", BAD)
@BY_REPR
def test_bad_input_is_an_error_that_teaches(loss, case):
    call, error, words = BAD[case]
    with pytest.raises(error, match=words) as caught:
        loss(*call)
    assert_teaches(caught)


@BY_REPR
def test_unknown_keyword_is_not_ignored(loss):
    with pytest.raises(ArgumentError, match="Did you mean 'weight'") as caught:
        loss(LOGIT, SENS, weigth=LABEL)
    assert_teaches(caught)
    with pytest.raises(ArgumentError, match="`hidden` must be an option"):
        loss(LOGIT, SENS, hidden=Z)


BAD_HIDDEN = {
    "none": (None, ArgumentError, "`hidden` is required"),
    "wrong width": (Z[:, 1:], ShapeError, r"here \(14, 4\); got \(14, 3\)"),
    "fewer rows": (Z[1:], ShapeError, r"got \(13, 4\)"),
    "a list": (Z.tolist(), DtypeError, "got list"),
    "whole numbers": (Z.long(), DtypeError, "got torch.int64"),
    "NaN": (Z / Z.new_tensor([1, 1, 0, 1]), RangeError, "in 14 of 14 rows"),
    "elsewhere": (Z.to("meta"), DeviceError, "`hidden` must be on cpu"),
}


@pytest.mark.parametrize("case", BAD_HIDDEN)
def test_bad_hidden_layer_is_an_error_that_teaches(case):
    hidden, error, words = BAD_HIDDEN[case]
    with pytest.raises(error, match=words) as caught:
        ADVERSARY(LOGIT, SENS, hidden=hidden)
    assert_teaches(caught)


def test_adversary_is_for_its_own_groups_and_device():
    with pytest.raises(ShapeError, match=r"3 columns.*`groups=2`") as caught:
        ADVERSARY(LOGIT, SENS[:, :2], hidden=Z)
    assert_teaches(caught)
    with pytest.raises(DeviceError, match="where the adversary is; got meta") as caught:
        ADVERSARY(LOGIT.to("meta"), SENS.to("meta"), hidden=Z.to("meta"))
    assert_teaches(caught)


def test_settings_are_checked():
    for bandwidth in (0, -1.0, math.inf):
        with pytest.raises(RangeError, match="`bandwidth` must be positive"):
            HSICLoss(bandwidth=bandwidth)
    with pytest.raises(RangeError, match="a number or 'median'; got 'mean'"):
        HSICLoss(bandwidth="mean")
    with pytest.raises(DtypeError, match="`bandwidth` must be a number"):
        HSICLoss(bandwidth=None)
    for name in ("groups", "hidden_size", "width"):
        for value in (0, 2.5, True):
            with pytest.raises(RangeError, match=f"`{name}` must be a whole number"):
                AdversarialDebiasingLoss(**{"groups": 2, name: value})


def test_reprs_show_the_settings():
    assert repr(HSICLoss(bandwidth="median")) == "HSICLoss(bandwidth='median')"
    assert "groups=3, hidden_size=4" in repr(ADVERSARY)


def degenerate():
    one = torch.ones(N)
    alone = torch.zeros(N, D)
    alone[:, 1] = 1
    yield "one group", LOGIT, alone
    yield "absent group", LOGIT, SENS * torch.tensor([1.0, 0, 1])
    yield "nobody known", LOGIT, 0 * SENS
    yield "one row", LOGIT[:1], SENS[:1]
    yield "two rows", LOGIT[:2], SENS[:2]
    yield "equal scores", 0.3 * one, SENS
    for size in (20.0, 90.0, 1e4, torch.inf):
        yield f"saturated at {size}", size * LOGIT.sign(), SENS
        yield f"all at {size}", size * one, SENS
        yield f"all at {-size}", -size * one, SENS
        yield f"groups at {size}", size * (2 * SENS[:, 0] - 1), SENS


DEGENERATE = {name: rest for name, *rest in degenerate()}


@pytest.mark.parametrize("case", DEGENERATE)
@BY_REPR
def test_degenerate_batches_are_finite(loss, case):
    logit, sens = DEGENERATE[case]
    for dtype in (torch.float32, torch.float64):
        for pred_as_logit in (True, False):
            pred = logit.to(dtype)
            pred = pred if pred_as_logit else pred.sigmoid()
            pred = pred.clone().requires_grad_()
            value = loss(pred, sens, pred_as_logit=pred_as_logit)
            value.backward()
            assert value.isfinite()
            assert pred.grad.isfinite().all()
            assert value >= 0 or isinstance(loss, AdversarialDebiasingLoss)


def test_weights_of_zero_leave_nobody():
    for loss in LOSSES:
        assert loss(LOGIT, SENS, weight=torch.zeros(N)) == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@BY_REPR
def test_result_is_float32_or_float64(loss, dtype):
    logit = LOGIT.clone().to(dtype).requires_grad_()
    value = loss(logit, SENS.to(dtype))
    assert value.dtype == torch.float32
    assert value.shape == ()
    value.backward()
    assert logit.grad.dtype == dtype
    wide = loss(logit.detach().double(), SENS)
    assert wide.dtype == torch.float64
    torch.testing.assert_close(value.detach().double(), wide, rtol=1e-4, atol=1e-7)


@BY_REPR
def test_autocast_does_not_lose_digits(loss):
    expected = loss(LOGIT, SENS)
    with torch.autocast("cpu", torch.bfloat16):
        assert loss(LOGIT, SENS) == expected


def test_half_precision_layer_reaches_the_adversary():
    z = Z.bfloat16().requires_grad_()
    value = ADVERSARY(LOGIT.bfloat16(), SENS, hidden=z)
    value.backward()
    assert value.dtype == torch.float32
    assert z.grad.dtype == torch.bfloat16


@BY_REPR
def test_forward_needs_no_value_of_the_device(loss):
    loss = copy.deepcopy(loss).to("meta")
    logit = LOGIT.to("meta").requires_grad_()
    value = loss(logit, SENS.to("meta"), weight=LABEL.to("meta"))
    value.backward()
    assert logit.grad.shape == logit.shape


@BY_REPR
def test_baselines_copy_and_pickle(loss):
    expected = loss(LOGIT, SENS)
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert other(LOGIT, SENS) == expected
        assert repr(other) == repr(loss)


@pytest.mark.compile
@pytest.mark.filterwarnings(  # dynamo's own way with an autograd.Function
    "ignore:.*should not be instantiated:DeprecationWarning"
)
@BY_REPR
def test_compiles_without_a_graph_break(loss):
    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    results = []
    for function in (loss, compiled):
        logit = LOGIT.clone().requires_grad_()
        value = function(logit, SENS)
        value.backward()
        results.append((value.detach(), logit.grad))
    torch.testing.assert_close(*results)
