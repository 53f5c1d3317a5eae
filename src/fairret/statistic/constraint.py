r"""Parity with the statistic fixed at c is linear in the scores (Def. 5, Prop. 1)."""

from typing import NamedTuple

from torch import Tensor

from fairret.statistic.sums import Coefficients


class Line(NamedTuple):
    r""":math:`\alpha(X, Y, c)` and :math:`\beta(X, Y, c)` of Prop. 1, each `(K, n)`."""

    alpha: Tensor
    beta: Tensor


class Constraint(NamedTuple):
    """The m = K d_s equations b + sum_i p_i a_i f_i = 0."""

    a: Tensor  # (m, n)
    b: Tensor  # (m,)


def fix(coef: Coefficients, c: Tensor) -> Line:
    r"""Fix the statistics at c, `(K,)` (Prop. 1).

    .. math::
        \alpha = \alpha_0 - c \alpha_1, \qquad \beta = \beta_0 - c \beta_1
    """
    c = c.unsqueeze(-1)
    return Line(coef.alpha0 - c * coef.alpha1, coef.beta0 - c * coef.beta1)


def constrain(line: Line, s: Tensor, p: Tensor, mask: Tensor) -> Constraint:
    r"""Write parity as equations, one for each statistic and group.

    .. math::
        a_{ik} = S_{ik} \beta_i, \qquad b_k = \sum_i p_i S_{ik} \alpha_i

    Groups outside the mask, `(K, d_s)`, cannot be compared: theirs become 0 = 0.
    """
    kept = mask.to(s).unsqueeze(-1)
    a = line.beta.unsqueeze(1) * (kept * s.T)
    b = ((line.alpha * p) @ s) * mask.to(s)
    return Constraint(a.flatten(0, 1), b.flatten())
