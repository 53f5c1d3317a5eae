"""Names and call forms of 0.1.3: its user changes nothing."""

import importlib

import pytest
import torch

from batches import sample
from fairret.loss import NormLoss
from fairret.metric import LinearFractionalParity, gap_abs_max
from fairret.statistic import (
    LinearFractionalStatistic,
    PositiveRate,
    StackedLinearFractionalStatistic,
    TruePositiveRate,
)

PUBLIC = {
    "fairret.loss": (
        "FairnessLoss ViolationLoss NormLoss LSELoss ProjectionLoss KLProjectionLoss "
        "JensenShannonProjectionLoss TotalVariationProjectionLoss "
        "SquaredEuclideanProjectionLoss"
    ),
    "fairret.loss.violation": "ViolationLoss NormLoss LSELoss",
    "fairret.loss.projection": (
        "ProjectionLoss KLProjectionLoss JensenShannonProjectionLoss "
        "TotalVariationProjectionLoss ChiSquaredProjectionLoss "
        "SquaredEuclideanProjectionLoss"
    ),
    "fairret.loss.base": "FairnessLoss",
    "fairret.statistic": (
        "LinearFractionalStatistic PositiveRate TruePositiveRate FalsePositiveRate "
        "PositivePredictiveValue FalseOmissionRate Accuracy FScore "
        "FalseNegativeFalsePositiveFraction StackedLinearFractionalStatistic"
    ),
    "fairret.statistic.linear_fractional": (
        "LinearFractionalStatistic PositiveRate TruePositiveRate FScore "
        "StackedLinearFractionalStatistic"
    ),
    "fairret.metric": "LinearFractionalParity gap_abs_max gap_relative_abs_max",
}
N = 20
LOGIT, SENS, LABEL = (x.float() for x in sample(N, seed=1))
PROB = LOGIT.sigmoid()[:, None]


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_imports(module):
    loaded = importlib.import_module(module)
    for name in PUBLIC[module].split():
        assert hasattr(loaded, name), name


def test_statistic_is_called_with_columns():
    tpr = TruePositiveRate()
    label = LABEL[:, None]
    assert tpr(PROB, SENS, label).shape == (3,)
    assert tpr.overall_statistic(PROB, label).shape == (1,)
    assert torch.equal(tpr(PROB, None, label), tpr.overall_statistic(PROB, label))
    odds = StackedLinearFractionalStatistic(tpr, PositiveRate())
    assert odds(PROB, SENS, label).shape == (2, 3)
    assert odds.overall_statistic(PROB, label).shape == (2, 1)
    ratio = tpr.num(PROB, SENS, label) / tpr.denom(PROB, SENS, label)
    torch.testing.assert_close(ratio, tpr(PROB, SENS, label))


def test_pred_as_logit_is_a_keyword():
    loss = NormLoss(TruePositiveRate(), p=2)
    torch.testing.assert_close(
        loss(PROB, SENS, LABEL[:, None], pred_as_logit=False),
        loss(LOGIT[:, None], SENS, LABEL[:, None]),
    )


def test_custom_statistic_in_the_old_spelling_works():
    class Recall(LinearFractionalStatistic):
        def num_intercept(self, label):
            return 0.0

        def num_slope(self, label):
            return label

        def denom_intercept(self, label):
            return label

        def denom_slope(self, label):
            return 0.0

    torch.testing.assert_close(
        NormLoss(Recall())(LOGIT[:, None], SENS, LABEL[:, None]),
        NormLoss(TruePositiveRate())(LOGIT, SENS, LABEL),
    )


def test_fixed_constraint_has_one_column_for_each_group():
    intercept, slope = PositiveRate().fixed_constraint(torch.tensor([0.4]), SENS)
    assert intercept.shape == slope.shape == (N, 3)
    torch.testing.assert_close(intercept, -0.4 * SENS)
    torch.testing.assert_close(slope, SENS)


def test_metric_takes_the_old_arguments():
    metric = LinearFractionalParity(TruePositiveRate(), 3, gap_abs_max)
    metric.update(PROB, SENS, LABEL[:, None])
    tpr = TruePositiveRate()
    gap = tpr(PROB, SENS, LABEL) - tpr.overall(PROB, LABEL)
    torch.testing.assert_close(metric.compute().float(), gap.abs().max())


def test_none_is_everybody_only_in_the_old_form():
    tpr = TruePositiveRate()
    label = LABEL[:, None]
    feat = torch.zeros(N, 2)
    assert tpr(PROB, None, label).shape == (1,)
    torch.testing.assert_close(
        tpr(PROB, None, SENS, label), tpr(PROB, feat, SENS, label)
    )
    line = tpr.fixed_constraint(0.5, feat, SENS, label)
    torch.testing.assert_close(line[1], tpr.fixed_constraint(0.5, SENS, label)[1])


def test_metric_takes_the_form_of_the_paper():
    feat = torch.rand(N, 3, generator=torch.Generator().manual_seed(0))
    metrics = [LinearFractionalParity(TruePositiveRate(), 3) for _ in range(3)]
    metrics[0].update(PROB, SENS, LABEL)
    metrics[1].update(PROB, feat, SENS, LABEL)
    metrics[2].update(PROB, None, SENS, LABEL, weight=torch.full((N,), 2.0))
    values = [metric.compute() for metric in metrics]
    assert values[0] == values[1] == values[2]
