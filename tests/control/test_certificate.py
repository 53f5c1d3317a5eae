"""A certificate is the audit's interval, with a stricter bound on fit rows."""

import json
import math
from dataclasses import replace

import pytest
import torch

from control.conftest import draw_population
from fairret.control import Tolerance, certificate, find_rule
from fairret.errors import ArgumentError, NameNotFoundError, RangeError, ShapeError
from fairret.metric import Parity
from fairret.metric.rounding import percent

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def decided():
    people = draw_population(3000, 3, seed=1)
    return (people.eta > 0.45).double(), people.sens, people.label


@pytest.mark.parametrize("notion", ["pr", "tpr", "ppv", "fn_fp"])
def test_held_out_interval_is_that_of_an_audit(decided, notion):
    f, sens, label = decided
    found = certificate(f, sens, label, notion=notion, names=NAMES)
    metric = Parity(notion, names=NAMES, traits={"group": [0, 1, 2]})
    metric.update(f, sens, label)
    result = metric.compute().scores
    assert [found.estimate, found.low, found.high] == pytest.approx(
        [float(x) for x in result.largest_violation]
    )
    pairs = certificate(f, sens, label, notion=notion, kind="max_difference")
    assert [pairs.estimate, pairs.low, pairs.high] == pytest.approx(
        [float(x) for x in result.difference_bounds]
    )
    ratio = certificate(f, sens, label, notion=notion, kind="min_ratio")
    assert [ratio.estimate, ratio.low, ratio.high] == pytest.approx(
        [float(x) for x in result.ratio_bounds]
    )


@pytest.mark.parametrize("kind", ["max_violation", "max_difference", "min_ratio"])
def test_fit_rows_have_a_wider_bound_than_held_out_rows(decided, kind):
    f, sens, label = decided
    held_out = certificate(f, sens, label, notion="tpr", kind=kind)
    fitted = certificate(f, sens, label, notion="tpr", kind=kind, fitted=True)
    assert fitted.estimate == held_out.estimate
    if kind == "min_ratio":
        assert fitted.bound < held_out.low < held_out.bound < held_out.estimate
    else:
        assert fitted.bound > held_out.high > held_out.bound > held_out.estimate


def test_group_with_few_rows_is_named_and_not_certified(decided):
    f, sens, label = decided
    few = torch.zeros(3000, 1)
    few[:20] = 1
    found = certificate(f, torch.cat((sens, few), 1), label, names=[*NAMES, "few"])
    assert found.too_few == ("few",)
    assert [gap.certified for gap in found.gaps] == [True, True, True, False]
    assert found.high == pytest.approx(certificate(f, sens, label).high)
    assert "fewer than 30 counted rows: few." in str(found)


def test_nothing_is_certified_without_a_large_group(decided):
    f, sens, label = (x[:60] for x in decided)
    found = certificate(f, sens / 3, label)
    assert math.isnan(found.high)
    assert not found.holds(Tolerance(max_violation=0.9))
    assert "Nothing can be certified" in str(found)
    assert json.loads(found.to_json())["high"] is None


@pytest.mark.parametrize("kind", ["max_violation", "min_ratio"])
@pytest.mark.parametrize("notion", ["tpr+fpr", "fpr+tpr"])
def test_nothing_is_promised_if_one_notion_has_no_event(decided, notion, kind):
    f, sens, label = decided
    found = certificate(f * label, sens, label, notion=notion, kind=kind)
    assert math.isnan(found.estimate)
    assert math.isnan(found.bound)
    assert not found.holds(Tolerance(**{kind: 0.01 if kind == "min_ratio" else 0.99}))
    assert "Nothing can be certified: of fpr, the statistic of everybody is 0" in str(
        found
    )
    assert [gap.certified for gap in found.gaps if gap.notion == "fpr"] == [False] * 3


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("notion", ["pr", "tpr"])
def test_nothing_is_promised_if_everybody_is_refused(decided, notion, fitted):
    f, sens, label = decided
    for limit in ({"max_violation": 0.99}, {"max_violation": {"a": 0.9}}):
        found = certificate(
            torch.zeros_like(f), sens, label, notion=notion, names=NAMES, fitted=fitted
        )
        assert not found.holds(Tolerance(**limit))
        assert "nan" not in str(found)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("max_violation", "group 0 is everybody, so there is nothing to compare"),
        ("min_ratio", "no trait has two groups with 30 counted rows"),
        ("max_difference", "no trait has two groups with 30 counted rows"),
    ],
)
def test_single_group_has_nothing_to_be_compared_with(decided, kind, reason):
    f, _, label = decided
    found = certificate(f, torch.ones(3000, 1), label, kind=kind)
    assert f"Nothing can be certified: {reason}" in str(found)
    assert math.isnan(found.bound)


def test_nothing_is_known_without_a_row_that_counts(decided):
    f, sens, label = decided
    found = certificate(f, sens, torch.zeros_like(label), notion="tpr")
    assert "Nothing can be certified: no row counts." in str(found)


