r"""The linear statistics of Table 1 (:math:`\beta_1 = 0`, Def. 4) and complements."""

from collections.abc import Callable

from torch import Tensor

from fairret.errors import DtypeError
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.functions import Coefficient, Need


class PositiveRate(
    LinearFractionalStatistic, name="pr", aliases=("dp", "demographic_parity")
):
    r"""Share of positive decisions, :math:`P(f = 1 \mid S_k)` (Table 1, row 1)."""

    def nom_slope(self) -> Coefficient:
        return 1.0

    def denom_intercept(self) -> Coefficient:
        return 1.0


class ConditionalPositiveRate(LinearFractionalStatistic, name="cpr"):
    r"""Positive rate where :math:`\zeta(X)` holds (Table 1, row 2).

    Args:
        zeta: A function of `feat` that returns one number per row, or the name of an
            input, as in `loss(logit, sens, region=mask)` for
            `ConditionalPositiveRate("region")`.
    """

    def __init__(self, zeta: Callable[[Tensor], Tensor] | str) -> None:
        super().__init__()
        if not (callable(zeta) or isinstance(zeta, str)):
            raise DtypeError(
                "`zeta` must be a function of `feat` or the name of an input; "
                f"got {type(zeta).__name__}. Pass `lambda feat: feat[:, 3] > 0`."
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
    r"""Share of positives that are chosen (Table 1, row 3).

    :math:`P(f = 1 \mid Y = 1, S_k)`
    """

    def nom_slope(self, label: Tensor) -> Coefficient:
        return label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return label


class FalsePositiveRate(
    LinearFractionalStatistic, name="fpr", aliases=("false_positive_parity",)
):
    r"""Share of negatives that are chosen (Table 1, row 4).

    :math:`P(f = 1 \mid Y = 0, S_k)`
    """

    def nom_slope(self, label: Tensor) -> Coefficient:
        return 1 - label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label


class FalseNegativeRate(LinearFractionalStatistic, name="fnr"):
    r"""Share of positives not chosen, :math:`P(f = 0 \mid Y = 1, S_k)`."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return -label

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return label


class TrueNegativeRate(LinearFractionalStatistic, name="tnr"):
    r"""Share of negatives not chosen, :math:`P(f = 0 \mid Y = 0, S_k)`."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return label - 1

    def denom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label


class Accuracy(
    LinearFractionalStatistic, name="accuracy", aliases=("accuracy_equality",)
):
    r"""Share of correct decisions, :math:`P(f = Y \mid S_k)` (Table 1, row 7)."""

    def nom_intercept(self, label: Tensor) -> Coefficient:
        return 1 - label

    def nom_slope(self, label: Tensor) -> Coefficient:
        return 2 * label - 1

    def denom_intercept(self) -> Coefficient:
        return 1.0
