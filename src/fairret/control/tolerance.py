"""How far groups may be apart: the three forms in which people state it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from fairret.errors import (
    ArgumentError,
    NameNotFoundError,
    RangeError,
    did_you_mean,
    meant_share,
)

Kind: TypeAlias = Literal["max_violation", "max_difference", "min_ratio"]
KINDS: tuple[Kind, ...] = ("max_violation", "max_difference", "min_ratio")


@dataclass(frozen=True)
class Tolerance:
    r"""A limit on the statistics of decisions; exactly one of the three.

    Args:
        max_violation: Limit of :math:`|\gamma_k / \bar\gamma - 1|` (Eq. 9), one for all
            groups, or one per name of a group. Groups that are not named are free.
        max_difference: Limit of :math:`|\gamma_k - \gamma_l|` within a trait.
        min_ratio: Limit of :math:`\gamma_k / \gamma_l` within a trait. The four-fifths
            rule is 0.8.

    Raises:
        ArgumentError: If none or more than one is given.
        RangeError: If a limit is out of range.

    Example:
        >>> Tolerance(max_violation=0.1)
        Tolerance(max_violation=0.1)
        >>> Tolerance(min_ratio=0.8).distance  # from parity
        0.2
    """

    max_violation: float | Mapping[str, float] | None = None
    max_difference: float | None = None
    min_ratio: float | None = None

    def __post_init__(self) -> None:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ArgumentError(
                "Pass one of `max_violation`, `max_difference` and `min_ratio`; "
                f"got {' and '.join(given) or 'none'}."
            )
        limits = getattr(self, given[0])
        for limit in limits.values() if isinstance(limits, Mapping) else (limits,):
            _check_limit(given[0], limit)

    @property
    def kind(self) -> Kind:
        """Which of the three it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def is_single(self) -> bool:
        """Whether all groups have the same limit."""
        return not isinstance(getattr(self, self.kind), Mapping)

    @property
    def value(self) -> float:
        """The limit; the smallest, if groups have their own."""
        limit = getattr(self, self.kind)
        return float(min(limit.values()) if isinstance(limit, Mapping) else limit)

    @property
    def distance(self) -> float:
        """The limit as a distance from parity, which is 0."""
        return round(1 - self.value, 12) if self.kind == "min_ratio" else self.value

    @property
    def in_words(self) -> str:
        """The limit with its kind; of all groups, if they have their own."""
        limit = getattr(self, self.kind)
        if not isinstance(limit, Mapping):
            return f"{self.kind} {limit:g}"
        each = ", ".join(f"{x:g} for {name}" for name, x in limit.items())
        return f"{self.kind} {each}"

    def per_group(self, names: Sequence[str]) -> Tensor:
        """The distance allowed to each group, `(d_s,)`; infinite where it is free."""
        limit = getattr(self, self.kind)
        if not isinstance(limit, Mapping):
            return torch.full((len(names),), self.distance, dtype=torch.float64)
        self.check_names(names)
        each = [limit.get(name, torch.inf) for name in names]
        return torch.tensor(each, dtype=torch.float64)

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse a limit for a group that does not exist."""
        if isinstance(self.max_violation, Mapping):
            check_groups("max_violation", self.max_violation, names)

    def __repr__(self) -> str:
        return f"Tolerance({self.kind}={getattr(self, self.kind)!r})"


def check_groups(argument: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Refuse the name of a group that does not exist."""
    for name in given:
        if name not in names:
            raise NameNotFoundError(
                f"`{argument}` names the group {name!r}, which does not exist."
                f"{did_you_mean(name, names)} The groups are {', '.join(names)}."
            )


def _check_limit(kind: str, limit: object) -> None:
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise ArgumentError(
            f"`{kind}` must be a number; got {type(limit).__name__}. "
            "For example, pass 0.1 for 10%."
        )
    value = float(limit)
    if 0 < value < 1:
        return
    example = "0.8 for four fifths" if kind == "min_ratio" else "0.1 for 10%"
    hint = meant_share(value, f"For example, pass {example}.")
    raise RangeError(f"`{kind}` must be above 0 and below 1; got {value:g}. {hint}")
