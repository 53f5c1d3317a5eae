"""A Lightning callback that logs the violation of decisions, and stops in time.

    python examples/lightning_callback.py [--strength X]

It works with every LightningModule that returns logits and has batches of features,
memberships and labels. Training stops when the upper end of the violation's interval
is below a limit, but not at once: a network that has learned little treats all alike.
With a strength of 0, training does not get there. Needs `pip install lightning`.
"""

import argparse

import lightning
import torch
import torch.nn.functional as F
from lightning import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from fairret.lab.dataset import load
from fairret.loss import SmoothMaxLoss
from fairret.metric import Parity


class ParityStopping(Callback):
    """Log the largest violation of validation decisions; stop below a limit."""

    def __init__(self, parity: Parity, limit: float, min_epochs: int = 5) -> None:
        self.parity, self.limit, self.min_epochs = parity, limit, min_epochs

    def on_validation_start(self, trainer: Trainer, model: LightningModule) -> None:
        """Forget the last epoch."""
        self.parity.to(model.device).reset()

    def on_validation_batch_end(
        self, trainer: Trainer, model: LightningModule, outputs: object, batch, *_: int
    ) -> None:
        """Add a batch."""
        feat, sens, label = batch
        self.parity.update(model(feat), sens, label)

    def on_validation_epoch_end(self, trainer: Trainer, model: LightningModule) -> None:
        """Log, and stop if the limit is kept; equal in all processes."""
        largest = self.parity.compute().decisions.largest_violation
        model.log("violation", largest.estimate.float(), prog_bar=True)
        model.log("violation_high", largest.high.float())
        if trainer.current_epoch + 1 >= self.min_epochs and largest.high < self.limit:
            trainer.should_stop = True


class Classifier(LightningModule):
    """A network that aims for equal positive rates."""

    def __init__(self, features: int, strength: float) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)
        )
        self.fairret, self.strength = SmoothMaxLoss("pr", sharpness=5), strength

    def forward(self, feat: Tensor) -> Tensor:
        """Compute logits, `(n,)`."""
        return self.network(feat)

    def training_step(self, batch: list[Tensor], _: int) -> Tensor:
        """Add the term to the loss."""
        feat, sens, label = batch
        logit = self(feat)
        loss = F.binary_cross_entropy_with_logits(logit, label)
        return loss + self.strength * self.fairret(logit, sens, label)

    def validation_step(self, batch: list[Tensor], index: int) -> None:
        """Log the accuracy; the callback does the rest."""
        feat, _, label = batch
        self.log("accuracy", ((self(feat) > 0) == label).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Use Adam."""
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def train(strength: float, epochs: int = 20, rows: int = 8000) -> Trainer:
    """Train on three quarters of the people, and validate on the others."""
    lightning.seed_everything(0, verbose=False)
    people = load("synthetic", n=rows, seed=0)
    sex = people.sens[:, list(people.traits["sex"])]
    feat = (people.feat - people.feat.mean(0)) / people.feat.std(0)
    data = TensorDataset(feat, sex, people.label)
    fit, check = torch.utils.data.random_split(data, [0.75, 0.25])
    parity = Parity("pr", d_s=2, threshold=0.5, pred_as_logit=True)
    trainer = Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=epochs,
        callbacks=[ParityStopping(parity, limit=0.2)],
        logger=False,
        num_sanity_val_steps=0,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    loaders = (DataLoader(fit, batch_size=1024, shuffle=True), DataLoader(check, 1024))
    trainer.fit(Classifier(feat.shape[1], strength), *loaders)
    return trainer


def main() -> None:
    """Train, and print when and where it stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strength", type=float, default=1.0)
    trainer = train(parser.parse_args().strength)
    found = {name: round(float(x), 3) for name, x in trainer.callback_metrics.items()}
    print(f"stopped after {trainer.current_epoch} epochs: {found}")


if __name__ == "__main__":
    main()
