"""What a fairret is worth: the definitions, strictness, weights, order, shapes."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
from batches import (
    LOSSES,
    PROJECTIONS,
    STACKS,
    STATISTICS,
    VIOLATIONS,
    balanced,
    paired,
    same_block_per_group,
    sample,
)
from fairret.loss import KLProjectionLoss, NormLoss, ProjectionLoss, SmoothMaxLoss
from fairret.statistic import get_statistic

N = 31


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
@pytest.mark.parametrize("name", STATISTICS)
def test_norm_equals_the_plain_loop(name, p):
    batch = sample(N, "three", seed=1)
    v = reference.violations(name, *batch.numpy())
    expected = torch.tensor(np.linalg.norm(v, p))
    torch.testing.assert_close(NormLoss(name, p)(*batch), expected)


@pytest.mark.parametrize("name", STATISTICS)
def test_smooth_max_equals_the_plain_loop(name):
    batch = sample(N, "three", seed=2)
    v = reference.violations(name, *batch.numpy())
    expected = math.log(sum(math.exp(x) for x in v)) - math.log(len(v))
    torch.testing.assert_close(
        SmoothMaxLoss(name)(*batch), torch.tensor(expected, dtype=torch.float64)
    )


@pytest.mark.parametrize("loss_cls", VIOLATIONS)
def test_stacked_violation_is_the_sum_over_the_stack(loss_cls):
    batch = sample(N, "continuous", seed=3)
    names = ("tpr", "ppv", "pr", "accuracy", "fn_fp")
    expected = sum(loss_cls(name)(*batch) for name in names)
    torch.testing.assert_close(loss_cls("+".join(names))(*batch), expected)


@pytest.mark.parametrize("loss_cls", PROJECTIONS)
def test_projection_loss_is_the_divergence_of_the_projection(loss_cls):
    batch = sample(N, "three", seed=4)
    loss = loss_cls("ppv")
    found = loss.project(*batch)
    name = loss.divergence.name
    h = batch.numpy()[0]
    values = [
        reference.divergence_value(name, f, x)
        for f, x in zip(found.f_star.tolist(), h, strict=True)
    ]
    expected = torch.tensor(np.mean(values))
    torch.testing.assert_close(loss(*batch), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", [*STATISTICS, *STACKS])
@pytest.mark.parametrize("loss_cls", LOSSES)
def test_fair_model_costs_nothing(loss_cls, name):
    batch = same_block_per_group()
    loss = loss_cls(name)(*batch)
    # rounding of a mean of 15 float64 numbers; total variation: its solver's barrier
    torch.testing.assert_close(loss, torch.zeros_like(loss), atol=1e-10, rtol=0)


@pytest.mark.parametrize(("loss_cls", "name"), paired(LOSSES))
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**16), push=st.floats(0.05, 3.0))
def test_unfair_model_costs_something(loss_cls, name, seed, push):
    """The other half of strictness (Prop. 2): move one group, and it shows."""
    batch = same_block_per_group(seed)
    logit = batch.logit + push * batch.sens[:, 0] * (0.5 + batch.label)
    prob = logit.sigmoid()
    statistic = get_statistic(name)
    gap = statistic(prob, batch.sens, batch.label) - statistic.overall(
        prob, batch.label
    )
    assume(gap.abs().max() > 1e-3)  # hypothesis fails where too few batches have one
    assert loss_cls(name)(logit, batch.sens, batch.label) > 1e-8


@pytest.mark.parametrize("loss_cls", VIOLATIONS)
def test_strict_where_the_overall_statistic_is_zero(loss_cls):
    """The paper's footnote: v_k = |gamma_k| there."""
    logit = torch.tensor([-math.inf, -math.inf, -math.inf])
    sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    loss = loss_cls("pr")
    assert loss(logit, sens) == 0
    prob = torch.tensor([0.0, 0.0, 0.0])
    assert loss(prob, sens, pred_as_logit=False) == 0


def test_zero_overall_with_unequal_groups_is_not_parity():
    class Signed(type(get_statistic("pr"))):
        def nom_slope(self, sign):
            return sign

    sign = torch.tensor([1.0, -1.0])
    prob = torch.tensor([0.5, 0.5])
    loss = NormLoss(Signed())(prob, torch.eye(2), sign=sign, pred_as_logit=False)
    torch.testing.assert_close(loss, torch.tensor(1.0))  # |0.5| + |-0.5|


