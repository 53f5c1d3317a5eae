"""A fairret in an Accelerate training loop, on two processes.

    torchrun --nproc-per-node 2 examples/accelerate_training.py [--epochs N] [--rows N]

No special code is needed: the loss and the metric sum over the processes that
Accelerate manages. `accelerate launch` works as well as `torchrun`. Needs
`pip install accelerate`.
"""

import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fairret.lab.dataset import load
from fairret.loss import NormLoss
from fairret.metric import Parity


def main() -> None:
    """Train, and print the largest violation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=8000)
    options = parser.parse_args()

    accelerator = Accelerator(cpu=True)
    set_seed(0)
    people = load("synthetic", n=options.rows, seed=0)
    rows = TensorDataset(people.feat, people.sens, people.label)
    network = nn.Sequential(
        nn.Linear(people.feat.shape[1], 64), nn.ReLU(), nn.Linear(64, 1)
    )
    model, optimizer, loader = accelerator.prepare(
        network,
        torch.optim.Adam(network.parameters(), lr=1e-3),
        DataLoader(rows, batch_size=128, shuffle=True),
    )
    fairret = NormLoss("pr")  # has no parameters, so it need not be prepared

    for _ in range(options.epochs):
        for feat, sens, label in loader:
            logit = model(feat).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(logit, label)
            loss = loss + 0.1 * fairret(logit, sens, label)  # equal in all processes
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()

    parity = Parity("pr", names=people.sens_names, pred_as_logit=True)
    with torch.no_grad():
        for feat, sens, label in loader:
            parity.update(model(feat).squeeze(1), sens, label)
    result = parity.compute().scores  # over all processes
    accelerator.print(
        f"{accelerator.num_processes} processes, {options.epochs} epochs: "
        f"the largest violation is {result.max_violation:.6f}"
    )
    accelerator.end_training()


if __name__ == "__main__":
    main()
