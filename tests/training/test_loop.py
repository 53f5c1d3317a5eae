"""Training: what starts equal stays equal, and the term counts when it should."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from fairret.lab.baseline import AdversarialDebiasingLoss
from fairret.lab.experiment.methods import METHODS, Task
from fairret.loss import NormLoss
from fairret.metric import MaxViolation
from fairret.training import (
    DivergedError,
    Network,
    TrainingSettings,
    score,
    split_rows,
    strength_at,
    train,
)
from fairret.training.loop import Course, objective


def weights(trained):
    return torch.cat([x.detach().flatten() for x in trained.network.parameters()])


class Watcher(nn.Module):
    """A term that remembers the labels of the batches it has seen."""

    def __init__(self, value=0.0):
        super().__init__()
        self.value, self.seen = value, []

    def forward(self, logit, *, sens, label):
        self.seen.append((sens, label))
        return logit.mean() * 0 + self.value


def test_defaults_are_those_of_the_paper():
    usual = TrainingSettings()
    assert (usual.epochs, usual.warm_up, usual.batch) == (100, 20, 4096)
    assert (usual.learning_rate, usual.hidden) == (1e-3, (256, 128, 32))
    assert usual.validation == 0


def test_strength_is_zero_for_the_first_twenty_epochs():
    assert [strength_at(epoch, 3.5) for epoch in (0, 19, 20, 99)] == [0, 0, 3.5, 3.5]
    assert [strength_at(epoch, 2.0, 1) for epoch in (0, 1)] == [0, 2]
    assert strength_at(0, 2.0, 0) == 2


def test_training_is_reproducible_to_the_bit(split, quick):
    first, again = (train(split, NormLoss("pr"), 1.0, quick, seed=4) for _ in range(2))
    assert torch.equal(weights(first), weights(again))
    assert first.losses == again.losses
    other = train(split, NormLoss("pr"), 1.0, quick, seed=5)
    assert not torch.equal(weights(first), weights(other))


def test_every_term_starts_alike_and_sees_the_same_batches(split, quick):
    no_warm_up = replace(quick, warm_up=0)
    one, two = Watcher(), Watcher(0.5)
    adversary = AdversarialDebiasingLoss(split.train.sens.shape[1], 5)
    plain = train(split, None, 0.0, quick, seed=2)
    for term, strength in ((one, 1.0), (two, 7.0)):
        trained = train(split, term, strength, no_warm_up, seed=2)
        assert torch.equal(weights(trained), weights(plain))
    for (_, label), (_, same) in zip(one.seen, two.seen, strict=True):
        assert torch.equal(label, same)
    warm = train(split, adversary, 1.0, replace(quick, warm_up=4, epochs=4), seed=2)
    short = train(split, None, 0.0, replace(quick, epochs=4), seed=2)
    assert torch.equal(weights(warm), weights(short))


def test_strength_zero_is_no_term(split, quick):
    plain = train(split, None, 0.0, quick, seed=3)
    watcher = Watcher()
    zero = train(split, watcher, 0.0, quick, seed=3)
    assert torch.equal(weights(plain), weights(zero))
    assert watcher.seen == []


def test_term_counts_only_after_the_warm_up(split, quick):
    plain = train(split, None, 0.0, quick, seed=3)
    trained = train(split, Watcher(2.0), 3.0, quick, seed=3)
    for epoch, (with_it, without) in enumerate(
        zip(trained.losses, plain.losses, strict=True)
    ):
        extra = 6.0 if epoch >= quick.warm_up else 0.0
        assert with_it - without == pytest.approx(extra, abs=1e-6)  # float32


@pytest.mark.parametrize(
    ("rows", "batch", "sizes"),
    [
        (12, 4, [4, 4, 4]),
        (13, 4, [4, 4, 5]),  # a rest below half a batch joins the last one
        (15, 4, [4, 4, 4, 3]),
        (3, 7, [3]),
        (5, 5, [5]),
        (11, 1, [1] * 11),
    ],
)
def test_batches_cover_each_row_once_an_epoch(split, quick, rows, batch, sizes):
    some = split.train.take(torch.arange(rows))._replace(label=torch.arange(rows) / 20)
    watcher = Watcher()
    settings = replace(quick, batch=batch, warm_up=0, epochs=2)
    train(split._replace(train=some), watcher, 1.0, settings, seed=0)
    for epoch in (watcher.seen[: len(sizes)], watcher.seen[len(sizes) :]):
        assert [len(label) for _, label in epoch] == sizes
        dealt = torch.cat([label for _, label in epoch])
        assert torch.equal(dealt.sort()[0], some.label)
    if rows > 5:
        assert not torch.equal(watcher.seen[0][1], watcher.seen[len(sizes)][1])


def test_parameters_of_an_adversary_are_trained(split, quick):
    adversary = AdversarialDebiasingLoss(2, quick.hidden[-1])
    sex = split.train._replace(sens=split.train.sens[:, :2])
    before = [x.detach().clone() for x in adversary.parameters()]
    train(split._replace(train=sex), adversary, 1.0, quick, seed=0)
    after = list(adversary.parameters())
    assert not any(map(torch.equal, before, after))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_loss_that_is_not_finite_is_an_error(split, quick, value):
    words = (
        rf"term must be finite; it makes the loss {value} in epoch 2, .* is 0\.\d+\."
    )
    with pytest.raises(DivergedError, match=words):
        train(split, Watcher(value), 3.0, quick, seed=0)
    hot = replace(quick, learning_rate=1e30)
    with pytest.raises(DivergedError, match=r"`strength` .* with 3 it is .* epoch 0\."):
        train(split, Watcher(0.0), 3.0, hot, seed=0)


@pytest.mark.slow
def test_validation_keeps_the_best_epoch_after_the_warm_up(people, quick):
    split = split_rows(people.feat, people.sens, people.label, seed=0, validation=0.3)
    settings = replace(quick, epochs=14, learning_rate=0.05, batch=100, validation=0.3)
    term, states = NormLoss("pr"), []
    trained = train(split, term, 0.5, settings, seed=0)
    # the same run, stopped after each epoch, has the same networks on its way
    for epochs in range(1, settings.epochs + 1):
        stopped = train(
            split._replace(validation=None),
            term,
            0.5,
            replace(settings, epochs=epochs),
            seed=0,
        )
        with torch.no_grad():
            value = objective(stopped.network, split.validation, term, 0.5).item()
        states.append((value, epochs - 1, weights(stopped)))
    _, epoch, best = min(states[settings.warm_up :], key=lambda state: state[0])
    assert trained.epoch == epoch < settings.epochs - 1
    assert torch.equal(weights(trained), best)


def test_without_validation_the_last_epoch_is_kept(split, quick):
    epochs = []
    trained = train(split, None, 0.0, quick, seed=0, on_epoch=epochs.append)
    assert epochs == list(range(quick.epochs))
    assert trained.epoch == epochs[-1]
    assert len(trained.losses) == quick.epochs
    assert trained.seconds > 0
    assert not trained.network.training


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].make])
def test_every_method_trains_and_is_validated(name, people, quick):
    split = split_rows(people.feat, people.sens, people.label, seed=0, validation=0.3)
    sex = [split_._replace(sens=split_.sens[:, :2]) for split_ in split]
    task = Task("pr", 2, quick.hidden[-1])
    options = {key: option.default for key, option in METHODS[name].options.items()}
    term = METHODS[name].make(task, **options)
    trained = train(type(split)(*sex), term, 1.0, quick, seed=0)
    assert all(map(math.isfinite, trained.losses))
    assert quick.warm_up <= trained.epoch < quick.epochs


def test_violation_falls_with_a_fairret(split):
    settings = TrainingSettings(
        epochs=40, warm_up=10, batch=700, hidden=(16,), learning_rate=0.01
    )
    found = []
    for term in (None, NormLoss("pr")):
        trained = train(split, term, 1.0, settings, seed=0)
        rows = split.train
        metric = MaxViolation("pr")
        metric.update(score(trained.network, rows.feat), rows.sens, rows.label)
        found.append(metric.compute().item())
    assert found[0] > 0.25
    assert found[1] < 0.3 * found[0]


def test_scores_are_probabilities_in_float64(split):
    prob = score(Network(split.test.feat.shape[1], (4,)), split.test.feat)
    assert prob.dtype == torch.float64
    assert prob.shape == (len(split.test.label),)
    assert ((prob > 0) & (prob < 1)).all()


def test_training_stops_after_epochs_without_improvement(people, quick):
    split = split_rows(people.feat, people.sens, people.label, seed=0, validation=0.3)
    settings = replace(quick, epochs=40, learning_rate=0.1, warm_up=0, patience=3)
    course = Course(split.train, None, settings, seed=0)
    kept = course.run(0.0, split.validation)
    assert len(course.losses) == len(course.validations) == kept + 1 + 3 < 40
    assert course.validations[kept] == min(course.validations)


def test_weights_count_like_repeated_rows(split, quick):
    times = torch.arange(len(split.train.label)) % 3 + 1
    rows = torch.repeat_interleave(torch.arange(len(times)), times)
    settings = replace(quick, batch=10_000, warm_up=0, epochs=2)
    weight = times / times.float().mean()
    courses = [
        Course(own, NormLoss("pr"), settings, seed=0, weight=given)
        for own, given in (
            (split.train, weight),
            (split.train.take(rows), None),
            (split.train, None),
        )
    ]
    for course in courses:
        course.run(1.0)
    weighted, repeated, plain = map(weights, courses)
    torch.testing.assert_close(weighted, repeated)
    assert not torch.allclose(weighted, plain, rtol=1e-3)


def test_any_network_can_be_trained_in_place(split, quick):
    module = nn.Sequential(nn.Linear(split.train.feat.shape[1], 1), nn.Dropout(0.5))
    course = Course(split.train, NormLoss("pr"), quick, seed=0, network=module)
    assert course.run(1.0) == quick.epochs - 1
    assert course.losses[-1] < course.losses[0] + 1
    assert [math.isnan(x) for x in course.terms] == [True, True, False, False, False]
    assert not module.training
