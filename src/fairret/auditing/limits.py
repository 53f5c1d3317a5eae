"""Whether a number keeps a limit, but for rounding."""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["max_violation", "max_difference", "min_ratio"]
ROUNDING = 1e-9  # 0.16 / 0.2 is below 0.8 in floating point


def same(value: float, limit: float) -> bool:
    """Whether two numbers differ by rounding at most."""
    return abs(value - limit) <= ROUNDING


def keeps(kind: Kind, value: float, limit: float) -> bool:
    """Whether a violation, difference or ratio is within its limit; NaN is not."""
    over = limit - value if kind == "min_ratio" else value - limit
    return over <= ROUNDING
