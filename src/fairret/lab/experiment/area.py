"""Areas that points, or the lines between them, dominate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fairret.lab.experiment.trade_off import Floats


def hypervolume(
    points: Iterable[tuple[float, float]], reference: tuple[float, float]
) -> float:
    r"""Area that points dominate, where x should be large and y small.

    .. math::
        \mathrm{area} \bigcup_i [r_x, x_i] \times [y_i, r_y]

    Exact: points by falling x, each adding the strip below the lowest y so far.

    Args:
        points: Pairs x, y.
        reference: The corner :math:`(r_x, r_y)` that every point should beat.

    Example:
        >>> hypervolume([(3.0, 1.0), (2.0, 0.0)], reference=(0.0, 2.0))
        5.0
    """
    right, top = reference
    area, lowest = 0.0, top
    for x, y in sorted(points, reverse=True):
        if x > right and y < lowest:
            area += (x - right) * (lowest - y)
            lowest = y
    return area


def curve_volume(
    points: Sequence[tuple[float, float]], reference: tuple[float, float]
) -> float:
    r"""Area that the lines between consecutive points dominate.

    .. math::
        \int_{r_x}^{\infty} \Bigl(r_y - \min \bigl\{y : (x', y) \text{ on the lines},
        x' \ge x, y \le r_y \bigr\}\Bigr) \, dx

    A grid with more strengths has smaller steps and so a larger :func:`hypervolume`;
    this area depends on it only as far as the curve bends. Exact: between the ends and
    crossings of the lines the integrand is linear, so that its midpoint suffices.

    Args:
        points: Pairs x, y, in the order in which they are joined.
        reference: The corner :math:`(r_x, r_y)` that the curve should beat.

    Example:
        >>> curve_volume([(1.0, 1.0), (0.0, 0.0)], reference=(0.0, 1.0))
        0.5
    """
    right, top = reference
    joined = np.asarray(points, float).reshape(-1, 2)
    first, last = joined[:-1], joined[1:]
    swap = (first[:, 0] > last[:, 0])[:, None]
    left, end = np.where(swap, last, first), np.where(swap, first, last)
    width = end[:, 0] - left[:, 0]
    rise = np.maximum(end[:, 1] - left[:, 1], 0)  # else the end is the best of the line
    low = end[:, 1] - rise
    slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)

    crossings = _crossings(left[:, 0], low, slope, top)
    ends = np.unique(np.concatenate([joined[:, 0], crossings, [right]]))
    ends = ends[(ends >= right) & (ends <= max(right, joined[:, 0].max()))]
    x = (ends[1:, None] + ends[:-1, None]) / 2
    y = low + slope * np.maximum(x - left[:, 0], 0)
    lowest = np.min(y, axis=1, where=end[:, 0] >= x, initial=top)
    return float(np.diff(ends) @ (top - lowest))


def _crossings(x: Floats, y: Floats, slope: Floats, top: float) -> Floats:
    """List where lines y + slope max(· - x, 0) may cross each other, or `top`."""
    offset = y - slope * x
    pairs = [(offset[:, None] - offset, slope - slope[:, None])]  # two slopes
    pairs += [(y[:, None] - offset, slope + 0 * y[:, None])]  # flat and slope
    pairs += [(top - offset, slope)]
    found = [
        np.divide(gap, rate, out=np.full_like(gap, -np.inf), where=rate != 0)
        for gap, rate in pairs
    ]
    return np.concatenate([one.ravel() for one in found])
