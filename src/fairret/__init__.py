"""Fairness as a differentiable loss term for PyTorch.

An independent implementation of "fairret: a Framework for Differentiable Fairness
Regularization Terms" (Buyl, Defrance and De Bie, ICLR 2024).
"""

import importlib
from typing import TYPE_CHECKING

from fairret import loss, sensitive, statistic
from fairret.loss import project
from fairret.projection import Projection, Status

if TYPE_CHECKING:  # what __getattr__ finds when it is asked for
    from fairret import metric
    from fairret.auditing import audit

__version__ = "0.2.0"

__all__ = [
    "Projection",
    "Status",
    "__version__",
    "audit",
    "loss",
    "metric",
    "project",
    "sensitive",
    "statistic",
]


def __getattr__(name: str) -> object:
    """Import what is not needed for training only when it is asked for."""
    if name == "audit":
        return importlib.import_module("fairret.auditing").audit
    if name in ("estimator", "lab", "metric"):
        return importlib.import_module(f"fairret.{name}")
    raise AttributeError(f"module 'fairret' has no attribute {name!r}")
