"""Numbers in words: values with errors, and differences with intervals."""

import math

from fairret.lab.experiment.differences import Difference

LEAST = 0.005  # a smaller difference of volumes is 0.00, and does not count


def sign(gap: Difference) -> int:
    """1 or -1 if the interval excludes 0 and the difference is not 0.00, else 0."""
    return gap.sign if abs(gap.mean) >= LEAST else 0


def with_error(value: float, error: float) -> str:
    """Value ± its standard error; a dash where it does not exist."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.2f} ± {error:.2f}" if math.isfinite(error) else f"{value:.2f}"


def interval(gap: Difference | None, digits: int = 2) -> str:
    """Difference with its interval; bold if it excludes 0 and is not rounded to 0."""
    if gap is None:
        return "–"
    mean, low, high = (f"{x:+.{digits}f}" for x in gap[:3])
    if math.isnan(gap.low):
        return mean.replace("-", "−")
    words = f"{mean} ({low} to {high})".replace("-", "−")
    bold = gap.sign and abs(gap.mean) >= 0.5 * 10**-digits
    return f"**{words}**" if bold else words
