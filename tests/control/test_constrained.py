"""A tolerance during training: its gradient, its state, and a model that keeps it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from control.constrained_task import terms_of_three_batches
from control.crowd import Crowd
from fairret.control import Constrained
from fairret.errors import RangeError
from fairret.lab.dataset import load
from fairret.loss import SmoothMaxLoss
from fairret.statistic import get_statistic
from gang import Gang


def unfair_batch(n=400, seed=0):
    g = torch.Generator().manual_seed(seed)
    group = torch.randint(2, (n,), generator=g)
    logit = torch.randn(n, generator=g, dtype=torch.float64) + 1.5 * group - 1
    label = (torch.rand(n, generator=g) < 0.5).double()
    return logit, F.one_hot(group, 2).double(), label


@pytest.mark.parametrize("notion", ["pr", "tpr", "ppv"])
def test_gradient_is_that_of_the_linearised_violation(notion):
    """One batch is the whole window: the derivative of v_k at the hard statistics."""
    logit, sens, label = unfair_batch()
    term = Constrained(notion, max_violation=0.1, rows=800, sharpness=3.0)
    x = logit.clone().requires_grad_()
    term(x, sens, label).backward()

    statistic = get_statistic(notion)
    f = (logit > 0).double()
    n, d = statistic.sums(f, sens, label)
    n_all, d_all = (s[0] for s in statistic.sums(f, torch.ones(400, 1), label))
    gamma, gamma_bar = n / d, n_all / d_all
    v = gamma / gamma_bar - 1
    error = ((1 - gamma_bar) / (gamma_bar * d * 800 / 400)).sqrt()  # of an epoch
    e = 0.1 - (error / 2).clamp(0.02, 0.05)
    step = 3 / 60  # half an epoch counts as a sixtieth
    above, below = (step * (v - e)).clamp_min(0), (step * (-v - e)).clamp_min(0)
    nu = above - below + 4 * v.sign() * (v.abs() - e).clamp_min(0)
    nu = gamma_bar * (d / d_all).sqrt() * nu

    z = logit.clone().requires_grad_()
    h = torch.sigmoid(3 * z)
    soft_n, soft_d = statistic.sums(h, sens, label)
    all_n, all_d = (s[0] for s in statistic.sums(h, torch.ones(400, 1), label))
    change = (soft_n - gamma * soft_d) / d
    change_bar = (all_n - gamma_bar * all_d) / d_all
    ratio = gamma / gamma_bar
    wanted = (nu * (change - ratio * change_bar) / gamma_bar / ratio.clamp_min(1)).sum()
    wanted.backward()
    torch.testing.assert_close(x.grad, z.grad)


def test_model_within_tolerance_is_left_alone():
    logit, sens, label = unfair_batch()
    term = Constrained("pr", max_violation=0.95, rows=400)
    x = logit.clone().requires_grad_()
    term(x, sens, label).backward()
    assert not x.grad.any()


def test_multipliers_move_in_training_only():
    logit, sens, label = unfair_batch()
    term = Constrained("pr", max_violation=0.1, rows=400)
    logit.requires_grad_()
    term.eval()
    term(logit, sens, label)
    with pytest.raises(RangeError, match="No batch was seen in training"):
        term.progress()
    term.train()
    term(logit, sens, label)
    assert not term.progress().reached


def test_model_that_refuses_everybody_has_not_reached_the_tolerance():
    logit, sens, label = unfair_batch()
    term = Constrained("pr", max_violation=0.1, rows=400)
    term((-logit.abs() - 1).requires_grad_(), sens, label)
    assert term.progress().violation.isnan().all()
    assert not term.progress().reached


def test_state_is_kept_in_a_checkpoint():
    logit, sens, label = unfair_batch()
    logit.requires_grad_()
    one = Constrained(SmoothMaxLoss("tpr"), max_violation=0.1, rows=1000)
    other = Constrained("tpr", max_violation=0.1, rows=1000)
    for _ in range(3):
        one(logit, sens, label)
    other.load_state_dict(one.state_dict())
    torch.testing.assert_close(one(logit, sens, label), other(logit, sens, label))


def test_empty_group_has_no_gradient():
    logit, sens, label = unfair_batch()
    sens = torch.cat((sens, torch.zeros(400, 1)), 1)
    term = Constrained("tpr", max_violation=0.1, rows=400)
    x = logit.clone().requires_grad_()
    term(x, sens, 0 * label).backward()
    assert x.grad.isfinite().all()


def train(feat, sens, label, term, *, batch, epochs):
    """Train a network; the term, if there is one, counts after a sixth of the epochs.

    The learning rate decays, which lets the multipliers settle.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(feat.shape[1], 64), nn.ReLU())
    model.extend([nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0)])
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    decay = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda epoch: min(1.0, 1.9 - 1.8 * epoch / epochs)
    )
    for epoch in range(epochs):
        for i in torch.randperm(len(feat)).split(batch):
            logit = model(feat[i])
            loss = F.binary_cross_entropy_with_logits(logit, label[i])
            if term is not None and epoch >= epochs / 6:
                loss = loss + term(logit, sens[i], label[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        decay.step()
    return model(feat).detach()


def synthetic(n):
    people = load("synthetic", n=n, seed=0)
    feat = (people.feat - people.feat.mean(0)) / people.feat.std(0)
    return feat, people.sens, people.label.float().flatten()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "notion", "batch", "epochs", "plain"),
    [
        (lambda: Crowd(2000).data, "pr", 64, 20, 0.35),  # few people
        (lambda: Crowd(2000).data, "pr", 2000, 300, 0.35),  # one step per epoch
        (lambda: synthetic(6000), "tpr", 512, 30, 0.25),  # seven groups
    ],
    ids=["few-people", "one-batch", "many-groups"],
)
def test_trained_model_keeps_the_tolerance(data, notion, batch, epochs, plain):
    feat, sens, label = data()
    term = Constrained(notion, max_violation=0.1, rows=len(feat))
    without = train(feat, sens, label, None, batch=batch, epochs=epochs // 2)
    assert term.measure(without, sens, label).max_violation > plain
    logit = train(feat, sens, label, term, batch=batch, epochs=epochs)
    assert term.measure(logit, sens, label).reached
    right = [float(((x > 0) == label).float().mean()) for x in (without, logit)]
    assert right[1] > right[0] - 0.05


def test_rows_must_be_those_of_an_epoch():
    with pytest.raises(RangeError, match="`rows` must be the number of rows"):
        Constrained("pr", max_violation=0.1, rows=0)


@pytest.mark.process
def test_two_processes_equal_one(tmp_path):
    gang = Gang(2, tmp_path)
    try:
        answers = gang.ask(terms_of_three_batches)
    finally:
        gang.close()
    value, grad, state = terms_of_three_batches(0, 1)
    for other, _, kept in answers:
        torch.testing.assert_close(other, value, rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(kept, state, rtol=1e-8, atol=1e-10)
    mean = torch.cat([own for _, own, _ in answers]) / 2  # as DDP averages
    torch.testing.assert_close(mean, grad, rtol=1e-8, atol=1e-10)
