"""What fairrets are compared with: the baselines of App. D.3, and other packages.

The losses have the call of a fairret. Where `needs_hidden` is true, the call also takes
`hidden=`, the last hidden layer of the model.
"""

from fairret.lab.baseline.adversarial import AdversarialDebiasingLoss
from fairret.lab.baseline.base import IndependenceLoss
from fairret.lab.baseline.hsic import HSICLoss
from fairret.lab.baseline.prejudice_remover import PRemoverLoss

__all__ = [
    "AdversarialDebiasingLoss",
    "HSICLoss",
    "IndependenceLoss",
    "PRemoverLoss",
]
