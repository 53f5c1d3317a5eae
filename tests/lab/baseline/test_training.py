"""With a baseline in the loss, training unlearns the trait."""

from typing import NamedTuple

import pytest
import torch
from torch import nn

from fairret.lab.baseline import AdversarialDebiasingLoss, HSICLoss, PRemoverLoss
from fairret.loss import NormLoss

N, FEATURES, WIDTH, D = 600, 5, 8, 2


class Task(NamedTuple):
    feat: torch.Tensor
    sens: torch.Tensor
    label: torch.Tensor


def task():
    """The first feature tells the trait, the second the label, which depends on it."""
    rng = torch.Generator().manual_seed(0)
    group = (torch.rand(N, generator=rng) < 0.4).long()
    feat = torch.randn(N, FEATURES, generator=rng)
    feat[:, 0] += 3.0 * group
    noise = torch.rand(N, generator=rng)
    label = (noise < torch.sigmoid(1.5 * feat[:, 1] + 2.0 * group - 1)).float()
    return Task(feat, nn.functional.one_hot(group, D).float(), label)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.Tanh())
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, feat):
        z = self.body(feat)
        return self.head(z), z


def train(make_loss, strength, steps=400):
    feat, sens, label = task()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        net, loss = Net(), make_loss()
    parameters = [*net.parameters(), *loss.parameters()]
    # without momentum, with which model and adversary circle around each other
    optimizer = torch.optim.Adam(parameters, lr=0.01, betas=(0.0, 0.999))
    for _ in range(steps):
        logit, z = net(feat)
        options = {"hidden": z} if loss.needs_hidden else {}
        bce = nn.functional.binary_cross_entropy_with_logits(logit[:, 0], label)
        optimizer.zero_grad()
        (bce + strength * loss(logit, feat, sens, label, **options)).backward()
        optimizer.step()
    return net, loss


def violation(net):
    feat, sens, _ = task()
    with torch.no_grad():
        return NormLoss("pr")(net(feat)[0], sens).item()


def accuracy(net):
    feat, _, label = task()
    with torch.no_grad():
        return ((net(feat)[0][:, 0] > 0) == (label > 0.5)).float().mean().item()


def guessed(net, loss):
    """How often the adversary that was trained with the model finds the group."""
    feat, sens, _ = task()
    with torch.no_grad():
        guess = loss.adversary(net(feat)[1]).argmax(1)
    return (guess == sens.argmax(1)).float().mean().item()


CASES = {
    "PRemover": (PRemoverLoss, 20.0),
    "HSIC": (HSICLoss, 100.0),
    "HSIC, median": (lambda: HSICLoss(bandwidth="median"), 20.0),
    "AdvDebias": (lambda: AdversarialDebiasingLoss(D, WIDTH), 5.0),
    "AdvDebias of scores": (lambda: AdversarialDebiasingLoss(D), 10.0),
}


@pytest.fixture(scope="module")
def unfair():
    return train(PRemoverLoss, 0.0)[0]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_training_lowers_the_violation_of_demographic_parity(case, unfair):
    net, _ = train(*CASES[case])
    before = violation(unfair)
    assert before > 0.5
    assert violation(net) < 0.25 * before
    assert accuracy(net) > 0.6  # it still tells the labels apart


@pytest.mark.slow
def test_adversary_falls_to_the_base_rate():
    base_rate = task().sens.mean(0).max().item()
    make_loss, strength = CASES["AdvDebias"]
    watching, fought = train(make_loss, 0.0), train(make_loss, strength)
    assert guessed(*watching) > base_rate + 0.25  # strength 0: it only watches
    assert guessed(*fought) < base_rate + 0.05
    feat, sens, _ = task()
    gains = []
    for net, loss in (watching, fought):
        logit, z = net(feat)
        gains.append(loss(logit, sens, hidden=z).item())
    assert gains[0] > 0.3  # nats, of 0.68 that there are to know
    assert gains[1] < 0.05
