"""Numbers in words, rounded so that they do not say more than is known."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

DIGITS = Decimal("0.001")


def at_least(x: float) -> str:
    """Round a lower bound down: 0.79989 is not 0.800."""
    return _round(x, ROUND_FLOOR)


def at_most(x: float) -> str:
    """Round an upper bound up."""
    return _round(x, ROUND_CEILING)


def percent(confidence: float) -> str:
    """Write a confidence, with digits where it has them: 95%, 99.5%, 99.99%."""
    return f"{math.floor(confidence * 1e4 + 1e-6) / 100:g}%"


def _round(x: float, way: str) -> str:
    if not math.isfinite(x):
        return f"{x:.3f}"
    # the shortest decimal of a number is what was meant: 0.3, not 0.29999999999999999
    return str(Decimal(repr(round(x, 12))).quantize(DIGITS, way))
