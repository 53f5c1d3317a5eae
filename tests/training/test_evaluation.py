"""Every column equals what others compute of the same rows."""

import functools
import math

import pytest
import torch
from sklearn import metrics

from fairret.metric import ParityTable
from fairret.statistic import get_statistic
from fairret.training import evaluate
from fairret.training.evaluation import BINS, at_base_rate, auroc, calibration_error

N = 701
NAMES = ("pr", "tpr", "ppv", "fn_fp")
TRAITS = {"all": {"region": (0, 1, 2), "sex": (3, 4)}, "single": {"sex": (3, 4)}}


@pytest.fixture
def batch():
    rng = torch.Generator().manual_seed(2)
    label = (torch.rand(N, generator=rng) < 0.3).double()
    prob = torch.rand(N, generator=rng).double() * 0.7 + 0.2 * label
    region = torch.randint(3, (N,), generator=rng)
    sex = torch.randint(2, (N,), generator=rng)
    one_hot = torch.nn.functional.one_hot
    return prob, torch.cat((one_hot(region), one_hot(sex)), 1).double(), label


def measure(batch):
    return evaluate(*batch, [get_statistic(name) for name in NAMES], TRAITS)


@pytest.mark.parametrize("levels", [1, 2, 7, 10**9])
def test_auroc_is_that_of_scikit_learn_also_with_ties(batch, levels):
    prob, _, label = batch
    tied = (prob * levels).round() / levels
    expected = metrics.roc_auc_score(label, tied)
    # torchmetrics integrates in float32
    assert auroc(tied, label) == pytest.approx(expected, abs=1e-6)


def test_log_loss_and_accuracy_are_those_of_scikit_learn(batch):
    prob, _, label = batch
    found = measure(batch)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(label, prob), rel=1e-12)
    assert found["accuracy"] == metrics.accuracy_score(label, prob > 0.5)
    assert found["mean_score"] == pytest.approx(prob.mean().item())
    assert found["base_rate"] == pytest.approx(label.mean().item())
    assert found["positive_rate"] == pytest.approx((prob > 0.5).double().mean().item())
    assert found["rows"] == N
    assert found["auroc"] == auroc(prob, label)


def test_calibration_error_is_the_plain_loop_over_bins(batch):
    prob, _, label = batch
    prob = torch.cat((prob, torch.tensor([0.0, 1.0]))).double()
    label = torch.cat((label, torch.tensor([1.0, 0.0])))
    total = 0.0
    for k in range(BINS):
        last = k == BINS - 1
        own = (prob * BINS >= k) & ((prob * BINS < k + 1) | last)
        if own.any():
            gap = abs(label[own].mean() - prob[own].mean()).item()
            total += own.sum().item() / len(prob) * gap
    assert calibration_error(prob, label) == pytest.approx(total, abs=1e-12)
    # a score of 1 becomes the largest float64 below it
    assert calibration_error(label, label) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("levels", [1, 3, 10**9])
def test_decisions_at_the_base_rate_are_as_many_as_the_positives(batch, levels):
    prob, _, label = batch
    tied = (prob * levels).round() / levels
    kept = at_base_rate(tied, label)
    assert kept.sum() == label.sum()
    assert tied[kept == 1].min() >= tied[kept == 0].max()


@pytest.mark.parametrize("which", TRAITS)
@pytest.mark.parametrize("name", NAMES)
def test_violations_and_verdicts_are_those_of_the_metric(batch, name, which):
    prob, sens, label = batch
    columns = [k for own in TRAITS[which].values() for k in own]
    traits = {x: [columns.index(k) for k in own] for x, own in TRAITS[which].items()}
    found = measure(batch)
    kept = at_base_rate(prob, label)
    for channel, scores in (
        ("scores", prob),
        ("decisions", (prob > 0.5).double()),
        ("decisions at the base rate", kept),
    ):
        table = ParityTable(NAMES, traits=traits, d_s=len(columns))
        table.update(scores, sens[:, columns], label)
        result = table.compute()[name].scores
        path = f"{name}/{channel}/{which}"
        # sums of float64 in another order
        near = functools.partial(pytest.approx, rel=1e-9)
        assert found[f"violation/{path}"] == near(float(result.max_violation))
        assert found[f"floor/{path}"] == near(float(result.noise_floor))
        assert found[f"p_value/{path}"] == near(float(result.test.p_value))
        assert found[f"beyond_chance/{path}"] == result.beyond_chance
        # a small difference of two squares
        expected = pytest.approx(float(result.violation_beyond_chance), abs=1e-7)
        assert found[f"violation_beyond_chance/{path}"] == expected


def test_verdicts_tell_fair_scores_from_unfair_ones(batch):
    prob, sens, label = batch
    unfair = (prob / 2 + sens[:, 0] / 2).clamp(0, 1)
    for scores, beyond in ((torch.full_like(prob, 0.3), 0.0), (unfair, 1.0)):
        found = measure((scores, sens, label))
        assert found["beyond_chance/pr/scores/all"] == beyond
        assert (found["p_value/pr/scores/all"] < 1e-6) == bool(beyond)
        assert (found["violation_beyond_chance/pr/scores/all"] > 0.1) == bool(beyond)


def test_groups_too_small_to_judge_have_no_verdict(batch):
    found = measure([x[:20] for x in batch])
    assert math.isnan(found["beyond_chance/pr/scores/all"])
    assert math.isnan(found["p_value/pr/scores/all"])
    assert math.isfinite(found["violation/pr/scores/all"])


@pytest.mark.parametrize("only", [0.0, 1.0])
def test_single_class_gives_nan_and_not_an_error(batch, only):
    prob, sens, label = batch
    found = measure((prob, sens, torch.full_like(label, only)))
    assert math.isnan(found["auroc"])
    assert math.isfinite(found["log_loss"])
    assert found["accuracy_at_base_rate"] == 1
    tpr = found["violation/tpr/scores/all"]
    assert math.isnan(tpr) == (only == 0)  # nobody counts in it


def test_float32_scores_are_measured_as_float64(batch):
    prob, sens, label = batch
    prob = prob.float()
    assert measure((prob, sens, label.float())) == measure((prob.double(), sens, label))
