"""Put a problem together, of the parts that the processes have of it."""

from torch import Tensor

from fairret.distributed import ALONE, Processes
from fairret.divergence import Divergence, Scores, SmoothDivergence
from fairret.projection.matrix import Dense, Matrix
from fairret.projection.newton import look, sums_of
from fairret.projection.problem import Problem


def pose(
    scores: Scores,
    a: Matrix | Tensor,
    b: Tensor,
    p: Tensor,
    size: Tensor | None = None,
    over: Processes = ALONE,
    divergence: Divergence | None = None,
) -> Problem:
    """Put a problem together.

    Args:
        scores: The scores of this process's rows.
        a: Their constraints, `(m, n)`.
        b: What these rows add to b, `(m,)`.
        p: Their probabilities.
        size: What they add to the constraints' sizes, if that is known, `(m,)`.
        over: The processes.
        divergence: The one to solve for. The sums of Newton's first point then go along
            with those of b and the sizes, rather than in a message of their own.
    """
    a = Dense(a) if isinstance(a, Tensor) else a
    size = a.moment(p, 1) if size is None else size
    own = Problem(scores, a, b, p, size, over)
    read = b.device.type == "cpu"  # elsewhere Newton's method is not the first
    first: list[Tensor] = []
    if over.size > 1 and read and isinstance(divergence, SmoothDivergence):
        first = sums_of(own, divergence, *look(own, divergence))
    b, size, *sums = over.total(b, size, *first)
    return own._replace(b=b, size=size.masked_fill(size == 0, 1), first=tuple(sums))
