"""Fairrets by name, for estimators and configurations."""

from typing import Any

from fairret.errors import NameNotFoundError, did_you_mean
from fairret.loss.base import FairnessLoss
from fairret.loss.projection import (
    ChiSquaredProjectionLoss,
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    SquaredEuclideanProjectionLoss,
)
from fairret.loss.violation import NormLoss, SmoothMaxLoss
from fairret.statistic.base import LinearFractionalStatistic

# those with a memory: total variation has none
LOSSES: dict[str, type[FairnessLoss]] = {
    "kl": KLProjectionLoss,
    "js": JensenShannonProjectionLoss,
    "sed": SquaredEuclideanProjectionLoss,
    "chi2": ChiSquaredProjectionLoss,
    "norm": NormLoss,
    "smoothmax": SmoothMaxLoss,
}


def make_loss(
    name: str, statistic: LinearFractionalStatistic | str, **options: Any
) -> FairnessLoss:
    """Make the fairret with a name.

    Args:
        name: One of "kl", "js", "sed", "chi2", "norm" and "smoothmax".
        statistic: The statistic that should be equal in all groups, or its name.
        **options: Options of the fairret.

    Raises:
        NameNotFoundError: If there is no such name.

    Example:
        >>> make_loss("norm", "tpr", p=2).p
        2
    """
    if name not in LOSSES:
        raise NameNotFoundError(
            f"Unknown loss {name!r}.{did_you_mean(name, LOSSES)} Known names: "
            f"{', '.join(LOSSES)}."
        )
    return LOSSES[name](statistic, **options)
