"""A degenerate batch is not bad input: finite loss, finite gradient."""

import pytest
import torch

from batches import LOSSES, PROJECTIONS, STATISTICS, sample
from fairret import Status
from fairret.loss import KLProjectionLoss, NormLoss, ProjectionLoss

N = 24


def assert_finite(loss, logit, *rest, **options):
    logit = logit.clone().requires_grad_()
    value = loss(logit, *rest, **options)
    assert torch.isfinite(value)
    assert value >= 0
    value.backward()
    assert torch.isfinite(logit.grad).all()
    return value.detach()


def batches():
    logit, sens, label = sample(N, "three", seed=1).to(torch.float32)
    one = torch.ones(N)
    absent = sens.clone()
    absent[:, 2] = 0
    alone = torch.zeros(N, 3)
    alone[:, 1] = 1
    yield "absent group", (logit, absent, label)
    yield "one group", (logit, alone, label)
    yield "nobody in any group", (logit, 0 * sens, label)
    yield "positives only", (logit, sens, one)
    yield "negatives only", (logit, sens, 0 * one)
    yield "one row", (logit[:1], sens[:1], label[:1])
    yield "two rows", (logit[:2], sens[:2], label[:2])
    for size in (20.0, 1e4, torch.inf):
        yield f"saturated at {size}", (size * torch.sign(logit), sens, label)
        yield f"all at {size}", (size * one, sens, label)
        yield f"all at {-size}", (-size * one, sens, label)
        mixed = torch.where(sens[:, 0] == 1, -size * one, logit)
        yield f"one group at {-size}", (mixed, sens, label)
    yield "scores below the range of float32", (-100 * one - logit, sens, label)
    yield "equal scores", (0.3 * one, sens, label)
    yield "same trait twice", (logit, torch.cat((sens, sens), 1), label)


BATCHES = dict(batches())


