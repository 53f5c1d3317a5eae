"""Rules keep tolerances in every form, for every notion, blind and informed."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from control.conftest import draw_people
from fairret.control import Tolerance, certificate, find_rule, recalibrate, tradeoff
from fairret.control.find import Fit
from fairret.control.task import Notion
from fairret.errors import (
    ArgumentError,
    DtypeError,
    NameNotFoundError,
    RangeError,
    ShapeError,
    ToleranceError,
)
from fairret.statistic import LinearFractionalStatistic, get_statistic

NAMES = ["a", "b", "c"]


def measured(solution, people, notion, **rule_inputs):
    """Statistics of the rule's own decisions, by the statistic itself."""
    f = solution.rule.decide(people.eta, **rule_inputs)
    statistic = get_statistic(notion)
    return statistic(f, people.sens, people.label), statistic.overall(f, people.label)


@pytest.mark.slow
@pytest.mark.parametrize("blind", [True, False], ids=["blind", "informed"])
@pytest.mark.parametrize("notion", ["pr", "tpr", "fpr", "ppv", "fn_fp"])
def test_decisions_are_within_the_violation_that_was_stated(people, notion, blind):
    known = {"q": people.q} if blind else {}
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        notion=notion,
        max_violation=0.1,
        adapt=False,
        **known,
    )
    inputs = known if blind else {"sens": people.sens}
    gamma, overall = measured(found, people, notion, **inputs)
    assert found.status == "met"
    assert float((gamma / overall - 1).abs().max()) <= 0.1
    torch.testing.assert_close(found.statistics[0, 1:], gamma)


def test_blind_rules_keep_equal_accuracy(people):
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        notion="accuracy",
        max_violation=0.05,
        q=people.q,
        adapt=False,
    )
    assert found.status == "met"


def test_difference_and_ratio_hold_within_each_trait():
    people = draw_people(3000, 4, seed=2)
    two = torch.nn.functional.one_hot((people.eta > 0.6).long(), 2)
    sens = torch.cat((people.sens, two.double()), 1)
    traits = {"four": range(4), "two": range(4, 6)}
    for limit in ({"max_difference": 0.05}, {"min_ratio": 0.8}):
        found = find_rule(
            people.eta, sens, people.label, traits=traits, adapt=False, **limit
        )
        gamma = found.statistics[0, 1:]
        assert found.status == "met"
        for own in traits.values():
            low, high = gamma[list(own)].min(), gamma[list(own)].max()
            if "max_difference" in limit:
                assert high - low <= 0.05
            else:
                assert low / high >= 0.8


def test_several_notions_hold_at_once(people):
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        notion=["tpr", "fpr"],
        max_violation=0.15,
        adapt=False,
    )
    assert found.status == "met"
    assert found.statistics.shape == (2, 4)
    ratio = found.statistics[:, 1:] / found.statistics[:, :1]
    assert float((ratio - 1).abs().max()) <= 0.15


def test_statistic_of_ones_own_is_constrained(people):
    class Cost(LinearFractionalStatistic):
        """Cost of decisions per person, with an input of its own."""

        def nom_intercept(self, label, miss):
            return miss * label

        def nom_slope(self, label, miss):
            return (1 - label) - miss * label

        def denom_intercept(self):
            return 1

    miss = 2.0 + (people.eta > 0.3)
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        notion=Cost(),
        max_violation=0.3,
        q=people.q,
        adapt=False,
        miss=miss,
    )
    f = found.rule.decide(people.eta, q=people.q, miss=miss)
    gamma = Cost()(f, people.sens, people.label, miss=miss)
    overall = Cost().overall(f, people.label, miss=miss)
    assert found.status == "met"
    assert float((gamma / overall - 1).abs().max()) <= 0.3


def test_weights_count_like_repeated_rows(people):
    times = torch.arange(len(people.eta)) % 3
    rows = torch.arange(len(people.eta)).repeat_interleave(times)
    weighted = find_rule(
        people.eta,
        people.sens,
        people.label,
        weight=times,
        max_violation=0.1,
        adapt=False,
    )
    repeated = find_rule(
        people.eta[rows],
        people.sens[rows],
        people.label[rows],
        max_violation=0.1,
        adapt=False,
    )
    torch.testing.assert_close(
        weighted.rule.price, repeated.rule.price, rtol=1e-6, atol=1e-6
    )
    assert weighted.accuracy == pytest.approx(repeated.accuracy)


