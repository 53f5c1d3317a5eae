"""Statistics by name, for command lines and configurations."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fairret.errors import (
    ArgumentError,
    NameNotFoundError,
    StatisticError,
    did_you_mean,
)

if TYPE_CHECKING:
    from fairret.statistic.base import LinearFractionalStatistic

_REGISTRY: "dict[str, Callable[[], LinearFractionalStatistic]]" = {}


def register(name: str, factory: "Callable[[], LinearFractionalStatistic]") -> None:
    """Register a name. A class that is defined again replaces itself."""
    if not name.isidentifier():
        raise StatisticError(
            "`name` must consist of letters, digits and underscores; "
            f"got {name!r}. Choose another, as in `name='acc'`."
        )
    old = _REGISTRY.get(name)
    if old is not None and _own_name(old) != _own_name(factory):
        raise StatisticError(
            f"A statistic named {name!r} is already registered: {_own_name(old)}. "
            "Choose another name."
        )
    _REGISTRY[name] = factory


def _own_name(factory: object) -> str:
    name = getattr(factory, "__qualname__", factory)
    return f"{getattr(factory, '__module__', '')}.{name}"


def statistic_names() -> tuple[str, ...]:
    """List every registered name."""
    return tuple(sorted(_REGISTRY))


def get_name(statistic: "LinearFractionalStatistic") -> str:
    """The registered name of a statistic, with settings other than the default."""
    if statistic.stacked:
        return "+".join(get_name(part) for part in statistic.parts)
    name = statistic.name or type(statistic).__name__
    settings = statistic.extra_repr()
    try:
        usual = make(name).extra_repr()
    except (NameNotFoundError, ArgumentError):  # not registered, or needs settings
        usual = ""
    return name if settings == usual else f"{name}({settings})"


def make(name: str) -> "LinearFractionalStatistic":
    """Make the statistic that is registered under a name."""
    name = name if name in _REGISTRY else name.lower()
    if name not in _REGISTRY:
        raise NameNotFoundError(
            f"Unknown statistic {name!r}.{did_you_mean(name, _REGISTRY)} "
            f"Known names: {', '.join(statistic_names())}."
        )
    try:
        return _REGISTRY[name]()
    except TypeError as error:
        raise ArgumentError(
            f"`statistic` must be a name that needs no settings; got {name!r} "
            f"({error}). Construct the statistic and pass the object."
        ) from error
