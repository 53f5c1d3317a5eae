"""Numbers in words, rounded so that they do not say more than is known."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

DIGITS = 3


def at_least(x: float) -> str:
    """Write a lower bound, rounded down: 0.79989 is not 0.800."""
    return f"{round_down(x, DIGITS):.{DIGITS}f}"


def at_most(x: float) -> str:
    """Write an upper bound, rounded up."""
    return f"{round_up(x, DIGITS):.{DIGITS}f}"


def round_down(x: float, digits: int) -> float:
    """Round a lower bound down to some decimals."""
    return _round(x, digits, ROUND_FLOOR)


def round_up(x: float, digits: int) -> float:
    """Round an upper bound up to some decimals."""
    return _round(x, digits, ROUND_CEILING)


def percent(confidence: float) -> str:
    """Write a confidence, with digits where it has them: 95%, 99.5%, 99.99%."""
    return f"{math.floor(confidence * 1e4 + 1e-6) / 100:g}%"


def _round(x: float, digits: int, way: str) -> float:
    if not math.isfinite(x):
        return x
    # the shortest decimal of a number is what was meant: 0.3, not 0.29999999999999999
    return float(Decimal(repr(round(x, 12))).quantize(Decimal(10) ** -digits, way))
