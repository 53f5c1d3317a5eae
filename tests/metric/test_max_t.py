"""The largest of correlated normal numbers, against integrals of their density."""

import numpy as np
import pytest
import torch
from scipy import stats

from fairret.metric.max_t import max_t, normal_quantile


def exact_tail(correlation, c):
    """Integrate the density over the box, by scipy."""
    d = len(correlation)
    normal = stats.multivariate_normal(np.zeros(d), correlation, allow_singular=True)
    box = normal.cdf(np.full(d, c), lower_limit=np.full(d, -c))
    return 1 - box


def correlation(d, seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(d, d + 1))
    cov = factor @ factor.T
    return cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "c"), [(2, 1.0), (2, 3.0), (3, 1.96), (3, 2.5), (5, 1.96), (5, 3.0)]
)
def test_tail_is_the_integral_of_the_density(d, c):
    matrix = correlation(d, seed=d)
    ours = max_t(torch.tensor(matrix)).tail(torch.tensor([c]).double()).item()
    # 4096 directions have a relative error of about 0.5 %, here and there of 2 %
    assert ours == pytest.approx(exact_tail(matrix, c), rel=0.03, abs=1e-4)


@pytest.mark.parametrize("d", [1, 4, 20, 100])
def test_quantile_of_independent_numbers_is_sidaks(d):
    ours = max_t(torch.eye(d).double()).quantile(0.95)
    sidak = stats.norm.isf((1 - 0.95 ** (1 / d)) / 2)
    assert ours.item() == pytest.approx(sidak, abs=0.01)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_two_groups_that_make_up_everybody_are_one(confidence):
    matrix = torch.tensor([[4.0, -4.0], [-4.0, 4.0]]).double()
    found = max_t(matrix)
    assert found.quantile(confidence).item() == pytest.approx(
        normal_quantile(confidence), rel=1e-9
    )
    for c in (0.3, 2.0, 12.0, 30.0):
        tail = found.tail(torch.tensor([c]).double()).item()
        assert tail == pytest.approx(2 * stats.norm.sf(c), rel=1e-6)


def test_tail_falls_and_stays_below_sidaks_bound():
    matrix = torch.tensor(correlation(9, seed=1))
    c = torch.linspace(0, 38, 400).double()
    tail = max_t(matrix).tail(c)
    assert (tail.diff() <= 1e-15).all()
    single = torch.special.erfc(c / 2**0.5)
    assert (tail <= -torch.expm1(9 * torch.log1p(-single)) + 1e-12)[1:].all()
    assert tail[0] == 1
    assert tail[-1] > 0


def test_quantile_and_tail_are_inverse():
    found = max_t(torch.tensor(correlation(6, seed=2)))
    for confidence in (0.8, 0.95, 0.99, 0.99999):
        tail = found.tail(found.quantile(confidence)[None])
        assert tail.item() == pytest.approx(1 - confidence, rel=1e-6)


def test_entries_without_variance_do_not_count():
    matrix = torch.tensor(correlation(3, seed=3))
    wide = torch.zeros(5, 5).double()
    at = torch.tensor([0, 2, 3])
    wide[at[:, None], at] = matrix * 7.0
    quantile = [max_t(x).quantile(0.95).item() for x in (matrix, wide)]
    assert quantile[0] == pytest.approx(quantile[1], rel=0.01)  # other directions
    assert torch.isnan(max_t(torch.zeros(2, 2).double()).quantile(0.95))


def test_contrasts_are_those_of_their_covariance():
    matrix = torch.tensor(correlation(4, seed=4)) * 3.0
    rows = torch.tensor([[1.0, -1, 0, 0], [0, 1, -1, 0], [1, 0, 0, -1]]).double()
    ours = max_t(matrix, rows).quantile(0.95).item()
    theirs = max_t(rows @ matrix @ rows.T).quantile(0.95).item()
    assert ours == pytest.approx(theirs, rel=0.01)  # other directions


def test_leading_dimensions_are_tables_of_their_own():
    some = [torch.tensor(correlation(4, seed)) for seed in (5, 6)]
    some.append(torch.ones(4, 4).double())  # of another rank
    together = max_t(torch.stack(some)).quantile(0.9)
    alone = torch.stack([max_t(x).quantile(0.9) for x in some])
    torch.testing.assert_close(together, alone, rtol=1e-9, atol=0)
