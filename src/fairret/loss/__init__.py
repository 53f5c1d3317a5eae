"""Fairness regularisation terms (Section 3 of the paper)."""

from fairret.loss.base import FairnessLoss
from fairret.loss.postprocessing import project
from fairret.loss.projection import (
    ChiSquaredProjectionLoss,
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    ProjectionLoss,
    SquaredEuclideanProjectionLoss,
    TotalVariationProjectionLoss,
)
from fairret.loss.violation import LSELoss, NormLoss, SmoothMaxLoss, ViolationLoss

__all__ = [
    "ChiSquaredProjectionLoss",
    "FairnessLoss",
    "JensenShannonProjectionLoss",
    "KLProjectionLoss",
    "LSELoss",
    "NormLoss",
    "ProjectionLoss",
    "SmoothMaxLoss",
    "SquaredEuclideanProjectionLoss",
    "TotalVariationProjectionLoss",
    "ViolationLoss",
    "project",
]
