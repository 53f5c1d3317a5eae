"""Projection onto linear constraints (step (i) of Section 3.2), by its dual."""

from fairret.projection.problem import Problem, Solution, pose
from fairret.projection.result import Projection, Status, status_of
from fairret.projection.solver import MAX_ITER, TOLERANCE, solve, solve_for_loss

__all__ = [
    "MAX_ITER",
    "TOLERANCE",
    "Problem",
    "Projection",
    "Solution",
    "Status",
    "pose",
    "solve",
    "solve_for_loss",
    "status_of",
]
