"""What a user of fairret 0.1.3 does for a tolerance: a loop over strengths.

It runs in a process that has 0.1.3 as `fairret`, so it imports nothing else of ours.
The names that it uses are in both versions.
"""

import math
from typing import Any

STATISTICS = {"pr": "PositiveRate", "tpr": "TruePositiveRate"}
STRENGTHS = (0.1, 1.0, 10.0)
EPOCHS = 30
BATCH = 1024


def inputs(goal: Any, label: Any) -> tuple[Any, ...]:
    """Return what a statistic of 0.1.3 takes besides scores and groups."""
    return () if goal.notion == "pr" else (label,)


def fit(X: Any, y: Any, traits: Any, goal: Any) -> Any:
    """Keep the most accurate network within the tolerance on a fifth of the rows."""
    import pandas as pd
    import torch
    from torch import nn

    from fairret import loss, statistic

    gamma = getattr(statistic, STATISTICS[goal.notion])()
    fairret = loss.NormLoss(gamma)
    torch.manual_seed(goal.seed)
    feat = torch.tensor(X.to_numpy("float32"))
    sens = torch.tensor(pd.get_dummies(traits).to_numpy("float32"))
    label = torch.tensor(y, dtype=torch.float32)[:, None]
    held, train = torch.randperm(len(y)).tensor_split([len(y) // 5])
    best: Any = None
    for strength in STRENGTHS:
        network = nn.Sequential(
            *(nn.Linear(feat.shape[1], 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU()),
            *(nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 1)),
        )
        optimizer = torch.optim.Adam(network.parameters(), 0.001)
        for _ in range(EPOCHS):
            for rows in torch.split(train[torch.randperm(len(train))], BATCH):
                logit, y_rows = network(feat[rows]), label[rows]
                term = fairret(logit, sens[rows], *inputs(goal, y_rows))
                entropy = nn.functional.binary_cross_entropy_with_logits(logit, y_rows)
                optimizer.zero_grad()
                torch.autograd.backward(entropy + strength * term)
                optimizer.step()
        yes, y_held = (network(feat[held]) > 0).float(), label[held]
        known = inputs(goal, y_held)
        overall = gamma.overall_statistic(yes, *known)
        ratios = gamma(yes, sens[held], *known) / overall
        v = torch.nan_to_num((ratios - 1).abs(), nan=math.inf).max().item()
        accuracy = (yes == y_held).float().mean().item()
        rank = (v > goal.tolerance, v if v > goal.tolerance else -accuracy)
        if best is None or rank < best[0]:
            best = rank, network
    return best[1]


def predict(model: Any, X: Any, traits: Any, goal: Any) -> Any:
    """Decide at one half."""
    import torch

    return (model(torch.tensor(X.to_numpy("float32"))) > 0).numpy()[:, 0]


def score(model: Any, X: Any, traits: Any, goal: Any) -> Any:
    """Return the logits."""
    import torch

    with torch.no_grad():
        return model(torch.tensor(X.to_numpy("float32"))).numpy()[:, 0]
