r"""Statistics of Table 1 whose denominator depends on the scores, and their kin."""

from torch import Tensor

from fairret.checks import check_positive
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.functions import Coefficient


class PositivePredictiveValue(
    LinearFractionalStatistic,
    name="ppv",
    aliases=("pp", "predictive_parity", "precision"),
):
    r"""Share of positives in those chosen, :math:`P(Y = 1 \mid f = 1, S_k)` (row 5)."""

    def nom_slope(self, label: Tensor) -> Coefficient:
        return label

    def denom_slope(self) -> Coefficient:
        return 1.0


class FalseDiscoveryRate(LinearFractionalStatistic, name="fdr"):
    r"""Share of negatives in those chosen, :math:`P(Y = 0 \mid f = 1, S_k)`."""

    def nom_slope(self, label: Tensor) -> Coefficient:
        return 1 - label

    def denom_slope(self) -> Coefficient:
        return 1.0


class FalseOmissionRate(
    LinearFractionalStatistic, name="for", aliases=("false_omission_parity",)
):
    r"""Share of positives in those left, :math:`P(Y = 1 \mid f = 0, S_k)` (row 6)."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return -label

    def denom_intercept(self) -> Coefficient:
        return 1.0

    def denom_slope(self) -> Coefficient:
        return -1.0


class NegativePredictiveValue(LinearFractionalStatistic, name="npv"):
    r"""Share of negatives in those left, :math:`P(Y = 0 \mid f = 0, S_k)`."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return label - 1

    def denom_intercept(self) -> Coefficient:
        return 1.0

    def denom_slope(self) -> Coefficient:
        return -1.0


class FalseNegativeFalsePositiveFraction(
    LinearFractionalStatistic, name="fn_fp", aliases=("te", "treatment_equality")
):
    r"""Positives missed for each negative accused (row 8); not a probability."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return -label

    def denom_slope(self, label: Tensor) -> Coefficient:
        return 1 - label


class FScore(LinearFractionalStatistic, name="f_score"):
    r"""Weighted harmonic mean of precision and recall.

    .. math::
        F_\beta = \frac{(1 + \beta^2) \sum_i f_i Y_i}{\sum_i (\beta^2 Y_i + f_i)}

    Args:
        beta: How much more recall counts than precision.
    """

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = check_positive("beta", beta, "1 weighs precision and recall alike.")

    def nom_slope(self, label: Tensor) -> Coefficient:
        return (1 + self.beta**2) * label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return self.beta**2 * label

    def denom_slope(self) -> Coefficient:
        return 1.0

    def extra_repr(self) -> str:
        return f"beta={self.beta:g}"