def test_numbers_in_words_do_not_say_more_than_is_known(decided):
    found = certificate(*decided, kind="min_ratio")
    near = replace(found, low=0.79989, high=0.93301, confidence=0.995)
    assert "With 99.5% confidence" in str(near)
    assert "is between 0.799 and 0.934." in str(near)
    exact = replace(found, low=0.3, high=0.7, confidence=0.95)
    assert "is between 0.300 and 0.700." in str(exact)
    assert [percent(x) for x in (0.9, 0.999, 0.99999)] == ["90%", "99.9%", "99.99%"]


def test_rows_that_would_suffice_make_the_certificate_hold(decided):
    f, sens, label = decided
    found = certificate(f, sens, label, fitted=True)
    tolerance = Tolerance(max_violation=(found.estimate + found.bound) / 2)
    assert not found.holds(tolerance)
    needed = found.rows_needed(tolerance)
    assert found.rows_needed(Tolerance(max_violation=found.estimate / 2)) == math.inf
    copies = math.ceil(1.05 * needed / 3000)  # intervals of log-ratios are lopsided
    more = certificate(
        f.repeat(copies), sens.repeat(copies, 1), label.repeat(copies), fitted=True
    )
    assert 2 < copies < 8
    assert more.holds(tolerance)


def test_missing_trait_counts_for_everybody_alone(decided):
    f, sens, label = decided
    missing = sens.clone()
    missing[::4] = torch.nan
    assert certificate(f, missing, label).high == pytest.approx(
        certificate(f, missing.nan_to_num(nan=0.0), label).high
    )


def test_equal_weights_change_nothing_and_unequal_ones_widen(decided):
    f, sens, label = decided
    plain = certificate(f, sens, label, notion="tpr")
    twice = certificate(f, sens, label, notion="tpr", weight=torch.full((3000,), 2.0))
    assert twice.high == pytest.approx(plain.high)
    some = torch.arange(3000) % 2 * 1.8 + 0.1  # unrelated to decisions
    uneven = certificate(f, sens, label, notion="tpr", weight=some)
    assert uneven.high - uneven.estimate > plain.high - plain.estimate


def test_several_notions_have_the_worst_upper_bound(decided):
    f, sens, label = decided
    both = certificate(f, sens, label, notion=["tpr", "fpr"])
    single = [certificate(f, sens, label, notion=name) for name in ("tpr", "fpr")]
    assert both.notions == ("tpr", "fpr")
    assert both.high == pytest.approx(max(x.high for x in single))
    assert both.low <= max(x.low for x in single)  # corrected for two notions
    assert {gap.notion for gap in both.gaps} == {"tpr", "fpr"}


def test_limits_of_single_groups_are_compared_with_their_own_bounds(decided):
    f, sens, label = decided
    found = certificate(f, sens, label, names=NAMES)
    by_name = {gap.groups[0]: gap for gap in found.gaps}
    above = {"b": by_name["b"].high + 0.01}
    below = {"b": by_name["b"].high - 0.01}
    assert found.holds(Tolerance(max_violation=above))
    assert not found.holds(Tolerance(max_violation=below))


def test_limit_of_a_group_that_does_not_exist_is_refused(decided):
    found = certificate(*decided, names=NAMES)
    message = "names the group 'A', which does not exist. .*The groups are a, b, c."
    with pytest.raises(NameNotFoundError, match=message):
        found.holds(Tolerance(max_violation={"A": 0.01}))


def test_limit_of_a_group_that_is_not_certified_is_not_known_to_hold(decided):
    f, sens, label = decided
    few = torch.zeros(3000, 1)
    few[:20] = 1
    found = certificate(f, torch.cat((sens, few), 1), label, names=[*NAMES, "few"])
    assert not found.holds(Tolerance(max_violation={"few": 0.9}))
    assert found.holds(Tolerance(max_violation={"few": 0.01, "b": 0.9}))


def test_certificate_of_some_groups_leaves_the_others_out(decided):
    f, sens, label = decided
    whole = certificate(f, sens, label, names=NAMES)
    worst = max(whole.gaps, key=lambda gap: gap.estimate).groups[0]
    rest = [name for name in NAMES if name != worst]
    some = certificate(f, sens, label, names=NAMES, groups=rest)
    assert some.estimate < whole.estimate
    assert some.bound == max(gap.high for gap in some.gaps)
    assert {gap.groups[0] for gap in some.gaps} == set(rest)
    assert f"(pr) of {rest[0]}, {rest[1]} in the population" in str(some)
    assert some.holds(Tolerance(max_violation=dict.fromkeys(rest, some.bound)))
    assert not some.holds(Tolerance(max_violation={rest[0]: 0.001}))
    for limit in (0.9, {worst: 0.9}):
        with pytest.raises(ArgumentError, match=f"the tolerance also limits {worst}"):
            some.holds(Tolerance(max_violation=limit))
    with pytest.raises(NameNotFoundError, match="`groups` names the group 'd', which"):
        certificate(f, sens, label, names=NAMES, groups=["d"])


