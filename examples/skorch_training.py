"""A fairret in skorch, which makes a network a classifier of scikit-learn.

    python examples/skorch_training.py [--strength X]

`X` is a dictionary: `feat` goes to the network, `sens` to the loss alone. Predictions
need no `sens`. Needs `pip install skorch`.
"""

import argparse

import torch
from skorch import NeuralNetBinaryClassifier
from skorch.helper import SliceDict
from torch import Tensor, nn

from fairret.lab.dataset import load
from fairret.loss import FairnessLoss, SmoothMaxLoss
from fairret.metric import Parity


class Network(nn.Module):
    """A network that ignores the memberships in its batch."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)
        )

    def forward(self, feat: Tensor, sens: Tensor | None = None) -> Tensor:
        """Compute logits, `(n,)`."""
        return self.layers(feat)


class FairretNet(NeuralNetBinaryClassifier):
    """A classifier that is trained with a fairret; `strength` can be searched."""

    def __init__(
        self, *args: object, fairret: FairnessLoss, strength: float, **options: object
    ) -> None:
        self.fairret, self.strength = fairret, strength
        super().__init__(*args, **options)

    def get_loss(self, y_pred: Tensor, y_true: Tensor, X=None, training=False):
        """Add the term to the cross-entropy, in training."""
        loss = super().get_loss(y_pred, y_true, X, training)
        if not training:
            return loss
        sens = X["sens"].to(y_pred.device)
        label = y_true.to(y_pred.device)
        return loss + self.strength * self.fairret(y_pred, sens, label)


def train(strength: float, epochs: int = 20, rows: int = 8000) -> tuple[float, float]:
    """Train on half of the people; return accuracy and violation on the others."""
    torch.manual_seed(0)
    people = load("synthetic", n=rows, seed=0)
    feat = ((people.feat - people.feat.mean(0)) / people.feat.std(0)).numpy()
    sens, label = people.sens.numpy(), people.label.numpy()
    half = rows // 2
    net = FairretNet(
        Network,
        module__features=feat.shape[1],
        fairret=SmoothMaxLoss("pr", sharpness=5),
        strength=strength,
        optimizer=torch.optim.Adam,
        lr=1e-2,
        batch_size=1024,
        max_epochs=epochs,
        verbose=0,
    )
    net.fit(SliceDict(feat=feat[:half], sens=sens[:half]), label[:half])

    prob = torch.tensor(net.predict_proba({"feat": feat[half:]})[:, 1])
    parity = Parity("pr", names=people.sens_names, threshold=0.5)
    parity.update(prob, people.sens[half:], people.label[half:])
    accuracy = ((prob > 0.5) == people.label[half:]).double().mean()
    return float(accuracy), float(parity.compute().decisions.max_violation)


def main() -> None:
    """Train without and with the term."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strength", type=float, default=0.5)
    for strength in (0.0, parser.parse_args().strength):
        accuracy, violation = train(strength)
        print(f"strength {strength}: {accuracy=:.3f}, {violation=:.3f}")


if __name__ == "__main__":
    main()
