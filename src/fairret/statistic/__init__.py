"""Linear-fractional statistics (Section 2 of the paper)."""

from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.rates import (
    Accuracy,
    ConditionalPositiveRate,
    FalseNegativeRate,
    FalsePositiveRate,
    PositiveRate,
    TrueNegativeRate,
    TruePositiveRate,
)
from fairret.statistic.ratios import (
    FalseDiscoveryRate,
    FalseNegativeFalsePositiveFraction,
    FalseOmissionRate,
    FScore,
    NegativePredictiveValue,
    PositivePredictiveValue,
)
from fairret.statistic.registry import statistic_names
from fairret.statistic.stacked import (
    StackedLinearFractionalStatistic,
    equalized_odds,
    get_statistic,
)

__all__ = [
    "Accuracy",
    "ConditionalPositiveRate",
    "FScore",
    "FalseDiscoveryRate",
    "FalseNegativeFalsePositiveFraction",
    "FalseNegativeRate",
    "FalseOmissionRate",
    "FalsePositiveRate",
    "LinearFractionalStatistic",
    "NegativePredictiveValue",
    "PositivePredictiveValue",
    "PositiveRate",
    "StackedLinearFractionalStatistic",
    "TrueNegativeRate",
    "TruePositiveRate",
    "equalized_odds",
    "get_statistic",
    "statistic_names",
]
