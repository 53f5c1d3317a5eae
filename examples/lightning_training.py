"""A fairret in a LightningModule, on two processes.

    python examples/lightning_training.py [--devices N] [--epochs N] [--rows N]

No special code is needed: the loss and the metric sum over the processes that Lightning
starts. Needs `pip install lightning`.
"""

import argparse

import lightning
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from fairret.lab.dataset import load
from fairret.loss import KLProjectionLoss
from fairret.metric import MaxViolation


class FairClassifier(lightning.LightningModule):
    """A classifier that aims for equal true positive rates in all groups."""

    def __init__(self, features: int, groups: int, strength: float = 10.0) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, 1)
        )
        self.fairret = KLProjectionLoss("tpr")
        self.violation = MaxViolation("tpr", d_s=groups, pred_as_logit=True)
        self.strength = strength

    def training_step(self, batch: list[Tensor], _: int) -> Tensor:
        """Compute the loss; each process has a part of the global batch."""
        feat, sens, label = batch
        logit = self.network(feat).squeeze(1)
        fairret = self.fairret(logit, sens, label)  # equal in all processes
        self.log("fairret", fairret, prog_bar=True)
        loss = F.binary_cross_entropy_with_logits(logit, label)
        return loss + self.strength * fairret

    def validation_step(self, batch: list[Tensor], _: int) -> None:
        """Update the metric with a batch."""
        feat, sens, label = batch
        self.violation.update(self.network(feat).squeeze(1), sens, label)
        self.log("violation", self.violation, on_epoch=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Use Adam."""
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main() -> None:
    """Train, and print the largest violation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=8000)
    options = parser.parse_args()

    lightning.seed_everything(0, verbose=False)
    people = load("synthetic", n=options.rows, seed=0)
    rows = TensorDataset(people.feat, people.sens, people.label)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=options.devices,
        strategy="ddp",
        max_epochs=options.epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = FairClassifier(people.feat.shape[1], people.sens.shape[1])
    loader = DataLoader(rows, batch_size=128, shuffle=True)
    trainer.fit(model, loader, DataLoader(rows, batch_size=1024))
    if trainer.is_global_zero:
        violation = trainer.callback_metrics["violation"]
        print(
            f"{trainer.world_size} processes, {options.epochs} epochs: "
            f"the largest violation is {violation:.6f}"
        )


if __name__ == "__main__":
    main()
