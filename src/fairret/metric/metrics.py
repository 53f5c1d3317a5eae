"""The metrics: one notion, a table of notions, or one number."""

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import Tensor

from fairret.errors import ArgumentError
from fairret.metric.compute import Measured
from fairret.metric.streaming import GroupMetric
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name


class Parity(GroupMetric):
    """Everything about the parity of one statistic, or of one stack.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        **options: Those of :class:`GroupMetric`.

    Example:
        >>> import torch
        >>> metric = Parity("pr", names=["a", "b"], threshold=0.5)
        >>> sens = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).repeat(25, 1)
        >>> for batch in torch.linspace(0.1, 0.8, 200).split(50):
        ...     metric.update(batch, sens)
        >>> result = metric.compute().decisions
        >>> result.groups["a"].statistic
        0.43
        >>> result
        ParityResult('pr', n=200, groups=2, max_violation=0, beyond_chance=False, ...)
    """

    def __init__(
        self, statistic: LinearFractionalStatistic | str, **options: Any
    ) -> None:
        super().__init__([statistic], **options)

    def compute(self) -> Any:  # Measured; a number in subclasses
        """Compute the result: a :class:`Measured`."""
        return next(iter(self._results().values()))

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot the groups' statistics with intervals against the overall one.

        Args:
            val: A result of `compute` or `forward`; by default that of all batches.
            ax: Where to draw; a stack needs axes for each of its statistics.

        Returns:
            The figure and its axes.
        """
        from fairret.metric.figure import draw

        return draw([self.compute() if val is None else val], ax)


class ParityTable(GroupMetric):
    """Several notions in one pass over the data.

    Args:
        statistics: The notions, each a statistic, a stack or a name.
        **options: Those of :class:`GroupMetric`.
    """

    def __init__(
        self, statistics: Sequence[LinearFractionalStatistic | str], **options: Any
    ) -> None:
        if isinstance(statistics, str) or not statistics:
            raise ArgumentError(
                f"`statistics` must be a list of at least one; got {statistics!r}. "
                "Write `ParityTable(['pr', 'tpr'])`, or use `Parity` for one notion."
            )
        super().__init__(statistics, **options)
        notions = [get_name(notion) for notion in self._statistics]
        if len(set(notions)) < len(notions):
            raise ArgumentError(
                f"`statistics` must have different names; got {notions}. Remove "
                "duplicates."
            )

    def compute(self) -> dict[str, Measured]:
        """Compute the results, by the name of the notion."""
        return self._results()

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot a panel per statistic, see :meth:`Parity.plot`."""
        from fairret.metric.figure import draw

        return draw(list((self.compute() if val is None else val).values()), ax)


class ParityNumber(Parity):
    """One number of :class:`Parity`, to log and to compare.

    With a threshold it is that of the decisions, else that of the scores.
    """

    attribute: ClassVar[str]

    def compute(self) -> Tensor:
        """Compute the number, `()`."""
        scores, decisions = next(iter(self._results().values()))
        number: Tensor = getattr(decisions or scores, self.attribute)
        return number.to(self.device)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot the number, or several, as in any metric of torchmetrics."""
        return self._plot(val, ax)


class MaxViolation(ParityNumber):
    r"""The largest violation, :math:`\max_k |\gamma_k / \bar\gamma - 1|`."""

    attribute = "max_violation"


class ParityDifference(ParityNumber):
    """The largest statistic of a group minus the smallest."""

    attribute = "difference"


class ParityRatio(ParityNumber):
    """The smallest statistic of a group over the largest (the four-fifths rule)."""

    attribute = "ratio"
    higher_is_better = True


class ViolationNorm(ParityNumber):
    """The 1-norm of the violations (Def. 7)."""

    attribute = "norm"


class ViolationSmoothMax(ParityNumber):
    """The smooth maximum of the violations (Def. 8)."""

    attribute = "smooth_max"
