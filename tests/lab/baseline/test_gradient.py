"""Gradients against finite differences, with the reversal for the adversary."""

import pytest
import torch

from batches import sample
from fairret.lab.baseline import AdversarialDebiasingLoss, HSICLoss, PRemoverLoss

N, D, WIDTH = 13, 3, 4
BATCH = sample(N, seed=3)
SENS = BATCH.sens.clone()
SENS[4] = 0
WEIGHT = torch.linspace(0, 2, N, dtype=torch.float64)
LOSSES = (PRemoverLoss(), HSICLoss(), HSICLoss(bandwidth=0.08), HSICLoss(bandwidth=3.0))


def adversary(hidden_size=WIDTH):
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return AdversarialDebiasingLoss(D, hidden_size, width=7).double()


def layer():
    rng = torch.Generator().manual_seed(1)
    return torch.randn(N, WIDTH, generator=rng, dtype=torch.float64)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize("loss", [*LOSSES, adversary(None)], ids=repr)
def test_gradient_in_the_logits_passes_gradcheck(loss, weight):
    logit = BATCH.logit.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(x, SENS, weight=weight), (logit,))


@pytest.mark.parametrize("loss", [*LOSSES, adversary(None)], ids=repr)
def test_gradient_in_probabilities_passes_gradcheck(loss):
    prob = BATCH.logit.sigmoid().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x: loss(x, SENS, pred_as_logit=False), (prob,)
    )


def test_model_gets_the_gradient_of_the_value():
    loss, z = adversary(), layer().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(BATCH.logit, SENS, hidden=x), (z,))


@pytest.mark.parametrize("strength", [0.0, 0.01, 7.0])
def test_adversary_gets_the_reversed_gradient_without_the_strength(strength):
    loss, z, step = adversary(), layer(), 1e-6
    (strength * loss(BATCH.logit, SENS, hidden=z)).backward()
    for parameter in loss.parameters():
        for i in range(0, parameter.numel(), 3):
            sides = []
            for sign in (step, -step):
                with torch.no_grad():
                    parameter.view(-1)[i] += sign
                    sides.append(loss(BATCH.logit, SENS, hidden=z).item())
                    parameter.view(-1)[i] -= sign
            slope = (sides[0] - sides[1]) / (2 * step)
            got = parameter.grad.view(-1)[i].item()
            assert got == pytest.approx(-slope, abs=1e-8)  # rounding / step = 1e-10


def test_strength_scales_what_the_model_gets():
    loss, gradients = adversary(), []
    for strength in (1.0, 0.01):
        z = layer().requires_grad_()
        (strength * loss(BATCH.logit, SENS, hidden=z)).backward()
        gradients.append(z.grad / strength)
    torch.testing.assert_close(*gradients)


def test_adversary_leaves_a_detached_model_alone_and_still_learns():
    loss, z = adversary(), layer()
    logit = BATCH.logit.clone().requires_grad_()
    optimizer = torch.optim.Adam(loss.parameters(), lr=0.05)
    first = loss(logit, SENS, hidden=z).item()
    for _ in range(50):
        optimizer.zero_grad()
        loss(logit, SENS, hidden=z).backward()
        optimizer.step()
    assert logit.grad is None
    assert loss(logit, SENS, hidden=z).item() > first + 0.1


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradient_step_lowers_the_value(loss):
    logit = BATCH.logit.clone().requires_grad_()
    before = loss(logit, SENS)
    (gradient,) = torch.autograd.grad(before, logit)
    after = loss(BATCH.logit - 0.05 * gradient / gradient.norm(), SENS)
    assert after < before.detach()


def test_inputs_are_left_as_they_are():
    z = layer()
    copies = [x.clone() for x in (BATCH.logit, SENS, WEIGHT, z)]
    for loss in (*LOSSES, HSICLoss(bandwidth="median")):
        loss(BATCH.logit, SENS, weight=WEIGHT)
    adversary()(BATCH.logit, SENS, weight=WEIGHT, hidden=z)
    for tensor, copy in zip((BATCH.logit, SENS, WEIGHT, z), copies, strict=True):
        assert torch.equal(tensor, copy)
