"""People with a known score, for tests of decision rules."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from control.crowd import Crowd, true_network
from fairret.control import control_network


class People(NamedTuple):
    eta: Tensor  # P(Y = 1 | x, s), the truth
    sens: Tensor
    label: Tensor
    q: tuple[Tensor, Tensor]  # E[S | x, y], noisy


def draw_people(n: int, d_s: int, seed: int = 0) -> People:
    """Draw groups whose scores differ by group, with sizes that differ too."""
    g = torch.Generator().manual_seed(seed)
    size = torch.arange(1, d_s + 1, dtype=torch.float64)
    group = torch.multinomial(size, n, replacement=True, generator=g)
    x = torch.randn(n, generator=g, dtype=torch.float64)
    z = 1.4 * (x + 0.9 * (group / max(d_s - 1, 1) - 0.5) - 0.5)
    eta = torch.sigmoid(z)
    label = (torch.rand(n, generator=g, dtype=torch.float64) < eta).double()
    sens = torch.nn.functional.one_hot(group, d_s).double()
    logits = 1.5 * sens + 0.5 * torch.randn(n, d_s, generator=g, dtype=torch.float64)
    q1 = torch.softmax(logits + 0.3 * label[:, None], 1)
    q0 = torch.softmax(logits, 1)
    return People(eta, sens, label, (q0, q1))


@pytest.fixture(scope="session")
def people() -> People:
    return draw_people(3000, 3)


@pytest.fixture(scope="session")
def crowd():
    return Crowd()


@pytest.fixture(scope="session")
def blind(crowd):
    return control_network(
        true_network(),
        crowd.data,
        notion="pr",
        max_violation=0.1,
        refit=False,
        adapt=False,
    )


@pytest.fixture(scope="session")
def informed(crowd):
    return control_network(
        true_network(),
        crowd.data,
        max_violation=0.1,
        informed=True,
        compare=False,
        adapt=False,
    )


class Population(NamedTuple):
    """People with exact scores: eta and q are the true conditional probabilities."""

    eta: Tensor  # P(Y = 1 | x)
    informed: Tensor  # P(Y = 1 | x, s)
    sens: Tensor
    label: Tensor
    q: tuple[Tensor, Tensor]


def draw_population(n: int, d_s: int, seed: int = 0) -> Population:
    """Draw two features per person, normal given the group, and apply Bayes' rule."""
    g = torch.Generator().manual_seed(seed)
    size = torch.arange(1, d_s + 1, dtype=torch.float64)
    group = torch.multinomial(size, n, replacement=True, generator=g)
    place = torch.linspace(-0.5, 0.5, d_s, dtype=torch.float64)
    mean = torch.stack((0.9 * place, 1.5 * torch.cos(5 * place)), 1)
    x = mean[group] + torch.randn(n, 2, generator=g, dtype=torch.float64)
    squares = (x[:, None] - mean).square().sum(-1)
    posterior = torch.softmax(size.log() - squares / 2, 1)
    each = torch.sigmoid(1.4 * (x[:, :1] - 0.5) + 0.4 * place)
    eta = (posterior * each).sum(1)
    informed = each.gather(1, group[:, None])[:, 0]
    label = (torch.rand(n, generator=g, dtype=torch.float64) < informed).double()
    sens = torch.nn.functional.one_hot(group, d_s).double()
    q0 = posterior * (1 - each) / (1 - eta)[:, None]
    q1 = posterior * each / eta[:, None]
    return Population(eta, informed, sens, label, (q0, q1))
