r"""Linear statistics of Table 1 (:math:`\beta_1 = 0`, Def. 4) and complements."""

from collections.abc import Callable

from torch import Tensor

from fairret.errors import DtypeError
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.functions import Coefficient, Need


class PositiveRate(
    LinearFractionalStatistic, name="pr", aliases=("dp", "demographic_parity")
):
    r"""Share of positive decisions, :math:`P(f = 1 \mid S_k)` (row 1)."""

    def nom_slope(self) -> Coefficient:
        return 1.0

    def denom_intercept(self) -> Coefficient:
        return 1.0


class ConditionalPositiveRate(LinearFractionalStatistic, name="cpr"):
    r"""Positive rate where :math:`\zeta(X)` holds (row 2).

    Args:
        zeta: A function of `feat` that gives one number for every row, or the name of
            an input that is handed to the loss, as in
            `loss(logit, sens, region=mask)` for `ConditionalPositiveRate("region")`.
    """

    def __init__(self, zeta: Callable[[Tensor], Tensor] | str) -> None:
        super().__init__()
        if not (callable(zeta) or isinstance(zeta, str)):
            raise DtypeError(
                "`zeta` must be a function of `feat` or the name of an input; "
                f"got {type(zeta).__name__}. Pass `lambda feat: feat[:, 3] > 0`, say."
            )
        self.zeta = zeta
        source = zeta if isinstance(zeta, str) else "feat"
        asked = (Need("feat", source, required=True),)
        self._needs = {"nom_slope": asked, "denom_intercept": asked}

    def nom_slope(self, feat: Tensor) -> Coefficient:
        return feat if isinstance(self.zeta, str) else self.zeta(feat)

    def denom_intercept(self, feat: Tensor) -> Coefficient:
        return self.nom_slope(feat)

    def extra_repr(self) -> str:
        return repr(self.zeta)


class TruePositiveRate(
    LinearFractionalStatistic, name="tpr", aliases=("eo", "equal_opportunity", "recall")
):
    r"""Share of the positives found, :math:`P(f = 1 \mid Y = 1, S_k)` (row 3)."""

    def nom_slope(self, label: Tensor) -> Coefficient:
        return label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return label


class FalsePositiveRate(
    LinearFractionalStatistic, name="fpr", aliases=("false_positive_parity",)
):
    r"""Share of the negatives accused, :math:`P(f = 1 \mid Y = 0, S_k)` (row 4)."""

    def nom_slope(self, label: Tensor) -> Coefficient:
        return 1 - label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label


class FalseNegativeRate(LinearFractionalStatistic, name="fnr"):
    r"""Share of the positives missed, :math:`P(f = 0 \mid Y = 1, S_k)`."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return -label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return label


class TrueNegativeRate(LinearFractionalStatistic, name="tnr"):
    r"""Share of the negatives left alone, :math:`P(f = 0 \mid Y = 0, S_k)`."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return label - 1

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label


class Accuracy(
    LinearFractionalStatistic, name="accuracy", aliases=("accuracy_equality",)
):
    r"""Share of right decisions, :math:`P(f = Y \mid S_k)` (row 7)."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return 2 * label - 1

    def denom_intercept(self) -> Coefficient:
        return 1.0
