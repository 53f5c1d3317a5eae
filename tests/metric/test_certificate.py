"""Certificates: bounds of the violation in the population, as plain functions."""

import math

import pytest
import torch

from fairret.metric import Parity
from fairret.metric.certificate import certify, decision_moments, log_ratios
from fairret.metric.delta_method import add_moments
from fairret.metric.max_t import normal_quantile, one_sided_quantile
from tables import Population, moments, sides, trait

N, D_S = 400, 3
UPPER = ("one-sided", "two-sided", "simultaneous")


def decided(seed=0, n=N):
    rng = torch.Generator().manual_seed(seed)
    s = torch.nn.functional.one_hot(torch.arange(n) % 7 % D_S, D_S).double()
    y = (torch.rand(n, generator=rng) < 0.5).double()
    rate = 0.3 + 0.2 * s[:, 1] + 0.2 * y
    return (torch.rand(n, generator=rng) < rate).double(), s, y


@pytest.mark.parametrize("name", ["pr", "tpr", "ppv", "fn_fp"])
def test_covariance_is_the_sum_over_influences(name):
    h, s, y = decided()
    u, v = sides(name, h, y)
    found = log_ratios(decision_moments(h, s, name, label=y))
    gamma_bar = u.sum() / v.sum()
    phi = torch.zeros(N, D_S, dtype=torch.float64)
    for k in range(D_S):
        N_k, D_k = (s[:, k] * u).sum(), (s[:, k] * v).sum()
        gamma = N_k / D_k
        assert found.estimate[0, k] == pytest.approx(math.log(gamma / gamma_bar))
        for i in range(N):
            own = s[i, k] * (u[i] - gamma * v[i]) / (D_k * gamma)
            everybody = (u[i] - gamma_bar * v[i]) / (v.sum() * gamma_bar)
            phi[i, k] = own - everybody
    off_diagonal = ~torch.eye(D_S, dtype=torch.bool)  # has no pseudo-counts
    torch.testing.assert_close(
        found.covariance[0][off_diagonal], (phi.T @ phi)[off_diagonal]
    )
    plain = (phi.T @ phi).diagonal().sqrt()
    assert (found.standard_error[0] >= plain * (1 - 1e-9)).all()
    # one row of either kind more, in groups with at least 40 counted rows
    assert (found.standard_error[0] <= plain * 1.1).all()


def test_sums_of_batches_merge():
    h, s, y = decided()
    w = torch.arange(1.0, N + 1).double()
    whole = decision_moments(h, s, "tpr+ppv", label=y, weight=w)
    merged = None
    for rows in torch.arange(N).split(150):
        own = (h[rows], s[rows], "tpr+ppv")
        part = decision_moments(*own, label=y[rows], weight=w[rows])
        merged = part if merged is None else add_moments(merged, part)
    for one, other in zip(certify(merged), certify(whole), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("upper", UPPER)
def test_upper_bound_uses_the_quantile_that_is_asked_for(upper):
    h, s, _ = decided(1)
    m = decision_moments(h, s, "pr")
    found, ratios = certify(m, upper=upper), log_ratios(m)
    c = {"one-sided": one_sided_quantile(0.95), "two-sided": normal_quantile(0.95)}
    if upper == "simultaneous":
        assert found.largest.high == found.each.high.max()
        return
    ends = [
        ratios.estimate + sign * c[upper] * ratios.standard_error for sign in (-1, 1)
    ]
    expected = torch.stack(ends).expm1().abs().amax()
    assert found.largest.high.item() == pytest.approx(expected.item(), rel=1e-12)


def test_bounds_are_those_of_the_metric():
    h, s, y = decided(2, 900)
    metric = Parity("tpr", d_s=D_S)
    metric.update(h, s, y)
    result = metric.compute().scores
    assert result.beyond_chance  # else its lower bound is 0
    found = certify(decision_moments(h, s, "tpr", label=y), upper="two-sided")
    for one, other in zip(found.largest, result.largest_violation, strict=True):
        assert one.item() == pytest.approx(other.item(), rel=1e-12)


def test_groups_without_variation_are_uncertain():
    s = trait(60, 50, 40)
    h = torch.cat((torch.ones(60), torch.zeros(50), torch.arange(40) % 2)).double()
    m = decision_moments(h, s, "pr")
    assert (log_ratios(m).standard_error > 0).all()
    found = certify(m)
    assert (found.each.high > found.each.low).all()
    assert found.each.high.isfinite().all()
    assert found.each.estimate[0, 1] == 1  # a rate of 0 is a violation of 100 %


def test_small_groups_are_not_covered():
    h, s = decided(3, 80)[0], trait(60, 20)
    found = certify(decision_moments(h, s, "pr"), min_size=30)
    assert found.judged.tolist() == [[True, False]]
    assert found.largest.estimate == found.each.estimate[0, 0]
    nothing = certify(decision_moments(h, s, "pr"), min_size=90)
    assert nothing.largest.high.isnan()


@pytest.mark.simulation
@pytest.mark.parametrize("name", ["pr", "tpr"])
def test_upper_bound_covers_in_95_percent(name):
    population = Population((0.4, -0.3, 0.0), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    sizes = (600, 500, 300)
    h, y = population.draw(trait(*sizes), 400, True, seed=5)
    found = certify(moments(name, h, y, trait(*sizes))).largest
    # the population has the groups in these proportions; recall counts positives
    many, labels = population.draw(trait(*(1000 * n for n in sizes)), 1, True, seed=6)
    m = decision_moments(
        many[0], trait(*(1000 * n for n in sizes)), name, label=labels[0]
    )
    truth = certify(m).largest.estimate
    assert (found.high >= truth).double().mean() >= 0.93  # 400 draws: s.e. 0.011
    assert (found.low <= truth).double().mean() >= 0.95
