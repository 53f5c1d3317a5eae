r"""Parity with the statistic fixed at c is linear in the scores (Def. 5, Prop. 1)."""

from typing import NamedTuple

from torch import Tensor

from fairret.statistic.sums import Coefficients


class Line(NamedTuple):
    r""":math:`\alpha(X, Y, c)` and :math:`\beta(X, Y, c)` of Prop. 1.

    Each is `(K, n)`, or `(K, 1)` where it is the same for all rows.
    """

    alpha: Tensor
    beta: Tensor


class Constraint(NamedTuple):
    """The m = K d_s equations b + sum_i p_i a_i f_i = 0."""

    a: Tensor  # (m, n)
    b: Tensor  # (m,)
    size: Tensor  # (m,): sum_i p_i |a_i|


def fix(coef: Coefficients, c: Tensor) -> Line:
    r"""Fix the statistics at c, `(K,)` (Prop. 1).

    .. math::
        \alpha = \alpha_0 - c \alpha_1, \qquad \beta = \beta_0 - c \beta_1
    """

    def fixed(own: Tensor | float, other: Tensor | float) -> Tensor:
        return own - c[:, None] * other

    return Line(fixed(coef.alpha0, coef.alpha1), fixed(coef.beta0, coef.beta1))


def constrain(line: Line, s: Tensor, p: Tensor, mask: Tensor) -> Constraint:
    r"""Write parity as equations, one for each statistic and group.

    .. math::
        a_{ik} = S_{ik} \beta_i, \qquad b_k = \sum_i p_i S_{ik} \alpha_i

    Groups outside the mask, `(K, d_s)`, cannot be compared: theirs become 0 = 0.
    """
    kept = mask.to(s)
    a = (line.beta.unsqueeze(1) * s.T).mul_(kept.unsqueeze(-1))
    size = ((line.beta.abs() * p) @ s) * kept
    b = ((line.alpha * p) @ s) * kept
    return Constraint(a.flatten(0, 1), b.flatten(), size.flatten())
