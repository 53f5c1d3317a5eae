"""Train on several processes with the loss of the global batch.

    torchrun --nproc-per-node 2 examples/many_processes.py [--epochs N] [--rows N]
        [--checkpoint PATH]

A fairret sums over the processes, and its gradient is correct after
`DistributedDataParallel` has averaged it. With a checkpoint, rerun the command to
resume after the last finished epoch; the result is the same as without interruption.
"""

import argparse
import os
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from fairret.lab.dataset import load
from fairret.loss import SmoothMaxLoss
from fairret.metric import Parity

WARM_UP = 2  # epochs at strength 0
STRENGTH = 0.3
TIMEOUT = timedelta(seconds=60)  # how long to wait for a lost process


def main() -> None:
    """Train, and print the largest violation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--checkpoint", type=Path)
    options = parser.parse_args()

    dist.init_process_group("gloo", timeout=TIMEOUT)  # "nccl" on GPUs
    torch.manual_seed(0)
    people = load("synthetic", n=options.rows, seed=0)
    rows = TensorDataset(people.feat, people.sens, people.label)
    sampler = DistributedSampler(rows, seed=0)
    loader = DataLoader(rows, batch_size=128, sampler=sampler)  # per process

    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(people.feat.shape[1], 64), nn.ReLU(), nn.Linear(64, 1))
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    fairret = SmoothMaxLoss("pr", memory=4096)  # rows; a batch has only 128 per process
    parts = {"model": model, "optimizer": optimizer, "fairret": fairret}

    first = resume(options.checkpoint, parts)
    for epoch in range(first, options.epochs):
        sampler.set_epoch(epoch)  # reshuffle
        strength = 0.0 if epoch < WARM_UP else STRENGTH
        for feat, sens, label in loader:
            logit = model(feat).squeeze(1)
            loss = F.binary_cross_entropy_with_logits(logit, label)
            loss = loss + strength * fairret(logit, sens, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        save(options.checkpoint, parts, epoch + 1)

    parity = Parity("pr", names=people.sens_names, pred_as_logit=True)
    with torch.no_grad():
        for feat, sens, label in loader:
            parity.update(model(feat).squeeze(1), sens, label)
    result = parity.compute().scores  # over all processes
    if dist.get_rank() == 0:
        print(
            f"{dist.get_world_size()} processes, epochs {first} to {options.epochs}: "
            f"the largest violation is {result.max_violation:.6f}"
        )
    dist.barrier()  # nobody leaves while another still works
    dist.destroy_process_group()


def resume(path: Path | None, parts: dict[str, object]) -> int:
    """Load the checkpoint, if there is one, and return the epoch to start from."""
    if path is None or not path.exists():
        return 0
    kept = torch.load(path, weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(kept[name])
    return kept["epoch"]


def save(path: Path | None, parts: dict[str, object], epoch: int) -> None:
    """Save a checkpoint; a crash while saving leaves the last one intact."""
    if path is None or dist.get_rank() != 0:
        return
    kept = {name: part.state_dict() for name, part in parts.items()}
    draft = path.with_suffix(".draft")
    torch.save({**kept, "epoch": epoch}, draft)
    os.replace(draft, path)


if __name__ == "__main__":
    main()
