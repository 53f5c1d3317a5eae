"""Projection onto linear constraints (step (i) of Section 3.2), by its dual."""

from fairret.projection.matrix import Dense, Matrix, Sparse
from fairret.projection.pose import pose
from fairret.projection.problem import Problem, Solution
from fairret.projection.result import Projection, Status, status_of
from fairret.projection.solver import MAX_ITER, TOLERANCE, solve

__all__ = [
    "MAX_ITER",
    "TOLERANCE",
    "Dense",
    "Matrix",
    "Problem",
    "Projection",
    "Solution",
    "Sparse",
    "Status",
    "pose",
    "solve",
    "status_of",
]
