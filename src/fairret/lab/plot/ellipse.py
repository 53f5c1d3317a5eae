"""Confidence ellipses around the marks of a trade-off figure (App. D.4)."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairret.lab.experiment.trade_off import Floats, Mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Ellipse(NamedTuple):
    """An ellipse by its centre and half-axes."""

    middle: Floats  # (2,)
    half: Floats  # (2,): lengths, the smaller first
    axes: Floats  # (2, 2): unit vectors in the columns

    def outline(self, count: int = 72) -> Floats:
        """Points on the ellipse, `(count, 2)`."""
        angle = np.linspace(0, 2 * math.pi, count, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        points: Floats = self.middle + (self.axes @ (self.half[:, None] * circle)).T
        return points


def mean_ellipse(x: Floats, y: Floats) -> Ellipse | None:
    r"""Ellipse of one standard error around the mean of some seeds (App. D.4).

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


def mark_outline(mark: Mark) -> Floats:
    """Outline of a mark's ellipse, or the mark itself for one seed."""
    ellipse = mean_ellipse(mark.x, mark.y)
    return np.array([mark.mean]) if ellipse is None else ellipse.outline()


def draw_ellipse(ax: Axes, mark: Mark, colour: str) -> None:
    """Draw the ellipse of a mark, if it has more than one seed."""
    if len(mark.x) < 2:
        return
    patches: Any = importlib.import_module("matplotlib.patches")
    colours: Any = importlib.import_module("matplotlib.colors")
    outline = mark_outline(mark)
    if ax.get_yscale() == "log":  # there is no zero on it
        outline[:, 1] = outline[:, 1].clip(min=ax.get_ylim()[0] / 10)
    patch = patches.Polygon(
        outline,
        facecolor=colours.to_rgba(colour, 0.03),
        edgecolor=colours.to_rgba(colour, 0.2),  # two seeds make a line
        lw=0.5,
        zorder=2,
    )
    patch.set_gid("ellipse")
    ax.add_patch(patch)
    ax.update_datalim(outline)
