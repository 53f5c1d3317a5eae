"""Follow a fairret in TensorBoard: the loss, the groups, and a figure with intervals.

    python examples/tensorboard_logging.py [--folder runs]
    tensorboard --logdir runs

Needs `pip install tensorboard matplotlib`.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from fairret.lab.dataset import load
from fairret.loss import SmoothMaxLoss
from fairret.metric import Parity


def train(folder: str, epochs: int = 20, rows: int = 8000) -> None:
    """Train on half of the people, and measure decisions about the others."""
    torch.manual_seed(0)
    people = load("synthetic", n=rows, seed=0)
    feat = (people.feat - people.feat.mean(0)) / people.feat.std(0)
    sens, label = people.sens, people.label
    fit, check = torch.arange(rows).chunk(2)
    network = nn.Sequential(
        nn.Linear(feat.shape[1], 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    fairret = SmoothMaxLoss("tpr")
    parity = Parity("tpr", names=people.sens_names, threshold=0.5, pred_as_logit=True)

    with SummaryWriter(folder) as writer:
        for epoch in range(epochs):
            for batch in fit[torch.randperm(len(fit))].split(1024):
                logit = network(feat[batch])
                loss = F.binary_cross_entropy_with_logits(logit, label[batch])
                term = fairret(logit, sens[batch], label[batch])
                optimizer.zero_grad()
                (loss + 0.3 * term).backward()
                optimizer.step()
            writer.add_scalar("loss/cross-entropy", loss, epoch)  # of the last batch
            writer.add_scalar("loss/fairret", term, epoch)

            parity.reset()
            with torch.no_grad():
                parity.update(network(feat[check]), sens[check], label[check])
            result = parity.compute().decisions
            writer.add_scalar("violation/estimate", result.max_violation, epoch)
            writer.add_scalar("violation/low", result.largest_violation.low, epoch)
            writer.add_scalar("violation/high", result.largest_violation.high, epoch)
            for name, group in result.groups.items():
                writer.add_scalar(f"tpr/{name}", group.statistic, epoch)
            writer.add_scalar("tpr/everybody", result.overall, epoch)
        figure, _ = parity.plot()
        writer.add_figure("groups", figure, epochs)


def main() -> None:
    """Train, and say where to look."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="runs")
    folder = parser.parse_args().folder
    train(folder)
    print(f"tensorboard --logdir {folder}")


if __name__ == "__main__":
    main()