def test_missing_trait_counts_for_everybody_alone(people):
    sens = people.sens.clone()
    sens[::5] = torch.nan
    found = find_rule(people.eta, sens, people.label, max_violation=0.1, adapt=False)
    known = ~sens[:, 0].isnan()
    f = found.rule.decide(people.eta, sens=sens)
    each = f[known] @ people.sens[known] / people.sens[known].sum(0)
    assert found.status == "met"
    assert float((each / f.mean() - 1).abs().max()) <= 0.1


def test_groups_may_have_limits_of_their_own(people):
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        names=NAMES,
        max_violation={"a": 0.05, "c": 0.3},
        adapt=False,
    )
    by_name = {g.name: g for g in found.groups}
    assert by_name["a"].violation <= 0.05
    assert by_name["c"].violation <= 0.3
    assert by_name["b"].treatment == "free"


def test_small_group_is_named_and_left_alone():
    people = draw_people(3000, 3, seed=3)
    sens = torch.cat((people.sens, torch.zeros(3000, 1)), 1)
    sens[:20, 3] = 1
    found = find_rule(
        people.eta,
        sens,
        people.label,
        names=[*NAMES, "tiny"],
        traits=[range(3), [3]],
        max_violation=0.1,
    )
    assert found.groups[3].treatment == "too few rows"
    assert "tiny (20 rows)" in str(found)
    assert found.status == "met"


def test_small_groups_get_two_standard_errors():
    people = draw_people(600, 3, seed=5)
    found = find_rule(
        people.eta, people.sens, people.label, names=NAMES, max_violation=0.02
    )
    smallest = found.groups[0]
    rate = float(found.task.plain_statistics[0, 0])
    two = 2 * ((1 / smallest.counted - 1 / 600) * (1 - rate) / rate) ** 0.5
    assert smallest.treatment == "relaxed"
    assert smallest.allowed == pytest.approx(two, rel=1e-6)
    assert "have a wider one, which chance explains" in str(found)


def test_wider_ratios_are_told_as_ratios():
    people = draw_people(600, 3, seed=5)
    found = find_rule(
        people.eta, people.sens, people.label, names=NAMES, min_ratio=0.95
    )
    smallest = found.groups[0]
    assert smallest.treatment == "relaxed"
    assert f"{smallest.name} {1 - smallest.allowed:.3f}" in str(found)


@pytest.mark.parametrize("tolerance", [{"min_ratio": 0.99}, {"max_difference": 0.01}])
def test_wider_tolerance_is_that_of_pairs(tolerance):
    people = draw_people(600, 3, seed=5)
    found = find_rule(*people[:3], **tolerance)
    gamma = found.statistics[0, 1:]
    apart = gamma - gamma[:, None]
    if "min_ratio" in tolerance:
        apart = apart / gamma
    assert found.status == "met"
    assert "up to chance" in str(found)
    for k, group in enumerate(found.groups):
        assert group.treatment == "relaxed"
        own = max(float(apart[k].max()), float(apart[:, k].max()))
        assert own <= group.allowed


@pytest.mark.parametrize("tolerance", [{"min_ratio": 0.8}, {"max_difference": 0.2}])
def test_pair_exceeds_a_tolerance_where_it_is_beyond_its_distance(tolerance):
    g = torch.Generator().manual_seed(1)
    stated = Tolerance(**tolerance)
    limit = stated.per_group(NAMES[:2])
    beyond = 0
    for _ in range(200):
        slack = 0.2 * torch.rand(2, generator=g, dtype=torch.float64)
        gamma = 0.3 + 0.5 * torch.rand(3, generator=g, dtype=torch.float64)
        notion = Notion(0, stated, limit, slack, ((0, 1),), share=True)
        low, high = float(gamma[1:].min()), float(gamma[1:].max())
        apart = 1 - low / high if "min_ratio" in tolerance else high - low
        over = apart - notion.distance(gamma)
        assert float(over[0]) == float(over[1])
        assert (notion.excess(gamma) > 0) == (float(over[0]) > 0)
        beyond += int(over[0] > 0)
    assert 20 < beyond < 180


