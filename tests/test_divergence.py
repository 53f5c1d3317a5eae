"""Divergences: their values, derivatives and minimisers."""

import math

import pytest
import torch

import reference
from fairret.divergence import (
    DIVERGENCES,
    bounded_logit,
    get_divergence,
    read_scores,
)
from fairret.errors import DtypeError, NameNotFoundError

SMOOTH = [d for d in DIVERGENCES.values() if not d.has_kink]
F = torch.tensor([0.13, 0.5, 0.91, 0.4, 0.02], dtype=torch.float64)
H = torch.tensor([0.35, 0.2, 0.88, 0.4, 0.97], dtype=torch.float64)
AT_H = read_scores(torch.logit(H))


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=repr)
def test_value_equals_the_definition(divergence):
    value = divergence.measure(F, AT_H).value
    expected = [
        reference.divergence_value(divergence.name, f, h)
        for f, h in zip(F.tolist(), H.tolist(), strict=True)
    ]
    torch.testing.assert_close(value, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=repr)
def test_gradient_is_the_derivative_of_the_value_in_the_logit(divergence):
    apart = F != H
    x = torch.logit(H).requires_grad_()
    value = divergence.measure(F, read_scores(x)).value
    (slope,) = torch.autograd.grad(value.sum(), x)
    gradient = divergence.measure(F, AT_H).gradient
    torch.testing.assert_close(gradient[apart], slope[apart])
    torch.testing.assert_close(gradient, torch.where(apart, slope, 0.0))


def test_chi_squared_changes_less_where_its_denominator_is_bounded():
    x = torch.tensor([-15.0, 16.0, 2.0], dtype=torch.float64, requires_grad=True)
    f = torch.tensor([0.01, 0.97, 0.5], dtype=torch.float64)
    chi2 = DIVERGENCES["chi2"]
    (slope,) = torch.autograd.grad(chi2.measure(f, read_scores(x)).value.sum(), x)
    gradient = chi2.measure(f, read_scores(x.detach())).gradient
    torch.testing.assert_close(gradient, slope)


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=repr)
def test_value_is_zero_only_where_both_agree(divergence):
    value = divergence.measure(F, AT_H).value
    assert value[3].abs() < 1e-15
    assert (value[[0, 1, 2, 4]] > 1e-4).all()


@pytest.mark.parametrize("divergence", SMOOTH, ids=repr)
def test_slope_and_curvature_are_derivatives_of_the_value(divergence):
    scores = AT_H
    f = F.clone().requires_grad_()
    value = divergence.measure(f, scores).value.sum()
    (slope,) = torch.autograd.grad(value, f, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), f)
    torch.testing.assert_close(divergence.slope(F, 1 - F, scores), slope.detach())
    torch.testing.assert_close(divergence.curvature(F, 1 - F, scores), curvature)


@pytest.mark.parametrize("divergence", SMOOTH, ids=repr)
def test_rate_at_h_is_that_of_the_minimiser_at_zero(divergence):
    rate = divergence.minimise(AT_H, torch.zeros_like(H)).rate()
    torch.testing.assert_close(divergence.rate_at_h(AT_H), rate)


@pytest.mark.parametrize("divergence", SMOOTH, ids=repr)
def test_minimiser_is_where_the_slope_is_minus_t(divergence):
    scores = AT_H
    t = torch.tensor([0.3, -0.2, 0.05, -0.6, 0.4], dtype=torch.float64)
    f, rate = divergence.minimise(scores, t)
    inside = (f > 0) & (f < 1)
    assert inside.sum() >= 4
    torch.testing.assert_close(divergence.slope(f, 1 - f, scores)[inside], -t[inside])
    step = 1e-6
    moved = (
        divergence.minimise(scores, t + step).f
        - divergence.minimise(scores, t - step).f
    )
    torch.testing.assert_close(-moved / (2 * step), rate(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("divergence", SMOOTH, ids=repr)
@pytest.mark.parametrize("t", [-1e6, -800.0, -30.0, 30.0, 800.0, 1e6])
def test_minimiser_is_finite_for_extreme_scores_and_multipliers(divergence, t):
    x = torch.tensor([-1e4, -400, -40, 0, 40, 400, 1e4], dtype=torch.float64)
    scores = read_scores(bounded_logit(x, is_logit=True))
    f, rate = divergence.minimise(scores, torch.full((7,), t, dtype=torch.float64))
    for result in (f, rate(), *divergence.measure(f, scores)):
        assert torch.isfinite(result).all()
    assert (f >= 0).all()
    assert (f <= 1).all()
    assert (rate() >= 0).all()


def test_jensen_shannon_has_no_complex_root_where_the_discriminant_vanishes():
    scores = read_scores(torch.full((201,), 490.0, dtype=torch.float64))
    near = torch.linspace(-1e-14, 1e-14, 201, dtype=torch.float64)
    f, _ = DIVERGENCES["js"].minimise(scores, math.log(2) / 2 + near)  # r = 1/2
    assert (f <= 1).all()


def test_total_variation_takes_its_slope_at_the_kink_from_the_multiplier():
    scores = read_scores(torch.logit(torch.tensor([0.3, 0.6, 0.5, 0.7]).double()))
    f = torch.stack((scores.h[0], *torch.tensor([0.4, 0.9]).double(), scores.h[3]))
    t = torch.tensor([0.25, 1.0, -1.0, -7.0], dtype=torch.float64)
    gradient = DIVERGENCES["tv"].measure(f, scores, t).gradient
    expected = torch.tensor([0.25, 1.0, -1.0, -1.0]) * scores.h * scores.k
    torch.testing.assert_close(gradient, expected)


def test_divergence_is_found_by_its_name_in_any_case():
    assert get_divergence("KL").name == "kl"
    assert get_divergence(DIVERGENCES["tv"]) is DIVERGENCES["tv"]


def test_unknown_divergence_lists_the_known_ones():
    with pytest.raises(NameNotFoundError, match="Pass one of kl, js, sed, tv, chi2"):
        get_divergence("hellinger")
    with pytest.raises(DtypeError, match="got int"):
        get_divergence(3)
