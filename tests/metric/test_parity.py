"""The metric of 0.1.3, over additive sums."""

import pytest
import torch

import reference
from batches import STATISTICS, sample
from fairret.errors import ShapeError
from fairret.metric import LinearFractionalParity, gap_abs_max, gap_relative_abs_max

N = 37


def chunks(batch, sizes):
    parts = zip(*(x.split(sizes) for x in batch), strict=True)
    return [(logit.sigmoid(), sens, label) for logit, sens, label in parts]


@pytest.mark.parametrize("name", STATISTICS)
def test_stream_equals_the_violation_of_the_whole(name):
    batch = sample(N, "continuous", seed=1)
    metric = LinearFractionalParity(name, 7)
    for part in chunks(batch, [5, 20, 12]):
        metric.update(*part)
    expected = reference.violations(name, *batch.numpy()).max()
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)
    metric.reset()
    assert metric.groups.sum() == 0


def test_stack_has_one_gap_for_each_statistic():
    batch = sample(N, "three", seed=2)
    metric = LinearFractionalParity("tpr+ppv", (2, 9))
    for part in chunks(batch, [30, 7]):
        metric.update(*part)
    expected = [
        reference.violations(name, *batch.numpy()).max() for name in ("tpr", "ppv")
    ]
    torch.testing.assert_close(metric.compute(), torch.tensor(expected).double())


def test_group_absent_from_a_batch_is_not_booked_to_another():
    batch = sample(N, seed=3)
    order = batch.sens[:, 1].argsort(stable=True)  # the second group comes last
    metric = LinearFractionalParity("pr", 3)
    for part in chunks([x[order] for x in batch], [10, 27]):
        metric.update(*part)
    expected = reference.violations("pr", *batch.numpy()).max()
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)


def test_group_that_is_always_absent_counts_nothing():
    batch = sample(N, seed=4)
    metric = LinearFractionalParity("pr", 4)
    sens = torch.cat((batch.sens, torch.zeros(N, 1)), 1)
    metric.update(batch.logit.sigmoid(), sens)
    expected = reference.violations("pr", *batch.numpy()).max()
    assert metric.compute().item() == pytest.approx(expected, rel=1e-12)


def test_gaps_where_the_overall_value_is_zero():
    vals, zero = torch.tensor([0.2, -0.5, torch.nan]), torch.zeros(1)
    assert gap_relative_abs_max(vals, zero) == 0.5
    assert gap_abs_max(vals, zero) == 0.5


def test_shapes_are_checked():
    with pytest.raises(ShapeError, match=r"`stat_shape` must be \(2, 'd_s'\)"):
        LinearFractionalParity("tpr+ppv", 3)
    metric = LinearFractionalParity("pr", 5)
    with pytest.raises(ShapeError, match="`sens` must have d_s=5 columns"):
        metric.update(torch.rand(4), torch.ones(4, 2))
