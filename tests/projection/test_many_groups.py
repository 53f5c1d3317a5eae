"""Most memberships are zero: the fast way around them changes nothing."""

import pytest
import torch
from torch.nn.functional import one_hot

from batches import sample
from fairret import Status
from fairret.divergence import DIVERGENCES, read_scores
from fairret.loss import ProjectionLoss
from fairret.projection import Dense, Sparse, solve
from fairret.statistic import memberships
from fairret.statistic.memberships import SparseMemberships, add_up, read_memberships
from problems import make_problem

N = 900


def traits(*sizes, seed=0, n=N):
    rng = torch.Generator().manual_seed(seed)
    codes = (torch.randint(d, (n,), generator=rng) for d in sizes)
    return torch.cat([one_hot(c, d) for c, d in zip(codes, sizes, strict=True)], 1)


def with_gaps(s):
    """Some rows lack a trait, one lacks all, and one trait is continuous."""
    s = s.double().clone()
    s[::7, :20] = 0
    s[5] = 0
    return torch.cat((s, torch.linspace(0, 1, len(s), dtype=s.dtype)[:, None]), 1)


SENS = {
    "one-hot": traits(20, 15, 12).double(),
    "booleans": traits(20, 15, 12).bool(),
    "with gaps": with_gaps(traits(20, 15, 12)),
    "more than are factorised": traits(100, 90, 60).double(),
}


def evaluate(loss, sens, **options):
    batch = sample(N, seed=3)._replace(sens=sens)
    logit = batch.logit.clone().requires_grad_()
    value = loss(logit, *batch[1:], **options)
    value.backward()
    return value.detach(), logit.grad, loss.project(*batch, **options)


