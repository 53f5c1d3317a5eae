"""What fairret raises: each class is a :class:`FairretError` and a builtin."""


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


class ArgumentError(FairretError, TypeError):
    """A call lacks an argument, or has one too many."""


class NameNotFoundError(FairretError, KeyError):
    """A name is not registered."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class StatisticError(FairretError, TypeError):
    """A statistic is defined in a way that cannot be computed."""


class DataFileError(FairretError, ValueError):
    """A file cannot be read, or does not hold a table."""


class MissingExtraError(FairretError, ImportError):
    """Something needs a package that is not installed."""
