r"""Statistics whose denominator depends on the scores (Table 1, and related ones)."""

from torch import Tensor

from fairret.checks import check_positive
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.functions import Coefficient


class PositivePredictiveValue(
    LinearFractionalStatistic,
    name="ppv",
    aliases=("pp", "predictive_parity", "precision"),
):
    r"""Share of positives among the chosen (Table 1, row 5).

    :math:`P(Y = 1 \mid f = 1, S_k)`
    """

    def nom_slope(self, label: Tensor) -> Coefficient:
        return label

    def denom_slope(self) -> Coefficient:
        return 1.0


class FalseDiscoveryRate(LinearFractionalStatistic, name="fdr"):
    r"""Share of negatives among the chosen, :math:`P(Y = 0 \mid f = 1, S_k)`."""

    def nom_slope(self, label: Tensor) -> Coefficient:
        return 1 - label

    def denom_slope(self) -> Coefficient:
        return 1.0


class FalseOmissionRate(
    LinearFractionalStatistic, name="for", aliases=("false_omission_parity",)
):
    r"""Share of positives among the others (Table 1, row 6).

    :math:`P(Y = 1 \mid f = 0, S_k)`
    """

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return -label

    def denom_intercept(self) -> Coefficient:
        return 1.0

    def denom_slope(self) -> Coefficient:
        return -1.0


class NegativePredictiveValue(LinearFractionalStatistic, name="npv"):
    r"""Share of negatives among the others, :math:`P(Y = 0 \mid f = 0, S_k)`."""

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
    r"""Ratio of false negatives to false positives (Table 1, row 8)."""

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
        self.beta = check_positive("beta", beta, "1 weighs both equally.")

    def nom_slope(self, label: Tensor) -> Coefficient:
        return (1 + self.beta**2) * label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return self.beta**2 * label

    def denom_slope(self) -> Coefficient:
        return 1.0

    def extra_repr(self) -> str:
        return f"beta={self.beta:g}"