def test_groups_of_several_notions_are_named_with_them():
    people = draw_people(600, 3, seed=5)
    notion = ["pr", "tpr"]
    found = find_rule(*people[:3], names=NAMES, notion=notion, max_violation=0.02)
    for group in found.groups:
        if group.treatment == "relaxed":
            assert f"{group.name} for {group.notion} {group.allowed:.3f}" in str(found)
        else:
            assert f"{group.name} for {group.notion} ({group.counted:.0f}" in str(found)


@pytest.mark.parametrize("limit", [{"min_ratio": 0.8}, {"max_difference": 0.1}])
@pytest.mark.parametrize("beside", [True, False])
def test_amounts_are_not_compared_as_groups(people, limit, beside):
    age = torch.linspace(0, 1, 3000, dtype=torch.float64)[:, None]
    sens, traits = (age, {"age": [0]})
    if beside:
        sens, traits = torch.cat((people.sens, age), 1), {"a": [0, 1, 2], "age": [3]}
    kind = next(iter(limit))
    message = f"age is an amount.*`{kind}` compares the groups of a trait. Cut it"
    calls = [
        lambda: find_rule(people.eta, sens, people.label, traits=traits, **limit),
        lambda: tradeoff(people.eta, sens, people.label, traits=traits, kind=kind),
        lambda: certificate(people.label, sens, traits=traits, kind=kind),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=message):
            call()
    with pytest.raises(ArgumentError, match=r"^years is an amount"):
        certificate(people.label, age, names=["years"], kind=kind)
    found = find_rule(people.eta, sens, people.label, traits=traits, max_violation=0.3)
    assert found.status == "met"


def test_single_group_is_not_compared_with_itself(people):
    message = "No trait has two groups with the 30 counted rows that `min_ratio` needs"
    with pytest.raises(RangeError, match=message):
        find_rule(people.eta, torch.ones(3000, 1), people.label, min_ratio=0.8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"label": ["no", "yes"]},
            "`label` must be .*; got text such as 'no'. Compare",
        ),
        ({"sens": [["f"], ["m"]]}, "`sens` must be .*; got text such as 'f'. Encode"),
        ({"weight": [None, None]}, "`weight` must be .* of numbers; got ndarray. Conv"),
    ],
)
def test_text_is_refused_with_one_sentence(change, message):
    good = {"sens": np.eye(2), "label": np.array([0, 1])}
    arguments = good | {name: np.array(x) for name, x in change.items()}
    with pytest.raises(DtypeError, match=message):
        find_rule(np.array([0.3, 0.7]), **arguments, max_violation=0.1)
    with pytest.raises(DtypeError, match=message):
        certificate(np.array([0, 1]), **arguments)


def test_tolerance_that_is_not_assured_may_be_met_on_the_rows():
    n, draw = 2000, torch.Generator().manual_seed(0)
    group = torch.multinomial(
        torch.tensor([0.48, 0.45, 0.07]), n, replacement=True, generator=draw
    )
    x = torch.randn(n, generator=draw) - 0.1 * (group == 2)
    eta = torch.sigmoid(1.5 * x)
    label = (torch.rand(n, generator=draw) < eta).double()
    sens = torch.nn.functional.one_hot(group, 3).double()
    # features tell nothing about the groups, so that no rule is better than another;
    # where they tell a little, the last digit of `x` decides whether one is found
    q = sens.mean(0).expand(n, 3)
    options = {"max_violation": 0.2, "q": (q, q), "min_rate": 0.9}
    found = find_rule(eta, sens, label, confidence=0.9, **options)
    assert found.status == "missed"
    assert found.certificate(confidence=0.9).bound > 0.2 > found.value
    words = str(found)
    assert "is met on the fit rows, but is not assured: the largest violation" in words
    assert "It is not assured for the population with 90% confidence" in words
    assert re.search(r"About [\d,]+ rows would be needed instead of 2,000", words)
    assert (
        "With the margin that this needs, the smallest tolerance that a rule met"
        in words
    )


