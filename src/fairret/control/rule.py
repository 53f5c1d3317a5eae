"""A fitted rule: from scores and what is known of groups to decisions."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from fairret.control.columns import (
    Layout,
    evaluate,
    known_columns,
    read_memberships,
)
from fairret.control.rows import Array, as_column, as_matrix
from fairret.errors import ArgumentError, RangeError, ShapeError
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.sums import Coefficients


@dataclass(frozen=True)
class Rule:
    r"""Says yes where the score exceeds a threshold that depends on likely groups.

    .. math:: f(x) = 1\bigl[\, 2 (\eta(x) - \tau) > \lambda \cdot C(x) \,\bigr]

    with one price :math:`\lambda` per column :math:`C_k(x) = E[S_k \beta(Y) \mid x]`.
    """

    statistic: LinearFractionalStatistic
    names: tuple[str, ...]
    layout: Layout
    price: Tensor  # (p,)
    threshold: float
    informed: bool

    def margin(
        self,
        eta: Array,
        *,
        q: tuple[Array, Array] | None = None,
        sens: Array | None = None,
        **inputs: object,
    ) -> Tensor:
        """Compute how far people are from the other decision, `(n,)`: yes above 0.

        Args:
            eta: Scores :math:`P(Y = 1 | x)`; for an informed rule calibrated given S.
            q: :math:`E[S | x, y]` for y = 0 and y = 1, for a blind rule.
            sens: Memberships, for an informed rule.
            **inputs: Further inputs of the statistic, such as `feat`.

        Raises:
            ArgumentError: If the rule needs `sens` and got `q`, or the reverse.
            RangeError: If a score is NaN.
        """
        h = as_column("eta", eta)
        if self.informed and (sens is None or q is not None):
            raise ArgumentError(
                "An informed rule decides with the groups of a person: pass `sens`."
            )
        if not self.informed and (q is None or sens is not None):
            raise ArgumentError(
                "A blind rule decides without the groups of a person: pass `q`, the "
                "estimates of E[S | x, y] for y = 0 and y = 1."
            )
        pair = (sens, sens) if sens is not None else q
        assert pair is not None
        q0, q1 = (as_matrix("sens", x, len(h)).nan_to_num(nan=0.0) for x in pair)
        if q0.shape[1] != len(self.names) or q1.shape != q0.shape:
            raise ShapeError(
                f"The rule knows {len(self.names)} groups; got {q0.shape[1]} columns."
            )
        zero, one = evaluate_both(self.statistic, h, inputs)
        columns = known_columns(self.layout, read_memberships(h, q0, q1), zero, one)
        margin = gain(h, self.threshold) - self.price.to(h) @ columns
        check_margin(margin, "eta")
        return margin

    def decide(
        self,
        eta: Array,
        *,
        q: tuple[Array, Array] | None = None,
        sens: Array | None = None,
        **inputs: object,
    ) -> Tensor:
        """Decide: 1 for yes and 0 for no, `(n,)`; called like :meth:`margin`."""
        return (self.margin(eta, q=q, sens=sens, **inputs) > 0).to(torch.float64)


def check_margin(margin: Tensor, argument: str) -> None:
    """Refuse to decide about people of whom too little is known: NaN is not a no."""
    unknown = margin.isnan()
    if bool(unknown.any()):
        raise RangeError(
            f"`{argument}` must not lead to NaN; the margin of {int(unknown.sum())} of "
            f"{len(margin)} rows is NaN, so there is no decision about them. Impute "
            "missing values as in training, or decide about these rows by other means."
        )


def gain(eta: Tensor, threshold: float) -> Tensor:
    r""":math:`s = 2 (\eta - \tau)`: what a yes is worth; the accuracy if τ is ½."""
    return 2 * (eta - threshold)


def evaluate_both(
    statistic: LinearFractionalStatistic, like: Tensor, inputs: Mapping[str, object]
) -> tuple[Coefficients, Coefficients]:
    """Evaluate the four functions for labels 0 and 1."""
    zero, one = torch.zeros_like(like), torch.ones_like(like)
    return evaluate(statistic, zero, inputs), evaluate(statistic, one, inputs)
