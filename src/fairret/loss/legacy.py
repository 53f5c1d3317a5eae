"""Options of 0.1.3's projections, which were passed to cvxpy and have no use here."""

import warnings
from collections.abc import Mapping

from fairret.checks import check_options
from fairret.errors import ArgumentError, RangeError

POSITIONAL = ("force_proj_normalized", "proj_eps")
OURS = (
    "max_violation",
    "gradient",
    "max_iter",
    "tol",
    "sharpness",
    "memory",
    "process_group",
)
WITHOUT_EFFECT = frozenset(
    (
        *POSITIONAL,
        "acceleration_lookback",
        "alpha",
        "enforce_dpp",
        "eps",
        "eps_abs",
        "eps_rel",
        "ignore_dpp",
        "normalize",
        "scale",
        "solver",
        "use_indirect",
        "verbose",
        "warm_start",
    )
)  # fmt: skip -- a list of words


def read_solver_options(
    positional: tuple[object, ...], options: Mapping[str, object], cls: str
) -> int | None:
    """Accept the options of 0.1.3 with a warning, and return `max_iters`."""
    if len(positional) > len(POSITIONAL):
        raise ArgumentError(
            f"`{cls}` must get its options by keyword; got {len(positional)} "
            "positional arguments after the statistic. Name them."
        )
    given = {**dict(zip(POSITIONAL, positional, strict=False)), **options}
    limit = given.pop("max_iters", None)
    unknown = [name for name in given if name not in WITHOUT_EFFECT]
    check_options(cls, unknown, OURS)
    if given:
        warnings.warn(
            f"{', '.join(sorted(given))} of fairret 0.1.3 has no effect on {cls}: the "
            "projection is exact and needs no outside solver. Leave it out.",
            DeprecationWarning,
            stacklevel=4,
        )
    if limit is not None and not isinstance(limit, int):
        raise RangeError(
            f"`max_iters` must be a whole number; got {limit!r}. Use `max_iter`."
        )
    return limit
