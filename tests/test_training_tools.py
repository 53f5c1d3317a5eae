"""The examples for other people's training tools."""

import importlib.util
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fairret.loss import NormLoss, SmoothMaxLoss
from torchrun import EXAMPLES


def load_example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def batch():
    n = 90
    z = torch.randn(n, dtype=torch.float64)
    sens = F.one_hot(torch.arange(n) % 3, 3).double()
    label = (torch.rand(n) < torch.sigmoid(z + sens[:, 0])).double()
    return z, sens, label


@pytest.mark.parametrize(
    "fairret", [SmoothMaxLoss("pr", sharpness=5), NormLoss("tpr", p=2)]
)
def test_gradient_of_the_objective_is_that_of_finite_differences(fairret, batch):
    z, sens, label = batch
    strength, step = 0.7, 1e-6
    objective = load_example("boosted_trees").make_objective(fairret, sens, strength)
    gradient, _ = objective(label.numpy(), z.numpy())

    def value(raw):
        loss = F.binary_cross_entropy_with_logits(raw, label)
        return len(raw) * float(loss + strength * fairret(raw, sens, label))

    for i in range(0, len(z), 7):
        move = torch.zeros_like(z)
        move[i] = step
        slope = (value(z + move) - value(z - move)) / (2 * step)
        assert gradient[i] == pytest.approx(slope, abs=1e-6)  # rounding: 1e-14 / step


@pytest.mark.parametrize("sharpness", [1, 5])
def test_hessian_of_the_objective_is_positive_and_of_the_right_size(sharpness, batch):
    z, sens, label = batch
    fairret, strength, step = SmoothMaxLoss("pr", sharpness=sharpness), 0.7, 1e-5
    objective = load_example("boosted_trees").make_objective(fairret, sens, strength)
    gradient, hessian = (torch.tensor(x) for x in objective(label.numpy(), z.numpy()))

    def term_gradient(i, move):
        raw = z.clone()
        raw[i] += move
        raw.requires_grad_()
        loss = len(raw) * strength * fairret(raw, sens, label)
        return torch.autograd.grad(loss, raw)[0][i]

    diagonal = torch.stack(
        [(term_gradient(i, step) - term_gradient(i, -step)) for i in range(len(z))]
    ) / (2 * step)
    h = torch.sigmoid(z)
    g = gradient - (h - label)
    formula = sharpness * g * (1 - 2 * torch.sigmoid(sharpness * z))
    small = 5 * float(diagonal.abs().max()) / len(z)  # what the formula leaves out
    torch.testing.assert_close(diagonal, formula, atol=small, rtol=0)
    assert float(diagonal.min()) < -small  # so the diagonal itself is no use to trees
    torch.testing.assert_close(hessian, h * (1 - h) + g.abs())
    bound = h * (1 - h) + diagonal.abs() / sharpness
    assert bool((hessian >= bound - small).all())


@pytest.mark.slow
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosted_trees_come_closer_by_objective_and_by_rule(library):
    compare = load_example("boosted_trees").compare
    found = dict(compare(library, "synthetic", seed=0, trees=30, n=4000))
    accuracy, violation = found["plain"]
    for name in ("objective, strength 0.5", "rule, tolerance 0.1"):
        own_accuracy, own_violation = found[name]
        assert own_violation < 0.7 * violation  # 800 rows leave much to chance
        assert own_accuracy > accuracy - 0.1


@pytest.mark.slow  # imports lightning, which torch deprecates a call of
@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec:FutureWarning")
def test_lightning_stops_when_the_limit_is_kept():
    train = load_example("lightning_callback").train
    fair, plain = (train(strength, epochs=8, rows=6000) for strength in (1.0, 0.0))
    assert 5 <= fair.current_epoch < 8 == plain.current_epoch
    assert float(fair.callback_metrics["violation_high"]) < 0.2
    assert float(plain.callback_metrics["violation"]) > 0.2
    assert float(fair.callback_metrics["accuracy"]) > 0.65


@pytest.mark.slow  # imports transformers
def test_hugging_face_trainer_reads_the_column_from_the_batch(capsys):
    example = load_example("hugging_face_trainer")
    plain, fair = (
        example.train(strength, epochs=3, rows=1000) for strength in (0, 0.2)
    )
    assert fair["eval_violation"] < plain["eval_violation"] / 2
    assert fair["eval_accuracy"] > 0.65


@pytest.mark.slow  # imports skorch
def test_skorch_trains_with_memberships_and_predicts_without():
    train = load_example("skorch_training").train
    (_, before), (accuracy, after) = (train(x, epochs=8, rows=4000) for x in (0.0, 0.5))
    assert after < before / 2
    assert accuracy > 0.65


@pytest.mark.slow  # imports tensorboard
def test_tensorboard_has_every_group_and_the_figure(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    load_example("tensorboard_logging").train(str(tmp_path), epochs=2, rows=2000)
    found = EventAccumulator(str(tmp_path)).Reload()
    tags = found.Tags()
    assert tags["images"] == ["groups"]
    assert {"loss/fairret", "violation/high", "tpr/everybody", "tpr/sex=man"} <= {
        *tags["scalars"]
    }
    low, value, high = (
        np.array([event.value for event in found.Scalars(f"violation/{name}")])
        for name in ("low", "estimate", "high")
    )
    assert len(value) == 2
    assert (low <= value).all()
    assert (value <= high).all()
    assert math.isclose(found.Scalars("violation/high")[-1].step, 1)
