r"""The residual of a projection, from its answer alone, for either package.

.. math::
    \max_k \frac{|g_k|}{\frac{1}{n} \sum_i |a_{ik}|}, \qquad
    g = b + \frac{1}{n} \sum_i a_i f_i
"""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def coefficients(statistic: str, y: Array) -> tuple[Array, Array, Array, Array]:
    """Alpha0, beta0, alpha1, beta1 of three rows of Table 1."""
    zero, one = np.zeros_like(y), np.ones_like(y)
    return {
        "PositiveRate": (zero, one, one, zero),
        "TruePositiveRate": (zero, y, y, zero),
        "PositivePredictiveValue": (zero, y, zero, one),
    }[statistic]


def residual(
    statistic: str, logit: Array, sens: Array, label: Array, f_star: Array
) -> float:
    """Largest gap of a constraint, relative to its group, in float64."""
    x, s, y, f = (np.asarray(v, np.float64) for v in (logit, sens, label, f_star))
    h, y, f = 1 / (1 + np.exp(-x.ravel())), y.ravel(), f.ravel()
    alpha0, beta0, alpha1, beta1 = coefficients(statistic, y)
    c = (alpha0 + h * beta0).sum() / (alpha1 + h * beta1).sum()
    a = s * (beta0 - c * beta1)[:, None]
    g = (s * (alpha0 - c * alpha1)[:, None]).mean(0) + (a * f[:, None]).mean(0)
    return float(np.max(np.abs(g) / np.abs(a).mean(0)))
