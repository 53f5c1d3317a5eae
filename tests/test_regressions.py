"""What the released 0.1.3 gets wrong, one test for each defect, named after it."""

import pytest
import torch

import reference
from batches import (
    LOSSES,
    PROJECTIONS,
    balanced,
    same_block_per_group,
    sample,
)
from fairret import Status
from fairret.errors import RangeError, ShapeError
from fairret.loss import (
    ChiSquaredProjectionLoss,
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    NormLoss,
    SmoothMaxLoss,
    SquaredEuclideanProjectionLoss,
    TotalVariationProjectionLoss,
)
from fairret.metric import LinearFractionalParity
from fairret.statistic import (
    Accuracy,
    FalseNegativeFalsePositiveFraction,
    FalsePositiveRate,
    PositivePredictiveValue,
    PositiveRate,
    StackedLinearFractionalStatistic,
    TruePositiveRate,
    get_statistic,
)


@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_defect_1_normalising_makes_a_fair_model_cost_something(loss_cls):
    batch = same_block_per_group(seed=2).to(torch.float32)
    loss = loss_cls(PositiveRate())(batch.logit[:, None], batch.sens)
    torch.testing.assert_close(loss, torch.zeros(()), atol=1e-7, rtol=0)


def test_defect_2_squared_distance_averages_a_matrix_and_drops_the_factor_2():
    batch = sample(30, seed=3)
    loss = SquaredEuclideanProjectionLoss(PositiveRate())
    f = loss.project(batch.logit[:, None], batch.sens).f_star
    expected = (2 * (f[:, 0] - batch.logit.sigmoid()).square()).mean()
    torch.testing.assert_close(loss(batch.logit[:, None], batch.sens), expected)


def test_defect_3_slope_of_treatment_equality_is_summed_over_the_batch():
    batch = sample(80, seed=4)
    statistic = FalseNegativeFalsePositiveFraction()
    target = statistic.overall(batch.logit.sigmoid(), batch.label)
    f = KLProjectionLoss(statistic).project(*batch).f_star
    gamma = statistic(f, batch.sens, batch.label)
    torch.testing.assert_close(gamma, target.expand(3), rtol=1e-6, atol=0)


def test_defect_4_stack_is_projected_to_a_fraction_of_c():
    batch = balanced(5)
    odds = StackedLinearFractionalStatistic(TruePositiveRate(), FalsePositiveRate())
    target = odds.overall(batch.logit.sigmoid(), batch.label)
    f = KLProjectionLoss(odds).project(*batch).f_star
    gamma = odds(f, batch.sens, batch.label)
    torch.testing.assert_close(gamma, target[:, None].expand(2, 3), rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "loss_cls",
    [
        JensenShannonProjectionLoss,
        TotalVariationProjectionLoss,
        ChiSquaredProjectionLoss,
    ],
)
def test_defect_5_divergence_minimised_is_not_the_one_reported(loss_cls):
    batch = sample(40, seed=6)
    loss = loss_cls(PositiveRate())
    h, s, y = batch.numpy()
    a, b, p = reference.constraint(["pr"], h, s, y)
    _, least = reference.project(loss.divergence.name, h, a, b, p)
    assert float(loss(*batch[:2])) == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_defect_6_first_batch_fixes_the_shape(loss_cls):
    loss = loss_cls(PositiveRate())
    for n in (10, 25, 7):
        batch = sample(n, seed=n)
        assert loss(*batch[:2]) == loss_cls(PositiveRate())(*batch[:2])


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_defect_7_dtype_and_device_are_lost(loss_cls):
    batch = sample(12, seed=7)
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        logit = batch.logit.clone().to(dtype).requires_grad_()
        loss = loss_cls(PositiveRate())(logit, batch.sens)
        assert loss.dtype == torch.float32
        loss.backward()
    on_meta = loss_cls(PositiveRate())(*(x.to("meta") for x in batch[:2]))
    assert on_meta.device.type == "meta"  # no detour over NumPy


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_defect_8_absent_group_or_class_counts_or_stops_training(loss_cls):
    logit, sens, label = sample(15, seed=8)
    more = torch.cat((sens, torch.zeros(15, 1, dtype=torch.float64)), 1)
    tpr = NormLoss(TruePositiveRate())
    torch.testing.assert_close(tpr(logit, more, label), tpr(logit, sens, label))
    none = loss_cls(TruePositiveRate())(logit, sens, torch.zeros(15))
    assert none.abs() < 1e-15  # rounding of Jensen-Shannon's logarithms


def test_defect_9_statistics_of_different_shape_do_not_stack():
    batch = sample(33, seed=9)
    prob = batch.logit.sigmoid()
    pairs = (
        (TruePositiveRate(), PositivePredictiveValue()),
        (Accuracy(), TruePositiveRate()),
        (PositiveRate(), FalseNegativeFalsePositiveFraction()),
    )
    for pair in pairs:
        stack = StackedLinearFractionalStatistic(*pair)
        rows = torch.stack([part(prob, batch.sens, batch.label) for part in pair])
        got = stack(prob, batch.sens, batch.label)
        torch.testing.assert_close(got, rows, equal_nan=True)
        metric = LinearFractionalParity(stack, (2, 3))  # K = 2, d_s = 3
        metric.update(prob, batch.sens, batch.label)
        assert metric.compute().shape == (2,)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_defect_10_class_columns_are_broadcast_into_a_number(loss_cls):
    logit, sens, label = sample(11, seed=10)
    loss = loss_cls(TruePositiveRate())
    with pytest.raises(ShapeError, match="`logit` must have shape"):
        loss(torch.stack((-logit, logit), 1), sens, label)
    with pytest.raises(ShapeError, match="`label` must have shape"):
        loss(logit, sens, torch.stack((1 - label, label), 1))


def test_defect_11_failed_solve_prints_and_goes_on(capsys):
    batch = sample(18, seed=11)
    loss = KLProjectionLoss(PositiveRate())
    found = loss.project(*batch[:2], target_statistic=1.5)
    assert found.status is Status.INFEASIBLE
    assert (found.f_star - batch.logit.sigmoid()).abs().max() > 0.1
    assert capsys.readouterr() == ("", "")


@pytest.mark.compile
def test_defect_12_graph_breaks():
    torch._dynamo.reset()
    batch = sample(16, seed=12)
    explained = torch._dynamo.explain(NormLoss(TruePositiveRate()))(*batch)
    assert explained.graph_break_count == 0


def test_defect_13_standardised_trait_divides_by_almost_zero():
    batch = sample(50, seed=13)
    age = torch.linspace(20, 70, 50, dtype=torch.float64)[:, None]
    standardised = (age - age.mean()) / age.std()
    with pytest.raises(RangeError, match=r"memberships in \[0, 1\].*scale"):
        NormLoss(PositiveRate())(batch.logit, standardised)
    scaled = (age - age.min()) / (age.max() - age.min())
    assert NormLoss(PositiveRate())(batch.logit, scaled) < 1


def test_defect_8_zero_target_raises_no_more():
    logit, sens, _ = sample(15, seed=14)
    assert SmoothMaxLoss("tpr")(logit, sens, torch.zeros(15)) == 0
    assert get_statistic("tpr").overall(logit.sigmoid(), torch.zeros(15)).isnan()
