"""Confidence ellipses of a mean (App. D.4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairret.experiment.trade_off import Floats


class Ellipse(NamedTuple):
    """An ellipse by its middle and half-axes."""

    middle: Floats  # (2,)
    half: Floats  # (2,): lengths, the smaller first
    axes: Floats  # (2, 2): unit vectors in the columns

    def outline(self, count: int = 72) -> Floats:
        """Give points on the ellipse, `(count, 2)`."""
        angle = np.linspace(0, 2 * math.pi, count, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        points: Floats = self.middle + (self.axes @ (self.half[:, None] * circle)).T
        return points


def ellipse_of_mean(x: Floats, y: Floats) -> Ellipse | None:
    r"""Find the ellipse of one standard error around the mean of some seeds (App. D.4).

    .. math::
        \{ z : (z - \bar z)^T \Sigma^{-1} (z - \bar z) = 1 \}, \qquad
        \Sigma = \frac{\mathrm{cov}(x, y)}{n}

    Its axes are the eigenvectors of :math:`\Sigma`, its half-axes the roots of the
    eigenvalues. It is None for a single seed, which has no covariance.
    """
    if len(x) < 2:
        return None
    sigma = np.cov(x, y) / len(x)
    values, axes = np.linalg.eigh(sigma)
    half = np.sqrt(np.maximum(values, 0))  # rounding may leave -1e-20
    return Ellipse(np.array([x.mean(), y.mean()]), half, axes)
