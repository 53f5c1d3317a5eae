"""Fairness as a differentiable loss term for PyTorch.

An independent implementation of "fairret: a Framework for Differentiable Fairness
Regularization Terms" (Buyl, Defrance and De Bie, ICLR 2024).
"""

from fairret import loss, sensitive, statistic
from fairret.loss import project
from fairret.projection import Projection, Status

__version__ = "0.2.0"

__all__ = [
    "Projection",
    "Status",
    "__version__",
    "loss",
    "project",
    "sensitive",
    "statistic",
]
