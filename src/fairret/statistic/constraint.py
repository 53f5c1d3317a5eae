r"""Parity with the statistic fixed at c is linear in the scores (Def. 5, Prop. 1)."""

from typing import NamedTuple

from torch import Tensor

from fairret.statistic.memberships import Memberships, add_up
from fairret.statistic.sums import Coefficients


class Line(NamedTuple):
    r""":math:`\alpha(X, Y, c)` and :math:`\beta(X, Y, c)` of Prop. 1.

    Each is `(K, n)`, or `(K, 1)` where it is the same for all rows.
    """

    alpha: Tensor
    beta: Tensor


class Constraint(NamedTuple):
    r"""The m = K d_s equations :math:`b_k + \sum_i p_i a_{ik} f_i = 0`.

    Their matrix is a product, :math:`a_{ik} = S_{ik} \beta_i`.
    """

    beta: Tensor  # (K, n)
    kept: Tensor  # (K, d_s): 1, and 0 for groups whose equation is 0 = 0
    b: Tensor  # (K, d_s)
    size: Tensor  # (K, d_s): sum_i p_i |a_i|


def fix(coef: Coefficients, c: Tensor) -> Line:
    r"""Fix the statistics at c, `(K,)` (Prop. 1).

    .. math::
        \alpha = \alpha_0 - c \alpha_1, \qquad \beta = \beta_0 - c \beta_1
    """

    def fixed(own: Tensor | float, other: Tensor | float) -> Tensor:
        return own - c[:, None] * other

    return Line(fixed(coef.alpha0, coef.alpha1), fixed(coef.beta0, coef.beta1))


def constrain(line: Line, s: Memberships, p: Tensor, mask: Tensor) -> Constraint:
    r"""Write parity as equations, one for each statistic and group.

    .. math::
        a_{ik} = S_{ik} \beta_i, \qquad b_k = \sum_i p_i S_{ik} \alpha_i

    Groups outside the mask, `(K, d_s)`, cannot be compared: theirs become 0 = 0.
    """
    kept = mask.to(p)
    size = add_up(line.beta.abs() * p, s) * kept
    b = add_up(line.alpha * p, s) * kept
    return Constraint(line.beta.expand(-1, len(p)), kept, b, size)
