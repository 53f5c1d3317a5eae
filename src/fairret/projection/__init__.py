"""Projection onto linear constraints (step (i) of Section 3.2), by its dual."""

from fairret.projection.matrix import Dense, Matrix, Sparse
from fairret.projection.problem import Band, Problem, Solution
from fairret.projection.result import Projection, Status, find_status
from fairret.projection.solver import MAX_ITER, TOLERANCE, solve

__all__ = [
    "MAX_ITER",
    "TOLERANCE",
    "Band",
    "Dense",
    "Matrix",
    "Problem",
    "Projection",
    "Solution",
    "Sparse",
    "Status",
    "find_status",
    "solve",
]