@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_loss_and_gradient_are_finite(loss_cls, case):
    first = LOSSES.index(loss_cls) + [*BATCHES].index(case)
    # each of them with every loss, and with every batch in one loss or more
    for name in (*STATISTICS, "tpr+ppv")[first % 5 :: 5]:
        assert_finite(loss_cls(name), *BATCHES[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_loss_with_a_tolerance_is_finite_too(loss_cls, case):
    first = PROJECTIONS.index(loss_cls) + [*BATCHES].index(case)
    for name in (*STATISTICS, "tpr+ppv")[first % 6 :: 6]:
        loss = loss_cls(name, gradient="exact", max_violation=0.1)
        assert_finite(loss, *BATCHES[case])


@pytest.mark.parametrize("case", BATCHES)
def test_large_batches_that_add_up_in_float32_are_finite_too(case, monkeypatch):
    monkeypatch.setattr("fairret.batch.SMALL", 0)
    for name in (*STATISTICS, "tpr+ppv"):
        assert_finite(NormLoss(name), *BATCHES[case])


def test_adding_up_in_float32_gives_the_same_loss(monkeypatch):
    batch = sample(500, "three", seed=12).to(torch.float32)
    for name in STATISTICS:
        small = NormLoss(name)(*batch)
        with monkeypatch.context() as patch:
            patch.setattr("fairret.batch.SMALL", 0)
            large = NormLoss(name)(*batch)
        torch.testing.assert_close(large, small, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_exact_gradient_is_finite_too(loss_cls, case):
    first = PROJECTIONS.index(loss_cls) + [*BATCHES].index(case)
    for name in ("pr", "ppv", "for", "fn_fp")[first % 2 :: 2]:
        assert_finite(loss_cls(name, gradient="exact"), *BATCHES[case])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_half_precision_is_finite_on_ordinary_batches(loss_cls, dtype):
    batch = sample(N, seed=2)
    logit = batch.logit.clone().to(dtype).requires_grad_()
    loss_cls("tpr")(logit, *batch[1:]).backward()
    assert torch.isfinite(logit.grad).all()
    assert logit.grad.dtype == dtype


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_zero_weight_for_all_costs_nothing(loss_cls):
    batch = sample(N, seed=3)
    assert assert_finite(loss_cls("tpr"), *batch, weight=torch.zeros(N)) == 0


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_probabilities_of_zero_and_one_are_finite(loss_cls):
    batch = sample(N, seed=4)
    prob = (batch.logit > 0).double()
    for name in STATISTICS:
        assert_finite(loss_cls(name), prob, *batch[1:], pred_as_logit=False)


@pytest.mark.parametrize("loss_cls", LOSSES)
@pytest.mark.parametrize("target", [-0.5, 0.0, 1.0, 1.7, 1e6])
def test_target_out_of_reach_is_finite(loss_cls, target):
    batch = sample(N, seed=5)
    assert_finite(loss_cls("tpr"), *batch, target_statistic=target)


@pytest.mark.parametrize("divergence", ["kl", "js", "sed", "chi2", "tv"])
def test_target_out_of_reach_is_reported_with_the_least_gap(divergence):
    batch = sample(N, seed=6)
    found = ProjectionLoss("pr", divergence).project(
        batch.logit, batch.sens, target_statistic=1.25
    )
    assert found.status is Status.INFEASIBLE
    # 1.25 cannot be reached: all scores at 1 miss it by 0.25 of every group
    assert found.residual == pytest.approx(0.25, abs=1e-4)
    assert found.f_star.min() > 0.999


def test_absent_group_has_violation_zero():
    logit, sens, _ = BATCHES["absent group"]
    present = torch.tensor([0, 1, 3, 4, 5, 6, 7, 8])
    torch.testing.assert_close(
        NormLoss("pr")(logit, sens), NormLoss("pr")(logit, sens[:, present])
    )
    torch.testing.assert_close(
        KLProjectionLoss("pr")(logit, sens),
        KLProjectionLoss("pr")(logit, sens[:, present]),
    )


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_group_that_cannot_be_estimated_is_left_out_by_every_loss(loss_cls):
    """Treatment equality in a group without negatives has a zero denominator."""
    batch = sample(60, seed=7)
    label = torch.where(
        batch.sens[:, 1] == 1, torch.ones_like(batch.label), batch.label
    )
    others = batch.sens.clone()
    others[:, 1] = 0
    loss = loss_cls("fn_fp")
    torch.testing.assert_close(
        loss(batch.logit, batch.sens, label),
        loss(batch.logit, others, label),
        rtol=1e-6,
        atol=1e-8,
    )


@pytest.mark.parametrize("name", ["fnr", "for", "npv", "fn_fp"])
def test_high_scores_keep_their_digits(name):
    """1 - h is lost in float32 beyond a logit of 17."""
    rng = torch.Generator().manual_seed(1)
    logit = 18 + torch.rand(60, generator=rng)
    sens = torch.eye(2).repeat(30, 1)
    label = (torch.rand(60, generator=rng) < 0.5).float()
    narrow = NormLoss(name)(logit + sens[:, 0], sens, label)
    wide = NormLoss(name)((logit + sens[:, 0]).double(), sens, label)
    assert wide > 1e-3
    # float32 adds up: 1e-7 of a statistic, of which the violation is the rest
    torch.testing.assert_close(narrow.double(), wide, rtol=1e-5, atol=1e-6)


def test_group_of_tiny_scores_is_still_counted():
    logit = torch.tensor([-40.0, -41, 0, 1])
    sens = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    label = torch.tensor([1.0, 0, 1, 1])
    gamma = 1 / (1 + torch.exp(torch.tensor(-1.0)))
    expected = (1 - gamma).abs()
    loss = NormLoss("ppv")(logit, sens, label)
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_tiny_and_huge_weights_are_weights(size):
    batch = sample(N, seed=8)
    weight = torch.full((N,), size, dtype=torch.float64)
    for loss in (NormLoss("pr"), KLProjectionLoss("pr")):
        torch.testing.assert_close(loss(*batch[:2], weight=weight), loss(*batch[:2]))


@pytest.mark.parametrize("p", [13.0, 50.0, 1000.0])
def test_high_norms_neither_vanish_nor_explode(p):
    for scale in (1e-3, 3.0):
        batch = sample(N, seed=9, scale=scale)
        largest = NormLoss("fn_fp", torch.inf)(*batch)
        loss = assert_finite(NormLoss("fn_fp", p), *batch)
        assert largest <= loss * (1 + 1e-12)
        assert loss <= largest * 3 ** (1 / p) * (1 + 1e-12)


@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_rare_events_are_projected_too(loss_cls):
    """Scores of 1e-4 in one group and 3e-4 in the other are not parity."""
    logit = torch.tensor([-9.2, -8.1], dtype=torch.float64).repeat(50)
    sens = torch.eye(2, dtype=torch.float64).repeat(50, 1)
    found = loss_cls("pr").project(logit, sens)
    rates = found.f_star.reshape(50, 2).mean(0)
    assert rates[0] / rates[1] == pytest.approx(1, abs=2e-2)


@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_nan_that_nobody_looked_for_stays_nan(loss_cls, monkeypatch):
    """As on other devices and while compiling, where values are not looked at."""
    monkeypatch.setattr("fairret.batch.check_range", lambda *_: (-1.0, 1.0))
    batch = sample(N, seed=10)
    label = batch.label.clone()
    label[3] = torch.nan
    assert loss_cls("tpr")(batch.logit, batch.sens, label).isnan()


def test_weights_are_constants_of_a_projection():
    batch = sample(N, seed=11)
    weight = torch.ones(N, dtype=torch.float64, requires_grad=True)
    logit = batch.logit.clone().requires_grad_()
    KLProjectionLoss("tpr")(logit, *batch[1:], weight=weight).backward()
    assert weight.grad is None