@pytest.mark.parametrize("slack", [0.0, -0.19])
def test_warning_names_what_the_margin_leaves_of_a_tolerance(slack):
    """One of 40 rows moves a violation by 1 / (40 * 0.5) = 0.05."""
    notion = SimpleNamespace(
        tolerance=SimpleNamespace(kind="max_violation"),
        part=0,
        compared=[1],
        allowed=torch.tensor([0.2, 0.01]),
        slack=torch.tensor([0.0, slack]),
    )
    task = SimpleNamespace(notions=[notion], plain_statistics=torch.tensor([[0.5]]))
    counted, rows = torch.tensor([[900.0, 40.0]]), SimpleNamespace(names=["a", "b"])
    fit = SimpleNamespace(task=task, counted=counted, rows=rows)
    why = r" \(what the margin for `confidence` leaves\)" if slack else ""
    words = rf"b has 40 counted rows.* by 0\.050; a tolerance of 0\.01{why} can be met"
    with pytest.warns(UserWarning, match=words):
        Fit.warn_of_granularity(fit, task)


def test_margins_grow_until_decisions_change():
    """Eight of sixty such draws had ended at a bound of 0.799, by equal decisions."""
    g = torch.Generator().manual_seed(6)
    group = (torch.rand(1500, generator=g) < 0.3).long()
    x = torch.randn(1500, generator=g, dtype=torch.float64) + 0.8 * group
    eta = torch.sigmoid(1.5 * x - 0.5)
    label = (torch.rand(1500, generator=g) < eta).double()
    sens = torch.nn.functional.one_hot(group, 2)
    found = find_rule(eta, sens, label, min_ratio=0.8, confidence=0.95)
    assert found.status == "met"
    assert "It holds in the population with 95% confidence." in str(found)


def test_nothing_is_assured_of_a_notion_without_rows(people):
    few = (people.label == 1) | (torch.arange(3000) % 50 == 0)
    rows = [x[few] for x in people[:3]]
    options = {"notion": "tpr+fpr", "max_violation": 0.3, "confidence": 0.95}
    with pytest.raises(ToleranceError, match="of fpr, no group has 30 counted rows"):
        find_rule(*rows, **options)


@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("notion", ["pr", "tpr"])
def test_two_standard_errors_are_those_of_groups_by_lot(share, notion):
    """Half of the people differ less from everybody than from the other half."""
    people = draw_people(3000, 2, seed=2)
    g = torch.Generator().manual_seed(0)
    gamma = get_statistic(notion)
    f, weight = (people.eta > 0.5).double(), 1 + people.label

    def by_lot():
        own = (torch.rand(3000, generator=g) < share).double()
        return torch.stack((own, 1 - own), 1)

    overall = gamma(f, torch.ones(3000, 1), people.label, weight=weight)
    lots = [gamma(f, by_lot(), people.label, weight=weight) for _ in range(600)]
    violation = torch.stack(lots)[:, 0] / overall - 1
    found = find_rule(
        *(people.eta, by_lot(), people.label),
        **{"notion": notion, "max_violation": 1e-3, "weight": weight},
    )
    assert found.groups[0].allowed == pytest.approx(2 * float(violation.std()), rel=0.1)


def test_the_luck_of_few_people_whom_nobody_can_tell_costs_nothing():
    """Sixty people of whom more than average get a yes: by 2.4 standard errors."""
    few, n = 60, 4000
    g = torch.Generator().manual_seed(5)
    eta = torch.rand(n, generator=g, dtype=torch.float64)
    label = (torch.rand(n, generator=g, dtype=torch.float64) < eta).double()
    rate = float((eta > 0.5).double().mean())
    lucky = round(few * rate + 2.4 * (few * rate * (1 - rate)) ** 0.5)
    yes, no = (eta > 0.5).nonzero()[:, 0], (eta <= 0.5).nonzero()[:, 0]
    sens = torch.zeros(n, 8, dtype=torch.float64)
    sens[torch.arange(n), torch.arange(n) % 7] = 1
    rare = torch.cat((yes[:lucky], no[: few - lucky]))
    sens[rare] = 0
    sens[rare, 7] = 1
    share = sens.mean(0).expand(n, 8)  # features say nothing
    found = find_rule(eta, sens, label, q=(share, share), max_violation=0.1)
    assert found.status == "met"
    assert torch.equal(found.decisions, (eta > 0.5).double())
    known = find_rule(eta, sens, label, max_violation=0.1)
    assert not torch.equal(known.decisions, (eta > 0.5).double())  # who is in it


