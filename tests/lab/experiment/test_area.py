"""Areas are exact: those of known shapes, and of fine grids."""

import math
from itertools import pairwise

import numpy as np
import pytest

from fairret.lab.experiment.area import curve_volume, hypervolume

CELLS = 400


@pytest.mark.parametrize("seed", range(8))
def test_area_equals_that_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((rng.integers(1, 9), 2)) * [1.4, 1.3] - [0.2, 0.1]
    r_x, r_y = 0.1, 0.9
    x, y = np.meshgrid(
        r_x + 1.3 * (np.arange(CELLS) + 0.5) / CELLS,
        r_y - 1.2 * (np.arange(CELLS) + 0.5) / CELLS,
    )
    covered = np.zeros_like(x, dtype=bool)
    for a, b in points:
        covered |= (x <= a) & (y >= b)
    area = covered.mean() * 1.3 * 1.2
    found = hypervolume(map(tuple, points), (r_x, r_y))
    assert found == pytest.approx(area, abs=0.01)  # cells along the border


def test_points_beyond_the_reference_and_dominated_ones_add_nothing():
    best = [(0.8, 0.1)]
    area = hypervolume(best, (0.5, 0.4))
    assert area == pytest.approx(0.09)
    others = [(0.8, 0.1), (0.7, 0.2), (0.8, 0.3), (0.4, 0.0), (0.9, 0.5)]
    assert hypervolume(best + others, (0.5, 0.4)) == pytest.approx(area)
    assert hypervolume([], (0.5, 0.4)) == 0


def on_lines(points, count=1000):
    """Many points on the lines between consecutive points."""
    ends = np.asarray(points)
    t = np.linspace(0, 1, count)[:, None]
    parts = [a + t * (b - a) for a, b in pairwise(ends)]
    return np.concatenate(parts)


@pytest.mark.parametrize("seed", range(12))
def test_area_of_a_curve_is_that_of_many_points_on_it(seed):
    """Curves that cross themselves, leave the frame, and go back."""
    rng = np.random.default_rng(seed)
    points = rng.random((rng.integers(2, 9), 2)) * [1.4, 1.3] - [0.2, 0.1]
    reference = (0.1, 0.9)
    found = curve_volume(points, reference)
    assert found == pytest.approx(
        hypervolume(map(tuple, on_lines(points)), reference), abs=4e-3
    )


def test_area_below_a_quarter_circle():
    angle = np.linspace(0, math.pi / 2, 31)
    points = np.stack([np.sin(angle), 1 - np.cos(angle)], 1)  # from (0, 0) to (1, 1)
    found = curve_volume(points, (0.0, 1.0))
    assert found == pytest.approx(30 / 2 * math.sin(math.pi / 60))  # of the polygon
    assert found == pytest.approx(math.pi / 4, abs=1e-3)


def test_more_marks_on_a_line_do_not_change_the_area_of_the_curve():
    few, many = ([(1 - t, 1 - t) for t in np.linspace(0, 1, k)] for k in (2, 9))
    areas = [curve_volume(points, (0.0, 1.0)) for points in (few, many)]
    assert areas == pytest.approx([0.5, 0.5])
    steps = [hypervolume(points, (0.0, 1.0)) for points in (few, many)]
    assert steps == pytest.approx([0.0, 7 / 16])


def test_a_single_point_has_no_line():
    assert curve_volume([(0.7, 0.2)], (0.0, 1.0)) == 0
