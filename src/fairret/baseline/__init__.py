"""What the paper compares fairrets with: independence from one trait (App. D.3).

Each has the call of a fairret and goes in its place. Where `needs_hidden` is true, the
call also takes `hidden=`, the last hidden layer of the model.
"""

from fairret.baseline.adversarial import AdversarialDebiasingLoss
from fairret.baseline.base import IndependenceLoss
from fairret.baseline.hsic import HSICLoss
from fairret.baseline.prejudice_remover import PRemoverLoss

__all__ = [
    "AdversarialDebiasingLoss",
    "HSICLoss",
    "IndependenceLoss",
    "PRemoverLoss",
]