def test_confidence_keeps_a_margin(people):
    plain = find_rule(people.eta, people.sens, people.label, max_violation=0.4)
    sure = find_rule(
        people.eta, people.sens, people.label, max_violation=0.4, confidence=0.95
    )
    assert sure.max_violation < plain.max_violation <= 0.4
    assert any(g.allowed < 0.4 for g in sure.groups)
    assert sure.certificate(0.95).holds(Tolerance(max_violation=0.4))
    assert not plain.certificate(0.95).holds(Tolerance(max_violation=0.4))


@pytest.mark.parametrize("kind", ["max_violation", "max_difference", "min_ratio"])
def test_margin_is_measured_from_where_the_groups_are(kind):
    """The certificate exceeds the tolerance a little, the decisions keep it by far."""
    arrays = draw_people(9000, 2, seed=1)[:3]
    far = {"max_violation": 0.9, "max_difference": 0.9, "min_ratio": 0.1}[kind]
    bound = find_rule(*arrays, notion="tnr", **{kind: far}).certificate(0.95).bound
    limit = bound + (0.002 if kind == "min_ratio" else -0.002)
    sure = find_rule(*arrays, notion="tnr", confidence=0.95, **{kind: limit})
    assert sure.status == "met"
    assert sure.certificate(0.95).holds(Tolerance(**{kind: limit}))


def test_too_few_rows_for_confidence_are_counted(people):
    with pytest.raises(RangeError, match=r"a has \d+ counted rows, and about [\d,]+"):
        find_rule(
            people.eta,
            people.sens,
            people.label,
            names=NAMES,
            max_violation=0.02,
            confidence=0.95,
        )


def test_positive_rate_stays_in_its_band(people):
    found = find_rule(
        people.eta, people.sens, people.label, notion="fpr", max_violation=0.02
    )
    plain = float((people.eta > 0.5).double().mean())
    assert 0.8 * plain <= found.rate <= 1 - 0.8 * (1 - plain)


def test_order_of_rows_is_irrelevant(people):
    order = torch.randperm(len(people.eta), generator=torch.Generator().manual_seed(1))
    one = find_rule(people.eta, people.sens, people.label, max_violation=0.1)
    two = find_rule(
        people.eta[order], people.sens[order], people.label[order], max_violation=0.1
    )
    torch.testing.assert_close(one.rule.price, two.rule.price, rtol=1e-5, atol=1e-6)


def test_already_fair_decisions_stay_as_they_are():
    people = draw_people(3000, 2, seed=6)
    found = find_rule(
        people.eta, people.sens, people.label, notion="fpr", max_violation=0.99
    )
    plain = (people.eta > 0.5).double()
    torch.testing.assert_close(found.decisions, plain)


def test_recalibrated_scores_have_the_mean_of_the_labels_in_every_group(people):
    blurred = torch.sigmoid(0.4 * torch.logit(people.eta) + 0.3)
    better = recalibrate(blurred, people.sens, people.label)(blurred, people.sens)
    size = people.sens.sum(0)
    mean, share = better @ people.sens / size, people.label @ people.sens / size
    torch.testing.assert_close(mean, share, atol=2e-3, rtol=0)  # a slight ridge
    before = (blurred @ people.sens / size - share).abs().max()
    assert float(before) > 0.02


def test_scores_that_are_far_too_sure_are_recalibrated_too(people):
    sure = torch.sigmoid(20 * torch.logit(people.eta) + 9)
    better = recalibrate(sure, people.sens, people.label)(sure, people.sens)
    size = people.sens.sum(0)
    mean, share = better @ people.sens / size, people.label @ people.sens / size
    torch.testing.assert_close(mean, share, atol=5e-3, rtol=0)