@pytest.mark.slow
@pytest.mark.parametrize("sens", SENS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_few_memberships_give_what_all_give(divergence, sens, monkeypatch):
    first = [*DIVERGENCES].index(divergence) + [*SENS].index(sens)
    statistic = ("pr", "ppv", "tpr+fpr")[first % 3]  # each with every divergence
    loss = ProjectionLoss(statistic, divergence, gradient="exact")
    weight = torch.linspace(0.5, 2, N, dtype=torch.float64)
    value, grad, found = evaluate(loss, SENS[sens], weight=weight)
    monkeypatch.setattr(memberships, "MANY", 10**9)
    monkeypatch.setattr("fairret.projection.linear.LARGE", 10**9)
    dense, dense_grad, expected = evaluate(loss, SENS[sens], weight=weight)
    torch.testing.assert_close(value, dense, rtol=1e-6, atol=1e-8)
    assert found.status is expected.status is Status.CONVERGED
    if divergence != "tv":  # whose optimum is not unique
        torch.testing.assert_close(grad, dense_grad, rtol=1e-4, atol=1e-8)
        torch.testing.assert_close(found.f_star, expected.f_star, rtol=0, atol=1e-6)


@pytest.mark.parametrize("statistic", ["tpr", "ppv"])
@pytest.mark.parametrize("divergence", ["kl", "tv"])
def test_few_memberships_have_the_same_tolerance(divergence, statistic, monkeypatch):
    sens = SENS["with gaps"]
    loss = ProjectionLoss(statistic, divergence, gradient="exact", max_violation=0.1)
    value, _, found = evaluate(loss, sens)
    monkeypatch.setattr(memberships, "MANY", 10**9)
    dense, _, expected = evaluate(loss, sens)
    assert value > 0
    torch.testing.assert_close(value, dense, rtol=1e-6, atol=1e-8)
    assert found.status is expected.status is Status.CONVERGED


def test_more_dependent_groups_than_are_factorised_take_few_steps(monkeypatch):
    monkeypatch.setattr("fairret.projection.solver.interior_point", None)
    loss = ProjectionLoss("pr", max_violation=0.02)
    *_, found = evaluate(loss, SENS["more than are factorised"])
    assert found.status is Status.CONVERGED
    assert found.iterations <= 9


@pytest.mark.parametrize("seed", range(3))
def test_groups_at_a_bound_leave_the_exact_gradient_to_the_others(seed, monkeypatch):
    rng = torch.Generator().manual_seed(seed)
    often = torch.rand(120, generator=rng) ** 2 + 0.02  # some groups have few members
    codes = torch.multinomial(often, 3000, True, generator=rng).view(2, 1500)
    sens = torch.cat([one_hot(code, 120) for code in codes], 1)
    logit = 1.5 * torch.randn(1500, generator=rng, dtype=torch.float64) - 1
    logit += 0.5 * torch.randn(120, generator=rng)[codes[0]]
    label = (torch.rand(1500, generator=rng) < logit.sigmoid()).double()
    for divergence in ("sed", "chi2"):
        loss = ProjectionLoss("ppv", divergence, gradient="exact")
        grads = []
        for large in (200, 10**9):
            monkeypatch.setattr("fairret.projection.linear.LARGE", large)
            x = logit.clone().requires_grad_()
            loss(x, sens, label).backward()
            grads.append(x.grad)
        torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("sens", SENS)
def test_memberships_are_read_as_few_where_most_are_zero(sens):
    s = SENS[sens]
    few = read_memberships(s, torch.float64)
    assert isinstance(few, SparseMemberships)
    x = torch.randn(2, N, dtype=torch.float64)
    torch.testing.assert_close(add_up(x, few), x @ s.double())


@pytest.mark.parametrize(
    "s", [traits(3, 4), torch.rand(50, 40), torch.ones(50, 300), torch.eye(50)[:, :31]]
)
def test_few_groups_or_full_rows_are_kept_as_they_are(s):
    kept = read_memberships(s, torch.float64)
    torch.testing.assert_close(kept, s.double())


@pytest.mark.parametrize("n", [0, 1, 50])
def test_nobody_in_any_group_is_no_membership(n):
    few = read_memberships(torch.zeros(n, 100), torch.float64)
    assert add_up(torch.ones(1, n, dtype=torch.float64), few).tolist() == [[0.0] * 100]


@pytest.mark.parametrize("chunk", [10**6, 100])
def test_sparse_matrix_has_the_products_of_the_dense_one(chunk, monkeypatch):
    monkeypatch.setattr("fairret.projection.matrix.BLOCK", chunk)
    rng = torch.Generator().manual_seed(0)
    n, m, q = 230, 17, 3
    value = torch.randn(q, n, generator=rng, dtype=torch.float64)
    place = torch.stack([torch.randperm(m, generator=rng)[:q] for _ in range(n)], 1)
    a = torch.zeros(m, n, dtype=torch.float64).scatter_(0, place, value)
    x, w = torch.randn(2, n, generator=rng, dtype=torch.float64)
    nu, by = torch.rand(2, m, generator=rng, dtype=torch.float64) + 0.5
    pairs = [(Sparse(place, value, m), Dense(a))]
    pairs.append(tuple(one.divide_rows(by) for one in pairs[0]))
    for sparse, dense in pairs:
        for _ in range(2):  # the places of pairs are kept
            torch.testing.assert_close(sparse.gram(w.abs()), dense.gram(w.abs()))
        torch.testing.assert_close(sparse.matvec(x), dense.matvec(x))
        torch.testing.assert_close(sparse.rmatvec(nu), dense.rmatvec(nu))
        torch.testing.assert_close(sparse.moment(x, 1), dense.moment(x, 1))
        torch.testing.assert_close(sparse.moment(x, 2), dense.moment(x, 2))


def test_large_problem_with_dependent_and_empty_constraints_is_solved():
    rng = torch.Generator().manual_seed(0)
    n, half = 2000, 120
    one = traits(half, n=n).T.double() * torch.rand(n, generator=rng)
    a = torch.cat((one, one, torch.zeros(10, n, dtype=one.dtype)))
    scores = read_scores(torch.randn(n, generator=rng, dtype=torch.float64))
    p = torch.full((n,), 1 / n, dtype=torch.float64)
    b = -(a @ (p * torch.sigmoid(scores.logit + 0.5)))
    found = solve(make_problem(scores, a, b, p), DIVERGENCES["kl"])
    assert found.residual <= 1e-7
    assert found.iterations <= 8
