"""What fairret raises: each class is a :class:`FairretError` and a builtin."""

import difflib
from collections.abc import Iterable

PERCENT = 2  # numbers from here to 100 look like percentages


class FairretError(Exception):
    """Base of every error that fairret raises on purpose."""


class ShapeError(FairretError, ValueError):
    """An argument has the wrong shape."""


class DtypeError(FairretError, TypeError):
    """An argument has the wrong type or dtype."""


class DeviceError(FairretError, ValueError):
    """Two tensors of one batch are on different devices."""


class RangeError(FairretError, ValueError):
    """An argument has values that it must not have."""


class ToleranceError(RangeError):
    """No decisions can keep a tolerance, or too few rows can assure it."""


class ArgumentError(FairretError, TypeError):
    """A call lacks an argument, or has one too many."""


class NameNotFoundError(FairretError, KeyError):
    """A name is not registered."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class StateError(FairretError, RuntimeError):
    """A saved state belongs to something else."""


class StatisticError(FairretError, TypeError):
    """A statistic is defined in a way that cannot be computed."""


class DataFileError(FairretError, ValueError):
    """A file cannot be read, or does not hold a table."""


class MissingExtraError(FairretError, ImportError):
    """Something needs a package that is not installed."""


def missing_extra(needs: str, package: str, extra: str) -> MissingExtraError:
    """Say how to install a package; `needs` opens the sentence: "A figure needs"."""
    return MissingExtraError(
        f"{needs} {package}, which is not installed. "
        f"Run `pip install 'fairret[{extra}]'`."
    )


def did_you_mean(name: object, known: Iterable[object], most: int = 1) -> str:
    """Suggest known names that are close, in any case: " Did you mean 'x'?", or ""."""
    names = {str(other).lower(): str(other) for other in known}
    close = difflib.get_close_matches(str(name).lower(), names, n=most)
    shown = ", ".join(repr(names[x]) for x in close)
    return f" Did you mean {shown}?" if close else ""


def meant_share(value: float, otherwise: str) -> str:
    """Suggest the share for a percentage, "Did you mean 0.20?", or say otherwise."""
    if not PERCENT <= value <= 100:
        return otherwise
    digits = f"{value / 100:.2f}" if value == int(value) else f"{value / 100:g}"
    return f"Did you mean {digits}?"
