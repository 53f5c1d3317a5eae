"""The cases: all of the matrix, seed by seed, each once."""

from itertools import product

import pytest

from fairret.errors import NameNotFoundError
from fairret.lab.tolerance.cases import DATASETS
from fairret.lab.tolerance.methods import EXACT, METHODS, NOTIONS, RULES, TOLERANCES
from fairret.lab.tolerance.people import Case


def test_every_rule_is_tried_on_the_whole_matrix():
    cases = RULES.list_cases()
    assert len(cases) == len({*cases})
    every = product(DATASETS, (0, 1, 2), EXACT, NOTIONS, TOLERANCES)
    for dataset, seed, method, notion, tolerance in every:
        assert Case(dataset, seed, "all", method, notion, tolerance) in cases


def test_seeds_follow_each_other_with_their_share_of_the_draws():
    cases = RULES.only(seeds=(4, 2), draws=3).list_cases()
    seeds = [
        (METHODS[case.method].draws, case.seed)
        for case in cases
        if case.dataset == "lawschool"
    ]
    order = [(False, 4), (True, 0), (True, 2), (False, 2), (True, 1)]
    assert list(dict.fromkeys(seeds)) == order


def test_peers_have_a_counterpart_on_the_same_trait():
    cases = {case[:3] + case[4:5]: case for case in RULES.only(draws=0).list_cases()}
    ours = {
        (case.dataset, case.seed, case.traits, case.notion)
        for case in RULES.only(methods=EXACT).list_cases()
    }
    assert {*cases} <= ours


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"datasets": ["banc"]}, "Unknown dataset 'banc'. Did you mean 'bank'?"),
        ({"methods": ["Oxonfare"]}, "Unknown method .* Did you mean 'OxonFair'?"),
        ({"notions": ["dp"]}, "Unknown notion 'dp'.* Choose from pr, tpr"),
    ],
)
def test_unknown_names_are_refused(wanted, message):
    with pytest.raises(NameNotFoundError, match=message):
        RULES.only(**wanted)
