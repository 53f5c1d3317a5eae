"""The listings of the paper's Appendix E, word for word."""

import torch

LISTING_1 = """
import torch
import torch.nn.functional as F

from fairret.statistic import TruePositiveRate
from fairret.loss.violation import NormLoss


# The TruePositiveRate class is a subclass of LinearFractionalStatistic.
statistic = TruePositiveRate()

# The fairret modules accept any LinearFractionalStatistic instance.
fairret = NormLoss(statistic)
fairret_strength = 1.0


def train_epoch(train_loader, model, optimizer):
    for feat, sens, target in train_loader:
        optimizer.zero_grad()
        
        logit = model(feat)
        bce_loss = F.binary_cross_entropy_with_logits(logit, target)
        fairret_loss = fairret(logit, feat, sens, target)
        loss = bce_loss + fairret_strength * fairret_loss
        loss.backward()
        
        optimizer.step()
"""  # noqa: W293 -- as printed

LISTING_2 = """
import torch

from fairret.statistic import LinearFractionalStatistic


class Accuracy(LinearFractionalStatistic, name="acc"):
    # alpha_0
    def nom_intercept(self, feat, label):
        return 1 - label

    # beta_0
    def nom_slope(self, feat, label):
        return 2 * label - 1

    # alpha_1
    def denom_intercept(self, feat, label):
        return torch.ones(feat.shape[0])

    # beta_1
    def denom_slope(self, feat, label):
        return torch.zeros(feat.shape[0])
"""


def data(n=600):
    rng = torch.Generator().manual_seed(0)
    feat = torch.randn(n, 5, generator=rng)
    group = (feat[:, 0] + 0.5 * torch.randn(n, generator=rng) > 0).long()
    noise = torch.randn(n, generator=rng)
    target = (feat[:, 1] + 2 * group + noise > 1).float()[:, None]
    return feat, torch.nn.functional.one_hot(group, 2).float(), target


def test_listing_1_runs_and_lowers_the_violation():
    listing = {}
    exec(LISTING_1, listing)  # the paper's code, unchanged
    feat, sens, target = data()
    dataset = torch.utils.data.TensorDataset(feat, sens, target)
    ends = []
    for strength in (0.0, 1.0):
        listing["fairret_strength"] = strength
        torch.manual_seed(1)
        model = torch.nn.Linear(5, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        loader = torch.utils.data.DataLoader(dataset, batch_size=250)
        for _ in range(15):
            listing["train_epoch"](loader, model, optimizer)
        with torch.no_grad():
            ends.append(listing["fairret"](model(feat), feat, sens, target))
    assert ends[0] > 0.1
    assert ends[1] < 0.4 * ends[0]


def test_listing_2_runs_and_equals_the_built_in_accuracy():
    listing = {}
    exec(LISTING_2, listing)  # the paper's code, unchanged
    from fairret.loss import KLProjectionLoss, NormLoss
    from fairret.statistic import Accuracy, get_statistic

    feat, sens, target = data(50)
    logit = feat[:, :1]
    own = listing["Accuracy"]()
    for loss_cls in (NormLoss, KLProjectionLoss):
        torch.testing.assert_close(
            loss_cls(own)(logit, feat, sens, target),
            loss_cls(Accuracy())(logit, sens, target),
        )
    assert type(get_statistic("acc")) is listing["Accuracy"]
