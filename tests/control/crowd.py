"""People whose score and groups given the features are known."""

import torch
from torch import nn

from fairret.statistic import get_statistic

N = 1500
FLAG = 0.85  # how often the second feature names the group


class Crowd:
    """People whose score and groups given the features are known.

    The first feature is N(0.8 S, 1), the second tells S with probability `flag`, and
    the label depends on the first alone.
    """

    def __init__(self, n=N, *, shift=0.8, flag=FLAG, seed=0):
        g = torch.Generator().manual_seed(seed)
        s = (torch.rand(n, generator=g) < 0.4).float()
        x = torch.randn(n, generator=g) + shift * s
        z = torch.where(torch.rand(n, generator=g) < flag, s, 1 - s)
        self.feat = torch.stack((x, z), 1)
        self.sens = torch.stack((1 - s, s), 1)
        self.logit = 1.5 * x - 0.6
        self.label = (torch.rand(n, generator=g) < torch.sigmoid(self.logit)).float()
        odds = torch.logit(torch.tensor(0.4)) + shift * x - shift**2 / 2
        if flag < 1:
            odds = odds + (2 * z - 1) * torch.logit(torch.tensor(flag))
        one = torch.sigmoid(odds)
        self.q = torch.stack((1 - one, one), 1)

    @property
    def data(self):
        return self.feat, self.sens, self.label


def true_network():
    network = nn.Linear(2, 1)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[1.5, 0.0]]))
        network.bias.fill_(-0.6)
    return network


def violation_of(decision, crowd, notion):
    statistic = get_statistic(notion)
    gamma = statistic(decision, crowd.sens, crowd.label)
    return float((gamma / statistic.overall(decision, crowd.label) - 1).abs().max())


class First(nn.Module):
    def forward(self, feat):
        return feat[:, 0]


class Rest(nn.Module):
    def forward(self, feat):
        return feat[:, 1:]
