"""Divergences: their values, derivatives and minimisers."""

import math

import pytest
import torch

import reference
from fairret.divergence import (
    DIVERGENCES,
    SmoothDivergence,
    get_divergence,
    scores_from_logit,
    scores_from_prob,
)
from fairret.errors import DtypeError, NameNotFoundError

SMOOTH = [d for d in DIVERGENCES.values() if isinstance(d, SmoothDivergence)]
F = torch.tensor([0.13, 0.5, 0.91, 0.4, 0.02], dtype=torch.float64)
H = torch.tensor([0.35, 0.2, 0.88, 0.4, 0.97], dtype=torch.float64)


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=repr)
def test_value_equals_the_definition(divergence):
    value = divergence.value(F, 1 - F, scores_from_prob(H))
    expected = [
        reference.divergence_value(divergence.name, f, h)
        for f, h in zip(F.tolist(), H.tolist(), strict=True)
    ]
    torch.testing.assert_close(value, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=repr)
def test_logits_and_probabilities_give_the_same_value(divergence):
    from_prob = divergence.value(F, 1 - F, scores_from_prob(H))
    from_logit = divergence.value(F, 1 - F, scores_from_logit(torch.logit(H)))
    torch.testing.assert_close(from_logit, from_prob)


@pytest.mark.parametrize("divergence", DIVERGENCES.values(), ids=repr)
def test_value_is_zero_only_where_both_agree(divergence):
    value = divergence.value(F, 1 - F, scores_from_prob(H))
    assert value[3].abs() < 1e-15
    assert (value[[0, 1, 2, 4]] > 1e-4).all()


@pytest.mark.parametrize("divergence", SMOOTH, ids=repr)
def test_slope_and_curvature_are_derivatives_of_the_value(divergence):
    scores = scores_from_prob(H)
    f = F.clone().requires_grad_()
    value = divergence.value(f, 1 - f, scores).sum()
    (slope,) = torch.autograd.grad(value, f, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), f)
    torch.testing.assert_close(divergence.slope(F, 1 - F, scores), slope.detach())
    torch.testing.assert_close(divergence.curvature(F, 1 - F, scores), curvature)


@pytest.mark.parametrize("divergence", SMOOTH, ids=repr)
def test_minimiser_is_where_the_slope_is_minus_t(divergence):
    scores = scores_from_prob(H)
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
    torch.testing.assert_close(-moved / (2 * step), rate, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("divergence", SMOOTH, ids=repr)
@pytest.mark.parametrize("t", [-1e6, -800.0, -30.0, 30.0, 800.0, 1e6])
def test_minimiser_is_finite_for_extreme_scores_and_multipliers(divergence, t):
    scores = scores_from_logit(
        torch.tensor([-1e4, -400, -40, 0, 40, 400, 1e4], dtype=torch.float64)
    )
    f, rate = divergence.minimise(scores, torch.full((7,), t, dtype=torch.float64))
    for x in (f, rate, divergence.value(f, 1 - f, scores)):
        assert torch.isfinite(x).all()
    assert (f >= 0).all()
    assert (f <= 1).all()
    assert (rate >= 0).all()


def test_jensen_shannon_has_no_complex_root_where_the_discriminant_vanishes():
    scores = scores_from_logit(torch.full((201,), 500.0, dtype=torch.float64))
    near = torch.linspace(-1e-14, 1e-14, 201, dtype=torch.float64)
    f, _ = DIVERGENCES["js"].minimise(scores, math.log(2) / 2 + near)  # r = 1/2
    assert (f <= 1).all()


def test_total_variation_takes_its_slope_at_the_kink_from_the_multiplier():
    h = torch.tensor([0.3, 0.6, 0.5], dtype=torch.float64, requires_grad=True)
    f = torch.tensor([0.3, 0.4, 0.9], dtype=torch.float64)
    t = torch.tensor([0.25, 1.0, -1.0], dtype=torch.float64)
    value = DIVERGENCES["tv"].value(f, 1 - f, scores_from_prob(h), t)
    (slope,) = torch.autograd.grad(value.sum(), h)
    torch.testing.assert_close(value, (f - h).abs())
    torch.testing.assert_close(slope, torch.tensor([0.25, 1.0, -1.0]).double())


def test_divergence_is_found_by_its_name_in_any_case():
    assert get_divergence("KL").name == "kl"
    assert get_divergence(DIVERGENCES["tv"]) is DIVERGENCES["tv"]


def test_unknown_divergence_lists_the_known_ones():
    with pytest.raises(NameNotFoundError, match="must be one of kl, js, sed, tv, chi2"):
        get_divergence("hellinger")
    with pytest.raises(DtypeError, match="got int"):
        get_divergence(3)
