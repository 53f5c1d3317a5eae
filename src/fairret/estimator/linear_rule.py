"""A fitted rule as plain numbers, which can be saved and need no torch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairret.control.rule import Rule
from fairret.control.rule_module import label_prices
from fairret.estimator.features import Numbers


class LinearRule(NamedTuple):
    r"""The rule of :class:`fairret.control.Rule`, with prices summed per label.

    .. math::
        m = 2 (\eta - \tau) - p - (1 - \eta)\, c_0 \cdot (1, q_0)
            - \eta\, c_1 \cdot (1, q_1)
    """

    threshold: float
    price: float  # of a yes
    zero: Numbers  # c_0, (1 + d_s,), everybody first
    one: Numbers  # c_1

    @classmethod
    def read(cls, rule: Rule) -> LinearRule:
        """Take over a fitted rule."""
        zero, one = (label_prices(rule, y).numpy() for y in (0.0, 1.0))
        return cls(float(rule.threshold), float(rule.price[-1]), zero, one)

    def margin(self, eta: Numbers, q0: Numbers, q1: Numbers) -> Numbers:
        """Compute the margin, `(n,)`: a yes above 0."""
        c0 = self.zero[0] + q0 @ self.zero[1:]
        c1 = self.one[0] + q1 @ self.one[1:]
        gain = 2 * (eta - self.threshold) - self.price
        return np.asarray(gain - (1 - eta) * c0 - eta * c1)
