"""Promises are judged by the violation of everybody in the population."""

import math

import pytest
import torch

from fairret.lab.tolerance import promise
from fairret.lab.tolerance.people import Case
from fairret.lab.tolerance.promise import Population


@pytest.fixture
def crowd(monkeypatch):
    """Groups a, b and c; the last is too small to be certified."""
    n = 6000
    rng = torch.Generator().manual_seed(0)
    group = torch.multinomial(torch.tensor([0.6, 0.398, 0.002]), n, True, generator=rng)
    x = torch.randn(n, generator=rng, dtype=torch.float64) - 0.5 * (group == 1)
    eta = torch.sigmoid(2 * x)
    label = (torch.rand(n, generator=rng) < eta).double()
    sens = torch.nn.functional.one_hot(group, 3).double()
    b = torch.sigmoid(math.log(0.398 / 0.602) - x / 2 - 0.125)  # by Bayes' theorem
    q = torch.stack((0.998 - b, b, torch.full_like(b, 0.002)), 1).clamp(0, 1)
    people = Population(eta, (q, q), sens, label, ("a", "b", "c"))
    monkeypatch.setattr(promise, "load_population", lambda dataset: people)
    monkeypatch.setattr(promise, "JUDGED", 3000)
    monkeypatch.setattr(promise, "ASSURED", 3000)
    promise._fixed_rule.cache_clear()
    yield people
    promise._fixed_rule.cache_clear()


CASE = Case("lawschool", 5, "all", "", "pr", 0.2)


def largest(people, f, groups):
    rate = f.mean()
    own = [f[people.sens[:, k] == 1].mean() / rate - 1 for k in groups]
    return max(abs(float(v)) for v in own)


def test_truth_is_the_largest_violation_of_certified_groups(crowd):
    found = promise.held_out(CASE).values
    rule = promise._fixed_rule("lawschool", "pr", 0.2)
    f = crowd.decide(rule)
    assert found["population/violation"] == pytest.approx(largest(crowd, f, (0, 1)))
    assert found["population/accuracy"] == pytest.approx(
        float((f == crowd.label).double().mean())
    )
    assert found["fit/low"] <= found["fit/violation"] <= found["fit/high"]
    assert found["fit/rows"] == 3000


def test_draws_depend_on_the_seed_only(crowd):
    one, again, other = (
        promise.fitted(CASE._replace(seed=seed)).values for seed in (1, 1, 2)
    )
    assert one == again
    assert one["fit/violation"] != other["fit/violation"]


def test_too_few_rows_for_a_promise_are_a_status(crowd):
    strict = promise.assured(CASE._replace(tolerance=0.02)).values
    assert strict == {"status": "too few rows"}
    loose = promise.assured(CASE._replace(tolerance=0.5)).values
    assert loose["status"] == "met"
    assert loose["fit/bound"] <= 0.5
