"""How many threads a fit uses."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits

FEW_ROWS = 50_000  # threads that share fewer rows mostly wait for each other


def few_threads(rows: int) -> AbstractContextManager[object]:
    """Use one thread for a small table, which on a busy machine is much faster."""
    limits: AbstractContextManager[object] = threadpool_limits(
        1 if rows < FEW_ROWS else None
    )
    return limits
