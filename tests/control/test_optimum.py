"""The rules are optimal: linear programmes by HiGHS, and a population that is known."""

import numpy as np
import pytest
import torch
from scipy.optimize import nnls

from control.conftest import draw_people
from fairret.control import find_rule, solve, tradeoff
from fairret.control.dual import _newton_step
from reference import best_decisions

CLOSE = 1e-3  # of the objective: a rule is hard, and keeps 2 % of the tolerance
SETTINGS = [
    ("pr", "max_violation", 0.05),
    ("pr", "max_difference", 0.04),
    ("pr", "min_ratio", 0.8),
    ("tpr", "max_violation", 0.1),
    ("tpr", "max_difference", 0.05),
    ("fpr", "min_ratio", 0.7),
    ("fnr", "max_violation", 0.2),
    ("accuracy", "max_violation", 0.05),  # proportional to the gain within a group
    ("accuracy", "min_ratio", 0.95),
]


def both_labels(people):
    """Write every person down with either label, weighted by its probability."""
    eta, sens = people.eta, people.sens
    return {
        "eta": torch.cat((eta, eta)),
        "sens": torch.cat((sens, sens)),
        "label": torch.cat((torch.ones_like(eta), torch.zeros_like(eta))),
        "weight": torch.cat((eta, 1 - eta)),
    }


@pytest.fixture(scope="module")
def crowd():
    return draw_people(1500, 3, seed=1)


@pytest.mark.parametrize(("notion", "kind", "value"), SETTINGS)
def test_objective_is_that_of_the_linear_programme(crowd, notion, kind, value):
    found = find_rule(**both_labels(crowd), notion=notion, adapt=False, **{kind: value})
    best = best_decisions(
        notion, crowd.eta.numpy(), crowd.sens.numpy(), kind, value, found.task.band
    )
    assert found.status == "met"
    assert best - CLOSE <= found.found.objective <= best + CLOSE


@pytest.mark.parametrize("notion", ["pr", "tpr", "accuracy"])
def test_every_rule_of_a_path_is_optimal(crowd, notion):
    """Rules of a path stop early, at a small duality gap."""
    tolerances = [0.2, 0.1, 0.05, 0.02]
    path = tradeoff(
        **both_labels(crowd), notion=notion, adapt=False, tolerances=tolerances
    )
    for value in tolerances:
        found = path.at(value)
        best = best_decisions(
            notion,
            crowd.eta.numpy(),
            crowd.sens.numpy(),
            "max_violation",
            value,
            found.task.band,
        )
        assert found.status == "met"
        assert best - CLOSE <= found.found.objective <= best + CLOSE


@pytest.mark.slow
@pytest.mark.parametrize(("notion", "value"), [("ppv", 0.05), ("fn_fp", 0.1)])
def test_objective_is_that_of_the_best_overall_statistic(crowd, notion, value):
    found = find_rule(
        **both_labels(crowd), notion=notion, adapt=False, max_violation=value
    )
    c0 = float(found.task.plain_statistics[0, 0])
    tried = [
        best_decisions(
            notion,
            crowd.eta.numpy(),
            crowd.sens.numpy(),
            "max_violation",
            value,
            found.task.band,
            c=c0 * factor,
        )
        for factor in np.geomspace(0.5, 2.0, 25)
    ]
    best = max(x for x in tried if x is not None)
    assert found.status == "met"
    assert found.found.objective >= best - CLOSE


def test_rule_is_as_accurate_as_the_bayes_optimal_fair_one():
    """Two groups whose scores are uniform: the fair thresholds have a closed form.

    In group a, eta is uniform on [0, 1]; in group b, on [0, 0.8]. At equal rates r,
    the gain of a group with width c is that of its r best: c r - c r^2 / 2 is the mean
    of eta over them. The best r maximises the sum of both gains.
    """
    n = 40_000
    u = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    eta = torch.cat((u, 0.8 * u))
    sens = torch.nn.functional.one_hot((torch.arange(2 * n) >= n).long(), 2)
    label = torch.cat((torch.ones(2 * n), torch.zeros(2 * n)))
    found = find_rule(
        torch.cat((eta, eta)),
        torch.cat((sens, sens)),
        label,
        weight=torch.cat((eta, 1 - eta)),
        notion="pr",
        max_violation=0.001,
        adapt=False,
    )
    # gain(r) = sum over c of 2 (c r - c r^2 / 2) - r, halved; its optimum in r
    width = 1.0 + 0.8
    r = (width - 1) / width
    best = (2 * (width * r - width * r**2 / 2) - 2 * r) / 2
    base = float((1 - eta).mean())  # accuracy of a no for everybody
    assert found.status == "met"
    assert found.accuracy == pytest.approx(base + best, abs=0.005)
    assert found.rate == pytest.approx(r, abs=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_newton_step_minimises_the_model_over_nonnegative_multipliers(seed):
    """|A x - b|^2 / 2 over x >= 0, with SciPy's NNLS as oracle."""
    g = torch.Generator().manual_seed(seed)
    a = torch.randn(14, 9, generator=g, dtype=torch.float64)
    b = torch.randn(14, generator=g, dtype=torch.float64)
    nu = torch.randn(9, generator=g, dtype=torch.float64).clamp_min(0)
    step = _newton_step(a.T @ a, a.T @ (a @ nu - b), nu)
    best, _ = nnls(a.numpy(), b.numpy())
    torch.testing.assert_close(nu + step, torch.as_tensor(best), atol=1e-6, rtol=0)


def test_ties_are_broken_by_one_threshold_per_group():
    """The accuracy of a group is its gain, up to a constant: many f are optimal."""
    people = draw_people(3000, 3, seed=3)
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        notion="accuracy",
        max_violation=0.05,
        adapt=False,
    )
    assert found.status == "met"
    plain = found.task.plain_statistics[0]
    assert float((plain[1:] / plain[0] - 1).abs().max()) > 0.08
    for own in people.sens.T == 1:
        yes, no = (people.eta[own & (found.decisions == f)] for f in (1, 0))
        assert yes.min() > no.max()


def test_values_of_c_get_more_rounds_if_none_is_within_the_tolerance(
    people, monkeypatch
):
    monkeypatch.setattr(solve, "FOR_ONE_C", solve.Effort(most=1))
    found = find_rule(
        *people[:3], notion="fn_fp", max_violation=0.05, q=people.q, adapt=False
    )
    assert found.status == "met"
    assert found.found.rounds > 1