def test_certificate_of_a_solution_is_about_the_groups_with_a_limit():
    people = draw_population(4000, 3, seed=5)
    sex = (torch.arange(4000) % 2).double()
    sens = torch.cat((people.sens, torch.stack((sex, 1 - sex), 1)), 1)
    found = find_rule(
        people.informed,
        sens,
        people.label,
        max_violation={"f": 0.2, "m": 0.3},
        names=[*NAMES, "f", "m"],
        traits=[(0, 1, 2), (3, 4)],
    )
    own = found.certificate()
    assert own.groups == ("f", "m")
    assert own.estimate == pytest.approx(found.value)
    assert own.holds(found.tolerance)
    assert own.bound < 0.2 < certificate(found.decisions, sens, people.label).estimate
    assert "(max_violation 0.2 for f, 0.3 for m) is met" in str(found)


def test_solution_certifies_its_own_rows_and_others():
    people, others = (draw_population(n, 3, seed=n) for n in (3000, 2500))
    found = find_rule(
        people.eta,
        people.sens,
        people.label,
        q=people.q,
        notion="tpr",
        min_ratio=0.7,
        names=NAMES,
    )
    own = found.certificate()
    assert (own.kind, own.fitted, own.n) == ("min_ratio", True, 3000)
    gamma = found.statistics[0, 1:]
    assert own.estimate == pytest.approx(float(gamma.min() / gamma.max()))
    held_out = found.certificate_on(
        others.eta, others.sens, others.label, q=others.q, confidence=0.9
    )
    f = found.rule.decide(others.eta, q=others.q)
    expected = certificate(
        f,
        others.sens,
        others.label,
        notion="tpr",
        kind="min_ratio",
        names=NAMES,
        confidence=0.9,
    )
    assert held_out == expected
    assert "smallest ratio (tpr)" in str(own)
    assert "rows that fitted the rule" in str(own)


def overfitted(people, sharpness):
    """Scores that have seen the labels."""
    z = torch.logit(people.eta) + sharpness * (2 * people.label - 1)
    return torch.sigmoid(z)


@pytest.mark.parametrize("sharpness", [1.0, 30.0])
def test_scores_that_have_seen_the_labels_are_warned_of(sharpness):
    people = draw_population(2000, 2, seed=3)
    eta = overfitted(people, sharpness)
    found = find_rule(eta, people.sens, people.label, notion="tpr", max_violation=0.3)
    with pytest.warns(UserWarning, match="pass out-of-fold scores"):
        found.certificate()


def test_overfitted_scores_are_found_with_held_out_rows():
    people, others = (draw_population(2000, 2, seed=seed) for seed in (3, 4))
    eta = torch.sigmoid(3 * torch.logit(overfitted(people, 0.6)))  # overconfident
    found = find_rule(eta, people.sens, people.label, max_violation=0.3)
    new = torch.sigmoid(3 * torch.logit(others.eta))
    with pytest.warns(UserWarning, match="overfitted to them"):
        found.certificate_on(new, others.sens, others.label)


@pytest.mark.slow
def test_honest_scores_are_not_warned_of():
    for seed in range(20):
        people = draw_population(1000, 2, seed=seed)
        found = find_rule(people.informed, people.sens, people.label, max_violation=0.3)
        found.certificate()  # a warning would be an error
        others = draw_population(800, 2, seed=seed + 100)
        found.certificate_on(others.informed, others.sens, others.label)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"decisions": [0.3] * 90}, RangeError, "`decisions` must be 0 or 1; got"),
        ({"decisions": [1.0] * 80}, ShapeError, r"`sens` must have shape \(80, d_s\)"),
        ({"confidence": 0.3}, RangeError, "`confidence` must be at least 0.5; got 0.3"),
        ({"kind": "max_ratio"}, ArgumentError, r"Did you mean"),
    ],
)
def test_wrong_input_is_refused_with_one_sentence(change, error, message):
    good = {
        "decisions": [0.0, 1.0, 1.0] * 30,
        "sens": torch.tensor([[1.0, 0.0], [0.0, 1.0]] * 45),
    }
    arguments = {**good, **change}
    arguments["decisions"] = torch.tensor(arguments["decisions"])
    with pytest.raises(error, match=message):
        certificate(**arguments)


def test_certificate_refuses_a_tolerance_of_another_kind(decided):
    found = certificate(*decided)
    with pytest.raises(
        ArgumentError, match="is about `max_violation`; got a tolerance"
    ):
        found.holds(Tolerance(min_ratio=0.8))


def test_one_large_group_is_not_certified_beside_a_tiny_one():
    """971 and 29 people: the large group is compared with itself."""
    sens = torch.zeros(1000, 2)
    sens[:971, 0] = sens[971:, 1] = 1
    decisions = torch.arange(1000) % 2 * sens[:, 0]
    found = certificate(decisions, sens, notion="pr")
    assert "no trait has two groups with 30 counted rows" in str(found)
    assert not found.holds(Tolerance(max_violation=0.1))
    sens[:2] = torch.tensor([0.0, 1.0])
    assert certificate(decisions, sens, notion="pr").reasons == ()
