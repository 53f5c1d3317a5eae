"""Numbers in words: values with errors, and differences with intervals."""

import math
import re
from collections.abc import Sequence

from fairret.lab.experiment.differences import Difference

DIGITS = 2  # of volumes: a difference that rounds to 0.00 does not count


def sign(gap: Difference, digits: int = DIGITS) -> int:
    """1 or -1 if the interval excludes 0 and the difference does not round to 0."""
    return gap.sign if abs(gap.mean) >= 0.5 * 10**-digits else 0


def listed(words: Sequence[str]) -> str:
    """Join words: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def number(words: str) -> float:
    """The first number in words; NaN for a dash."""
    plain = words.replace("−", "-").replace(",", "")
    found = re.search(r"[+-]?\d+(\.\d+)?", plain)
    return float(found[0]) if found else math.nan


def last_number(words: str) -> float:
    """The last number in words."""
    return float(re.findall(r"\d+(?:\.\d+)?", words)[-1])


def error(words: str) -> float:
    """The standard error in words; NaN if there is none."""
    _, between, after = words.partition("±")
    return number(after) if between else math.nan


def clearly_more(larger: str, smaller: str, errors: float = 3.0) -> bool:
    """Whether one value is above another by so many of both standard errors."""
    gap = number(larger) - number(smaller)
    return gap > errors * math.hypot(error(larger), error(smaller))


def counts(words: str) -> list[int]:
    """The whole numbers in words: [1, 2, 9] for "1 better and 2 worse of 9"."""
    return [int(one) for one in re.findall(r"\d+", words)]


def direction(words: str) -> int:
    """1 or -1 if a difference is in bold, by its sign, else 0."""
    found = re.search(r"\*\*(.*?)\*\*", words)
    return int(math.copysign(1, number(found[1]))) if found else 0


def share(words: str) -> float:
    """The share in a count: 0.25 for "1 of 4"."""
    part, of, whole, *_ = words.split()
    assert of == "of", words
    return int(part) / int(whole)


def holds(words: str, *conditions: bool) -> str:
    """Words that are true of the results; an error if a condition is not."""
    if not conditions:
        raise TypeError(f"The conclusion {words!r} needs a condition.")
    if not all(conditions):
        raise ValueError(
            f"The results no longer support the words {words!r}: correct them in "
            "the template, or the conditions that it gives for them."
        )
    return words


def p_words(p_value: float) -> str:
    """A p-value with one digit."""
    return f"{p_value:.1g}" if p_value > 0 else "< 1e-300"


def with_error(value: float, error: float, digits: int = DIGITS) -> str:
    """Value ± its standard error; a dash where it does not exist."""
    if not math.isfinite(value):
        return "–"
    known = [value, error] if math.isfinite(error) else [value]
    return " ± ".join(f"{one:.{digits}f}" for one in known)


def interval(gap: Difference | None, digits: int = DIGITS) -> str:
    """Difference with its interval, in bold if it has a :func:`sign`."""
    if gap is None:
        return "–"
    mean, low, high = (f"{x:+.{digits}f}" for x in gap[:3])
    if math.isnan(gap.low):
        return mean.replace("-", "−")
    words = f"{mean} ({low} to {high})".replace("-", "−")
    return f"**{words}**" if sign(gap, digits) else words