@pytest.mark.parametrize("loss_cls", LOSSES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**16), name=st.sampled_from(STATISTICS))
def test_row_order_is_irrelevant(loss_cls, seed, name):
    batch = sample(N, "continuous", seed)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(seed))
    loss = loss_cls(name)
    shuffled = loss(*(x[order] for x in batch))
    torch.testing.assert_close(shuffled, loss(*batch), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss_cls", LOSSES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**16), name=st.sampled_from(STATISTICS))
def test_weight_two_is_the_row_twice(loss_cls, seed, name):
    batch = sample(N, "three", seed)
    rng = torch.Generator().manual_seed(seed)
    times = torch.randint(0, 3, (N,), generator=rng)
    times[:9] += 1
    loss = loss_cls(name)
    repeated = loss(*(x.repeat_interleave(times, 0) for x in batch))
    weighted = loss(*batch, weight=times)
    torch.testing.assert_close(weighted, repeated, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss_cls", LOSSES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**16), size=st.sampled_from([1e-6, 0.3, 40.0, 1e9]))
def test_scale_of_the_weights_is_irrelevant(loss_cls, seed, size):
    batch = sample(N, "one", seed)
    weight = torch.linspace(0.2, 2, N, dtype=torch.float64)
    loss = loss_cls("ppv")
    torch.testing.assert_close(
        loss(*batch, weight=size * weight),
        loss(*batch, weight=weight),
        rtol=1e-5,
        atol=1e-7,
    )


@pytest.mark.parametrize("loss_cls", LOSSES)
@pytest.mark.parametrize("name", ["pr", "tpr", "ppv"])
def test_scale_of_a_membership_is_irrelevant(loss_cls, name):
    batch = sample(N, "continuous", 5)
    smaller = batch.sens * torch.linspace(0.01, 1, batch.sens.shape[1]).double()
    loss = loss_cls(name)
    torch.testing.assert_close(
        loss(batch.logit, smaller, batch.label), loss(*batch), rtol=1e-5, atol=1e-8
    )


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_last_batch_may_be_smaller_or_larger(loss_cls):
    loss = loss_cls("tpr")
    first = loss(*sample(N, seed=6))
    for n in (7, 64, 1):
        assert torch.isfinite(loss(*(x[:n] for x in sample(64, seed=n))))
    assert loss(*sample(N, seed=6)) == first


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_inputs_stay_unchanged(loss_cls):
    batch = sample(N, "three", seed=7)
    before = [x.clone() for x in batch]
    loss_cls("fn_fp")(*batch)
    for x, y in zip(batch, before, strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_probabilities_and_logits_agree(loss_cls):
    batch = sample(N, seed=8)
    loss = loss_cls("ppv")
    from_prob = loss(
        batch.logit.sigmoid(), batch.sens, batch.label, pred_as_logit=False
    )
    torch.testing.assert_close(from_prob, loss(*batch), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss_cls", LOSSES)
@pytest.mark.parametrize("as_logit", [True, False])
def test_sharpness_multiplies_the_logits(loss_cls, as_logit):
    batch = sample(N, seed=9)
    pred = batch.logit if as_logit else batch.logit.sigmoid()
    sharp = loss_cls("pr", sharpness=3.0)
    expected = loss_cls("pr")(3 * batch.logit, batch.sens)
    got = sharp(pred, batch.sens, pred_as_logit=as_logit)
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-9)
    got = loss_cls("pr")(pred, batch.sens, pred_as_logit=as_logit, sharpness=3.0)
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-9)


def test_sharper_scores_approach_decisions():
    batch = sample(200, seed=10)
    decision = (batch.logit > 0).double()
    hard = NormLoss("pr")(decision, batch.sens, pred_as_logit=False)
    distances = [
        abs(NormLoss("pr", sharpness=a)(batch.logit, batch.sens) - hard)
        for a in (1, 10, 1000)
    ]
    assert distances[2] < distances[1] < distances[0]
    assert distances[2] < 1e-2


@pytest.mark.parametrize("loss_cls", VIOLATIONS)
def test_violation_is_measured_from_the_target(loss_cls):
    batch = sample(N, seed=11)
    gamma = get_statistic("tpr")(batch.logit.sigmoid(), *batch[1:])
    gamma = gamma[~gamma.isnan()]
    v = (gamma / 0.3 - 1).abs()
    expected = loss_cls("tpr").penalize_violation(v)
    got = loss_cls("tpr")(*batch, target_statistic=0.3)
    torch.testing.assert_close(got, expected)


def test_projection_goes_to_the_target():
    batch = balanced(3)
    loss = KLProjectionLoss("tpr+ppv")
    target = torch.tensor([0.61, 0.55])
    found = loss.project(*batch, target_statistic=target)
    gamma = get_statistic("tpr+ppv")(found.f_star, *batch[1:])
    torch.testing.assert_close(
        gamma, target.double()[:, None].expand(2, 3), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("name", ["pr", "tpr"])
def test_violation_shrinks_with_the_scores_that_keep_their_order(name):
    """So that AUROC beside it is blind to a model that says the same of everybody."""
    _, sens, label = batch = sample(N, "three", seed=5)
    h, loss = torch.sigmoid(batch.logit), NormLoss(name)
    c = get_statistic(name).overall(h, label)
    for share in (0.5, 1e-3):
        shrunk = c + share * (h - c)
        torch.testing.assert_close(
            loss(shrunk, sens, label, pred_as_logit=False), share * loss(*batch)
        )


def test_five_statistics_stack_in_every_loss():
    batch = balanced(4)
    for loss_cls in LOSSES:
        loss = loss_cls("pr+tpr+fpr+ppv+accuracy")
        assert loss(*batch) > 0


def test_divergences_are_ordered_as_their_second_order_terms():
    """KL = 4 JS = chi2 / 2 for small gaps, where h is not near a bound."""
    batch = sample(500, seed=12, scale=0.05)
    kl, js, chi2 = (
        float(ProjectionLoss("pr", d)(batch.logit, batch.sens))
        for d in ("kl", "js", "chi2")
    )
    assert kl == pytest.approx(4 * js, rel=1e-2)
    assert kl == pytest.approx(chi2 / 2, rel=1e-2)
