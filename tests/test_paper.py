"""Statements of the paper that no single class embodies."""

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from batches import STATISTICS, same_block_per_group, sample
from fairret.loss import NormLoss, SmoothMaxLoss
from fairret.statistic import get_statistic
from fairret.statistic.sums import over_all, over_groups, summands
from fairret.statistic.violation import violation

N = 23


@pytest.mark.parametrize("name", STATISTICS)
def test_equal_groups_equal_the_whole_in_a_partition(name):
    """Prop. A.1, Eq. A.1-A.5: groups that agree agree with the overall value."""
    logit, sens, label = same_block_per_group(seed=1)
    statistic = get_statistic(name)
    gamma = statistic(logit.sigmoid(), sens, label)
    overall = statistic.overall(logit.sigmoid(), label)
    torch.testing.assert_close(gamma, overall.expand(3))


def test_positive_rate_is_a_conditional_frequency():
    """Eq. 1, 2 and the interpretation of Table 1, on decisions."""
    rng = torch.Generator().manual_seed(0)
    decision = torch.randint(2, (50,), generator=rng)
    group = torch.randint(3, (50,), generator=rng)
    label = torch.randint(2, (50,), generator=rng)
    sens = one_hot(group, 3)
    expected = {
        "pr": lambda m: decision[m].double().mean(),
        "tpr": lambda m: decision[m & (label == 1)].double().mean(),
        "fpr": lambda m: decision[m & (label == 0)].double().mean(),
        "ppv": lambda m: label[m & (decision == 1)].double().mean(),
        "for": lambda m: label[m & (decision == 0)].double().mean(),
        "accuracy": lambda m: (label == decision)[m].double().mean(),
        "fn_fp": lambda m: (
            (m & (label == 1) & (decision == 0)).sum().double()
            / (m & (label == 0) & (decision == 1)).sum()
        ),
    }
    for name, frequency in expected.items():
        got = get_statistic(name)(decision.double(), sens, label)
        groups = torch.stack([frequency(group == k) for k in range(3)])
        torch.testing.assert_close(got, groups)


@pytest.mark.parametrize("name", STATISTICS)
def test_trait_without_linear_influence_is_fair(name):
    """Remark 1, Eq. B.1-B.4: no covariance with either half means parity."""
    logit, _, label = sample(N, seed=2)
    prob = logit.sigmoid()
    batch_rows = []
    statistic = get_statistic(name)
    for i in range(N):  # the halves of gamma, row by row
        own = one_hot(torch.tensor(i), N).double()[:, None]
        sums = statistic.sums(prob, own, label)
        batch_rows.append([sums.num.item(), sums.den.item(), 1.0])
    halves = np.array(batch_rows)
    noise = np.random.default_rng(3).normal(size=N)
    noise -= halves @ np.linalg.lstsq(halves, noise, rcond=None)[0]
    trait = 0.5 + 0.4 * noise / np.abs(noise).max()
    gamma = statistic(prob, torch.tensor(trait)[:, None], label)
    overall = statistic.overall(prob, label)
    torch.testing.assert_close(gamma, overall.expand(1))


def test_covariance_is_necessary_for_demographic_parity():
    """Appendix B.1: for the positive rate, parity holds only without covariance."""
    logit, _, _ = sample(N, seed=4)
    prob = logit.sigmoid()
    trait = torch.linspace(0, 1, N, dtype=torch.float64)
    covariance = (trait * prob).mean() - trait.mean() * prob.mean()
    gap = get_statistic("pr")(prob, trait[:, None])[0] - prob.mean()
    torch.testing.assert_close(gap, covariance / trait.mean())


@pytest.mark.parametrize("loss_cls", [NormLoss, SmoothMaxLoss])
def test_gradient_is_the_jacobian_of_the_violation_times_a_vector(loss_cls):
    """Eq. 10: violation fairrets differ only in how they weigh the groups."""
    batch = sample(N, "three", seed=5)
    loss = loss_cls("tpr")

    def v(logit):
        checked = loss.read(logit, *batch[1:])
        rows = summands(checked.h, None, checked.coef)
        return violation(over_groups(rows, checked.s), over_all(rows))[0]

    jacobian = torch.autograd.functional.jacobian(v, batch.logit)
    violations = v(batch.logit).requires_grad_()
    (weights,) = torch.autograd.grad(loss.penalize_violation(violations), violations)
    logit = batch.logit.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(logit, *batch[1:]), logit)
    torch.testing.assert_close(gradient, weights @ jacobian)


def test_norm_and_smooth_max_pull_alike_after_normalisation():
    """Section 3.1: per group, their gradients in h differ by a factor."""
    rng = torch.Generator().manual_seed(6)
    logit = torch.randn(N, generator=rng, dtype=torch.float64)
    sens = one_hot(torch.arange(N) % 2, 2).double()
    logit = logit + sens[:, 0]
    pulls = []
    for loss in (NormLoss("pr"), SmoothMaxLoss("pr")):
        prob = logit.sigmoid().requires_grad_()
        loss(prob, sens, pred_as_logit=False).backward()
        pulls.append(
            torch.stack(
                [
                    (prob.grad / prob.grad[m].abs().max())[m].mean()
                    for m in (sens[:, 0] == 1, sens[:, 1] == 1)
                ]
            )
        )
    torch.testing.assert_close(*pulls)
