"""Statistics by name, for command lines, configurations and quick experiments."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fairret.checks import nearest
from fairret.errors import ArgumentError, NameNotFoundError, StatisticError

if TYPE_CHECKING:
    from fairret.statistic.base import LinearFractionalStatistic

_REGISTRY: "dict[str, Callable[[], LinearFractionalStatistic]]" = {}


def register(name: str, factory: "Callable[[], LinearFractionalStatistic]") -> None:
    """Give a statistic a name. A class that is defined again takes its own place."""
    if not name.isidentifier():
        raise StatisticError(
            "`name` must be one word of letters, digits and underscores; "
            f"got {name!r}. Choose such a word, as in `name='acc'`."
        )
    old = _REGISTRY.get(name)
    if old is not None and _own_name(old) != _own_name(factory):
        raise StatisticError(
            f"`name` must be new; {name!r} already names {_own_name(old)}. "
            "Choose another word."
        )
    _REGISTRY[name] = factory


def _own_name(factory: object) -> str:
    name = getattr(factory, "__qualname__", factory)
    return f"{getattr(factory, '__module__', '')}.{name}"


def statistic_names() -> tuple[str, ...]:
    """List every registered name."""
    return tuple(sorted(_REGISTRY))


def name_of(statistic: "LinearFractionalStatistic") -> str:
    """Name a statistic: as registered, with settings that are not its own; "a+b"."""
    if statistic.stacked:
        return "+".join(name_of(part) for part in statistic.parts)
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
            f"`statistic` must be a registered name; got {name!r}."
            f"{nearest(name, _REGISTRY)} Known are {', '.join(statistic_names())}."
        )
    try:
        return _REGISTRY[name]()
    except TypeError as error:
        raise ArgumentError(
            f"`statistic` must be a name that needs no settings; got {name!r} "
            f"({error}). Make the statistic yourself and pass the object."
        ) from error