GOOD = {"max_violation": 0.1}
WRONG = [
    ({}, {}, ArgumentError, "got none"),
    ({}, {**GOOD, "min_ratio": 0.8}, ArgumentError, "got max_violation and min_ratio"),
    ({}, {"max_violation": 10}, RangeError, r"got 10. Did you mean 0.10\?"),
    ({}, {"min_ratio": 80}, RangeError, r"Did you mean 0.80\?"),
    ({}, {"max_violation": 0}, RangeError, "above 0 and below 1; got 0"),
    ({}, {"max_violation": float("nan")}, RangeError, "got nan"),
    ({}, {"max_violation": "0.1"}, ArgumentError, "must be a number; got str"),
    ({}, {"max_violation": {"z": 0.1}}, NameNotFoundError, "'z', which does not exist"),
    ({}, {**GOOD, "min_rate": 2}, RangeError, "`min_rate` must be between 0 and 1"),
    ({}, {**GOOD, "threshold": 7}, RangeError, "`threshold` must be between 0 and 1"),
    ({"eta": [0.5] * 90}, GOOD, RangeError, "`eta` must vary; all 90 scores are 0.5"),
    ({"eta": [0.1] * 89 + [float("nan")]}, GOOD, RangeError, "missing values; got 1"),
    ({"eta": [0.1] * 89 + [1.5]}, GOOD, RangeError, "between 0 and 1; got values from"),
    ({"label": [0, 1, 2] * 30}, GOOD, RangeError, "`label` must be 0 or 1"),
    ({"label": [0, 1]}, GOOD, ShapeError, r"`label` must have shape \(90,\)"),
    ({"sens": [0.0] * 90}, GOOD, ShapeError, r"`sens` must have shape \(90, d_s\)"),
    ({}, {**GOOD, "names": ["a"]}, ShapeError, "one name per column of `sens`, 2"),
    ({}, {**GOOD, "weight": [-1.0] * 90}, RangeError, "`weight` must be at least 0"),
    (
        {"sens": [[1.0, 0.0]] * 10 + [[0.0, 0.0]] * 80},
        GOOD,
        RangeError,
        "No group has the 30 counted rows",
    ),
    (
        {"eta": [0.1 + i / 900 for i in range(90)]},
        GOOD,
        RangeError,
        r"refuses everybody: every score is at most the `threshold` of 0.5.* 0.1 to",
    ),
    (
        {"eta": [0.8 + i / 900 for i in range(90)]},
        {**GOOD, "notion": "fnr"},
        RangeError,
        "accepts everybody: every score is above",
    ),
]


@pytest.mark.parametrize(("arrays", "options", "error", "message"), WRONG)
def test_wrong_input_is_refused_with_one_sentence(arrays, options, error, message):
    good = {
        "eta": [i / 90 for i in range(90)],
        "sens": [[1.0, 0.0], [0.0, 1.0]] * 45,
        "label": [0, 0, 1] * 30,
    }
    tensors = {
        name: torch.tensor(x, dtype=torch.float64)
        for name, x in {**good, **arrays}.items()
    }
    if "weight" in options:
        options = {**options, "weight": torch.tensor(options["weight"])}
    with pytest.raises(error, match=message):
        find_rule(**tensors, **options)


def test_q_must_have_the_shape_of_sens(people):
    with pytest.raises(ShapeError, match=r"`q\[1\]` must have the shape of `sens`"):
        find_rule(
            people.eta,
            people.sens,
            people.label,
            q=(people.q[0], people.q[1][:, :2]),
            max_violation=0.1,
        )


def test_rules_ask_for_what_they_were_fitted_with(people):
    informed = find_rule(people.eta, people.sens, people.label, max_violation=0.1)
    blind = find_rule(
        people.eta, people.sens, people.label, q=people.q, max_violation=0.1
    )
    with pytest.raises(ArgumentError, match=r"informed rule .* pass `sens`"):
        informed.rule.decide(people.eta, q=people.q)
    with pytest.raises(ArgumentError, match=r"blind rule .* pass `q`"):
        blind.rule.decide(people.eta, sens=people.sens)
    with pytest.raises(ShapeError, match="knows 3 groups; got 2 columns"):
        informed.rule.decide(people.eta, sens=people.sens[:, :2])


def test_tolerance_says_which_form_it_has():
    assert repr(Tolerance(max_difference=0.05)) == "Tolerance(max_difference=0.05)"
    assert Tolerance(max_violation={"a": 0.2, "b": 0.1}).value == 0.1


def test_smallest_group_is_to_blame_for_a_promise_out_of_reach():
    """Both groups of a ratio need a margin, but only one of them has few rows."""
    rng = torch.Generator().manual_seed(0)
    sens = torch.eye(2, dtype=torch.float64)[(torch.arange(3000) < 60).long()]
    eta = torch.rand(3000, generator=rng, dtype=torch.float64)
    label = torch.bernoulli(eta, generator=rng)
    with pytest.raises(RangeError, match=r"group 1 has 60 counted rows, and about"):
        find_rule(eta, sens, label, min_ratio=0.9, confidence=0.95)
