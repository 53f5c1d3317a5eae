"""Promises hold in the population, which is known here, as often as they say."""

import pytest
import torch

from control.conftest import draw_population
from fairret.control import certificate, find_rule
from fairret.statistic import get_statistic

pytestmark = pytest.mark.simulation
D_S = 3
FITS = 40
DRAWS = 200


@pytest.fixture(scope="module")
def everyone():
    return draw_population(100_000, D_S, seed=999)


def value_in_population(everyone, solution, notion, kind):
    f = decide(solution, everyone)
    statistic = get_statistic(notion)
    gamma = statistic(f, everyone.sens, everyone.label)
    if kind == "max_violation":
        overall = statistic.overall(f, everyone.label)
        return float((gamma / overall - 1).abs().max())
    return float(gamma.max() - gamma.min())


def decide(solution, people):
    if solution.rule.informed:
        return solution.rule.decide(people.informed, sens=people.sens)
    return solution.rule.decide(people.eta, q=people.q)


def fit(seed, n, notion, blind, **options):
    people = draw_population(n, D_S, seed=seed)
    return find_rule(
        people.eta if blind else people.informed,
        people.sens,
        people.label,
        notion=notion,
        q=people.q if blind else None,
        **options,
    )


@pytest.mark.parametrize(
    ("notion", "kind", "limit", "blind"),
    [
        ("pr", "max_violation", 0.2, True),
        ("tpr", "max_violation", 0.2, False),
        ("tpr", "max_difference", 0.25, True),
    ],
)
def test_assured_rules_hold_in_the_population_and_plain_ones_do_not(
    everyone, notion, kind, limit, blind
):
    held, fits = {None: 0, 0.95: 0}, {None: FITS // 2, 0.95: FITS}
    covered = 0
    for confidence in held:
        for seed in range(fits[confidence]):
            found = fit(
                seed, 3000, notion, blind, confidence=confidence, **{kind: limit}
            )
            value = value_in_population(everyone, found, notion, kind)
            held[confidence] += value <= limit
            own = found.certificate()
            covered += own.low <= value <= own.high
    assert held[0.95] >= 0.95 * FITS
    assert held[None] <= 0.6 * fits[None]
    assert covered >= 0.94 * sum(fits.values())


@pytest.mark.parametrize(
    ("notion", "kind", "limit"),
    [
        ("pr", "max_violation", 0.05),
        ("ppv", "max_violation", 0.3),
        ("tpr", "max_difference", 0.2),
    ],
)
def test_certificates_of_held_out_rows_cover(everyone, notion, kind, limit):
    found = fit(1, 10_000, notion, True, adapt=False, **{kind: limit})
    value = value_in_population(everyone, found, notion, kind)
    f = decide(found, everyone)
    seeded = torch.Generator().manual_seed(0)
    covered = below = 0
    for _ in range(DRAWS):
        rows = torch.randint(len(f), (1500,), generator=seeded)
        own = certificate(
            f[rows], everyone.sens[rows], everyone.label[rows], notion=notion, kind=kind
        )
        covered += own.low <= value <= own.high
        below += value <= own.bound
    assert covered >= 0.94 * DRAWS
    assert below >= 0.92 * DRAWS  # 95 %, and two standard errors of 200 draws
