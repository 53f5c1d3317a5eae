"""Several statistics at once, and statistics by name."""

from typing import ClassVar

from torch import nn

from fairret.errors import ArgumentError, DtypeError
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.rates import FalsePositiveRate, TruePositiveRate
from fairret.statistic.registry import make, register


class StackedLinearFractionalStatistic(LinearFractionalStatistic):
    """K statistics at once: values `(K, d_s)`, parity if each has parity.

    Args:
        *statistics: Any statistics, or their names.

    Example:
        >>> StackedLinearFractionalStatistic("tpr", "ppv")
        StackedLinearFractionalStatistic(TruePositiveRate(), PositivePredictiveValue())
    """

    stacked: ClassVar[bool] = True

    def __init__(self, *statistics: LinearFractionalStatistic | str) -> None:
        super().__init__()
        if not statistics:
            raise ArgumentError(
                "A stack needs at least one statistic; got none. Pass some, as in "
                "`StackedLinearFractionalStatistic('tpr', 'fpr')`."
            )
        self.statistics = nn.ModuleList(map(get_statistic, statistics))

    @property
    def parts(self) -> tuple[LinearFractionalStatistic, ...]:
        """The members, with nested stacks flattened."""
        return tuple(
            part
            for statistic in self.statistics
            if isinstance(statistic, LinearFractionalStatistic)
            for part in statistic.parts
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.statistics))})"


def get_statistic(
    statistic: LinearFractionalStatistic | str,
) -> LinearFractionalStatistic:
    """Look up a statistic by name; names joined by "+" make a stack.

    Example:
        >>> get_statistic("tpr")
        TruePositiveRate()
        >>> get_statistic("tpr+fpr").parts
        (TruePositiveRate(), FalsePositiveRate())
    """
    if isinstance(statistic, LinearFractionalStatistic):
        return statistic
    if not isinstance(statistic, str):
        hint = " Call the class: `TruePositiveRate()`." * isinstance(statistic, type)
        raise DtypeError(
            "`statistic` must be a `LinearFractionalStatistic` or its name; "
            f"got {statistic!r}.{hint or ' Pass one, as in `TruePositiveRate()`.'}"
        )
    names = [name.strip() for name in statistic.split("+")]
    if len(names) > 1:
        return StackedLinearFractionalStatistic(*names)
    return make(names[0])


def equalized_odds() -> StackedLinearFractionalStatistic:
    """Equal true positive rates and equal false positive rates."""
    return StackedLinearFractionalStatistic(TruePositiveRate(), FalsePositiveRate())


register("equalized_odds", equalized_odds)
