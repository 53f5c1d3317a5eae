"""What a projection reports."""

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

import torch
from torch import Tensor

from fairret.divergence import SquaredEuclidean
from fairret.projection.interior_point import interior_point
from fairret.projection.problem import Problem, Solution

ArrayT = TypeVar("ArrayT")
SED = SquaredEuclidean()
PROOF = 1e-9  # least distance from zero of the gaps that are possible


class Status(str, Enum):
    """Why the solver stopped."""

    CONVERGED = "converged: the constraints hold to within the tolerance"
    ITERATION_LIMIT = "iteration limit: the optimum was not reached"
    INFEASIBLE = "infeasible: no scores meet the constraints; this is the least gap"


@dataclass(frozen=True, repr=False)
class Projection(Generic[ArrayT]):
    """The closest fair scores, with the status of the solver.

    Attributes:
        f_star: Projected scores, in the type and shape of the input.
        status: Why the solver stopped.
        residual: Largest gap of a constraint, relative to the share of its group and,
            for smooth divergences, to its statistic, taken between 1e-3 and 1.
        iterations: Number of steps.
        divergence: Mean divergence of `f_star` from the scores.
    """

    f_star: ArrayT
    status: Status
    residual: float
    iterations: int
    divergence: float

    def __repr__(self) -> str:
        """Show everything but the scores."""
        return (
            f"Projection(status={self.status.name}, residual={self.residual:.1e}, "
            f"iterations={self.iterations}, divergence={self.divergence:.4g})"
        )


def proves_infeasible(problem: Problem, v: Tensor) -> bool:
    r"""Whether v shows that no scores meet the constraints (Farkas).

    .. math::
        \min_{0 \le f \le 1} v \cdot \Big(b + \sum_i p_i a_i f_i\Big)
        = v \cdot b - \sum_i p_i \max(0, -v \cdot a_i) > 0

    Within a band it must exceed :math:`|v|` times the largest gaps.
    """
    largest = torch.linalg.vector_norm(v * _rms(problem), torch.inf)
    v = v / largest.clamp_min(torch.finfo(v.dtype).tiny)
    (most,) = problem.over.total(problem.p @ torch.relu(-problem.t(v)))
    least = problem.b @ v - most
    if problem.band is not None:
        least = least - problem.band.b @ v.abs()
    return bool(least > PROOF)


def _proofs(problem: Problem, solution: Solution) -> tuple[Tensor, Tensor]:
    """Candidates for a proof: the least gap, and diverging multipliers."""
    return solution.g / _rms(problem).square(), solution.nu


def _rms(problem: Problem) -> Tensor:
    rms = problem.rms()
    return rms.masked_fill(rms == 0, 1)


def find_status(problem: Problem, solution: Solution, tol: float) -> Status:
    """Say why the solver stopped; if necessary, search for a proof of infeasibility."""
    if solution.residual <= tol:
        return Status.CONVERGED if solution.optimal else Status.ITERATION_LIMIT
    if any(proves_infeasible(problem, v) for v in _proofs(problem, solution)):
        return Status.INFEASIBLE
    # least squares converges to the least gap, and that gap is a proof
    least = interior_point(problem, SED, tol=0.0, max_iter=50, read=True)
    if any(proves_infeasible(problem, v) for v in _proofs(problem, least)):
        return Status.INFEASIBLE
    return Status.ITERATION_LIMIT
