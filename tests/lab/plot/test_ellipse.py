"""The ellipse is that of one standard error of the mean."""

import numpy as np

from fairret.lab.plot import mean_ellipse

N = 7


def seeds():
    rng = np.random.default_rng(4)
    x = rng.normal(0.8, 0.02, N)
    return x, 0.3 + 2 * (x - 0.8) + rng.normal(0, 0.01, N)


def test_outline_lies_at_one_standard_error():
    x, y = seeds()
    away = mean_ellipse(x, y).outline() - [x.mean(), y.mean()]
    sigma = np.cov(x, y) / N
    distance = np.einsum("ij,jk,ik->i", away, np.linalg.inv(sigma), away)
    np.testing.assert_allclose(distance, 1, rtol=1e-9)  # rounding of the inverse


def test_extremes_are_the_standard_errors_of_each_number():
    x, y = seeds()
    outline = mean_ellipse(x, y).outline(20_000)
    widest = np.abs(outline - [x.mean(), y.mean()]).max(0)
    errors = [x.std(ddof=1) / np.sqrt(N), y.std(ddof=1) / np.sqrt(N)]
    np.testing.assert_allclose(widest, errors, rtol=1e-6)  # spacing of the outline


def test_long_axis_points_where_both_rise_together():
    ellipse = mean_ellipse(*seeds())
    assert ellipse.half[1] > ellipse.half[0]
    assert ellipse.axes[0, 1] * ellipse.axes[1, 1] > 0


def test_seeds_that_agree_make_a_point():
    outline = mean_ellipse(np.full(3, 0.7), np.full(3, 0.2)).outline()
    np.testing.assert_allclose(outline, np.tile([0.7, 0.2], (len(outline), 1)))


def test_one_seed_has_no_ellipse():
    assert mean_ellipse(np.array([0.7]), np.array([0.2])) is None
