"""A gate: each status in each mode, for each kind of limit, and what it refuses."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest

import fairret
from fairret.auditing.gate import MODES
from fairret.errors import ArgumentError, DtypeError, NameNotFoundError, RangeError
from people import people

# mode, then the statuses that pass
PASSES = {
    "evidence": {"within", "undecided"},
    "assurance": {"within"},
    "estimate": {"within"},
}


def two_groups(rate_a, rate_b, n=(1000, 1400)):
    """People of two groups, of whom exact shares get a yes and are positive."""
    frames = []
    for name, size, rate in zip("ab", n, (rate_a, rate_b), strict=True):
        yes = np.arange(size) < round(rate * size)
        frames.append(
            pd.DataFrame({"g": name, "p": yes * 1.0, "y": np.arange(size) % 2})
        )
    return pd.concat(frames, ignore_index=True)


def audit(frame, notions=("pr",), **options):
    options = {"score": "p", "label": "y", "sensitive": "g", **options}
    return fairret.audit(frame, notions=list(notions), **options)


def one(frame, mode="evidence", **limits):
    gate = audit(frame).gate(mode=mode, **limits)
    (outcome,) = gate.outcomes
    assert gate.passed == outcome.passed
    return outcome


# shares, limit by kind, status by mode where chance counts, and where it does not
CASES = [
    ((0.50, 0.50), {"max_violation": 0.2}, "within", "within"),
    ((0.30, 0.60), {"max_violation": 0.2}, "violated", "violated"),
    ((0.50, 0.58), {"max_violation": 0.1}, "undecided", "within"),
    ((0.50, 0.58), {"max_violation": 0.07}, "undecided", "violated"),
    ((0.50, 0.52), {"min_ratio": 0.8}, "within", "within"),
    ((0.30, 0.60), {"min_ratio": 0.8}, "violated", "violated"),
    ((0.50, 0.60), {"min_ratio": 0.8}, "undecided", "within"),
    ((0.50, 0.64), {"min_ratio": 0.8}, "undecided", "violated"),
    ((0.50, 0.52), {"max_difference": 0.1}, "within", "within"),
    ((0.30, 0.60), {"max_difference": 0.1}, "violated", "violated"),
    ((0.50, 0.58), {"max_difference": 0.1}, "undecided", "within"),
    ((0.50, 0.62), {"max_difference": 0.1}, "undecided", "violated"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shares", "limit", "sure", "as_it_is"), CASES)
def test_status_follows_interval_or_estimate(shares, limit, sure, as_it_is, mode):
    outcome = one(two_groups(*shares), mode, **limit)
    status = as_it_is if mode == "estimate" else sure
    assert outcome.status == status
    assert outcome.passed == (status in PASSES[mode])
    ((kind, at),) = limit.items()
    assert (outcome.kind, outcome.limit) == (kind, at)
    assert outcome.low <= outcome.estimate <= outcome.high
    inside = outcome.low < at < outcome.high
    assert inside == (sure == "undecided")
    assert outcome.text.startswith(f"Demographic parity: {status}")


def test_numbers_are_those_of_the_shares():
    a, b = 0.3, 0.6
    overall = (1000 * a + 1400 * b) / 2400
    expected = {
        "max_violation": max(1 - a / overall, b / overall - 1),
        "min_ratio": a / b,
        "max_difference": b - a,
    }
    for kind, value in expected.items():
        found = one(two_groups(a, b), **{kind: 0.5})
        assert found.estimate == pytest.approx(value, rel=1e-12)  # exact shares


@pytest.mark.parametrize("limit", [{"max_violation": 0.10}, {"min_ratio": 0.80}])
def test_as_many_more_rows_as_it_says_decide(limit):
    shares = (0.50, 0.58)
    outcome = one(two_groups(*shares), **limit)
    assert outcome.status == "undecided"
    assert f"about {outcome.more_rows:,} more rows would decide" in outcome.text
    for share, decided in ((0.5, False), (1.3, True)):
        more = 1 + share * outcome.more_rows / 2400
        sizes = [round(n * more) for n in (1000, 1400)]
        found = one(two_groups(*shares, n=sizes), **limit)
        assert (found.status != "undecided") == decided


@pytest.mark.parametrize(
    ("yes", "limit"),
    [
        ((16, 20), {"min_ratio": 0.8}),
        ((8, 10), {"min_ratio": 0.8}),
        ((32, 40), {"min_ratio": 0.8}),
        ((72, 90), {"min_ratio": 0.8}),
        ((8, 10), {"max_difference": 0.02}),
        ((40, 60), {"max_violation": 0.2}),
    ],
)
def test_exactly_the_limit_is_within_it(yes, limit):
    frame = two_groups(*(x / 100 for x in yes), n=(100, 100))
    found = one(frame, "estimate", **limit)
    assert found.passed
    if "min_ratio" in limit:
        assert "is 0.80 (" in found.text
        assert "four-fifths rule met" in audit(frame)._repr_html_()
        assert not one(frame, "estimate", min_ratio=0.8 + 1e-6).passed


def test_not_measurable_is_no_pass():
    few = two_groups(0.5, 0.6, n=(20, 25))
    for mode in MODES:
        found = one(few, mode, max_violation=0.2)
        assert (found.status, found.passed) == ("not measurable", False)
        assert "not a pass: no group has 30 rows that count" in found.text
    nobody = audit(two_groups(0.3, 0.6).assign(y=0), ["tpr"]).gate(min_ratio=0.8)
    assert nobody.outcomes[0].status == "not measurable"
    assert "no row of any group counts" in nobody.outcomes[0].text
    assert not nobody.passed
    alone = one(two_groups(0.5, 0.6, n=(400, 8)), max_difference=0.2)
    assert alone.status == "not measurable"
    assert "no two groups of a trait have 30 rows that count" in alone.text
    for mode in MODES:  # 29 of 1,000 are refused, and a is compared with itself
        rest = one(two_groups(0.5, 0.0, n=(971, 29)), mode, max_violation=0.1)
        assert (rest.status, rest.passed) == ("not measurable", False)
        assert "no two groups of a trait have 30 rows that count" in rest.text
    same = one(two_groups(0.5, 0.6).assign(g="a"), max_violation=0.2)
    assert same.status == "not measurable"
    assert "all rows that count are in one group" in same.text


def test_a_single_group_is_compared_with_the_rows_without_the_trait():
    flagged = two_groups(0.5, 0.5).replace({"g": {"b": None}})
    assert one(flagged, "assurance", max_violation=0.2).passed


def test_no_ratio_is_measured_where_everybody_has_none():
    frame = two_groups(0.3, 0.6).assign(y=lambda x: x["p"])
    gate = audit(frame, ["fpr"]).gate(min_ratio=0.8)
    assert gate.outcomes[0].status == "not measurable"
    assert "the statistic of everybody is zero" in gate.outcomes[0].text


def test_without_an_event_no_violation_is_assured():
    """Of 250 rows each, half are negative, and no negative gets a yes."""
    frame = two_groups(0.3, 0.6, n=(250, 250))
    frame["p"] *= frame["y"]
    found = audit(frame, ["fpr"])
    said = "the overall value may be zero, so these rows do not bound a violation"
    assert str(found).startswith("False positive parity: within chance.")
    assert said in str(found)
    for mode, passes in (("evidence", True), ("assurance", False)):
        gate = found.gate(max_violation=0.2, mode=mode)
        (outcome,) = gate.outcomes
        assert (outcome.status, gate.passed) == ("undecided", passes)
        assert said in outcome.text
        assert "0.0% to ∞" in outcome.text
    assert found.gate(max_difference=0.05, mode="assurance").passed  # that is bounded
    bounds = found.to_dict()["notions"][0]["decisions"]["largest_violation"]
    assert bounds == {"estimate": 0, "low": 0, "high": None}


@pytest.mark.parametrize("share", [0.002, 0.998])
@pytest.mark.parametrize("mode", MODES)
def test_degenerate_models_never_pass(share, mode):
    found = audit(two_groups(share, share), ["pr", "accuracy"])
    gate = found.gate(max_violation=1, min_ratio=0.01, mode=mode)
    assert [x.status for x in gate.outcomes] == ["degenerate"] * 4
    assert not gate.passed
    assert all("almost everybody gets the same decision" in x.text for x in gate[1])
    which = "a no" if share < 0.5 else "a yes"
    assert str(found).startswith(
        f"The model is degenerate: 99.79% of people get {which}"
    )
    assert found.to_dict()["notes"] == found.notes
    assert found.notes[0] in found._repr_html_()


def test_perfect_models_pass():
    frame = two_groups(0.3, 0.6).assign(y=lambda x: x["p"])
    gate = audit(frame, ["tpr", "accuracy"]).gate(
        max_violation=0.05, min_ratio=0.9, mode="assurance"
    )
    assert gate.passed
    assert all(x.low < x.high for x in gate.outcomes)  # finite tables prove nothing


def test_gate_needs_a_limit_and_notions():
    frame = two_groups(0.3, 0.6)
    every = fairret.audit(frame, score="p", label="y", sensitive="g")
    with pytest.raises(ArgumentError, match=r"must name its notions.*reject every"):
        every.gate(max_violation=0.2)
    with pytest.raises(ArgumentError, match="must name its notions"):
        every.gate(max_violation=0.2, notions=[])
    with pytest.raises(ArgumentError, match="needs a limit; got none"):
        every.gate(notions=["pr"])
    with pytest.raises(NameNotFoundError, match="among those of the audit; got 'f_s"):
        every.gate(max_violation=0.2, notions=["f_score"])
    gate = every.gate(max_violation=0.2, notions=["tpr", "pr"])
    assert [outcome.notion for outcome in gate.outcomes] == ["tpr", "pr"]
    assert every.gate(max_violation=0.2, notions="pr").outcomes == gate.outcomes[1:]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_violation": 20}, r"`max_violation` must be .*Did you mean 0.20\?"),
        ({"min_ratio": 80}, r"`min_ratio` must be .*Did you mean 0.80\?"),
        ({"min_ratio": 0}, "`min_ratio` must be .* got 0"),
        ({"max_violation": float("nan")}, "got nan. For example, pass 0.2 for 20%"),
        ({"max_difference": float("inf")}, "got inf"),
        ({"max_violation": -0.1}, "at least 0 and below 2; got -0.1"),
        ({"max_violation": 2}, r"below 2; got 2. Did you mean 0.02\?"),
        ({"max_violation": 150}, "below 2; got 150. For example, pass 0.2"),
        ({"min_ratio": 1.5}, "`min_ratio` must be a share between 0 and 1; got 1.5"),
        ({"max_difference": 1.5}, "`max_difference` must be a share .*got 1.5"),
    ],
)
def test_limits_are_in_their_range(limit, message):
    with pytest.raises(RangeError, match=message):
        audit(two_groups(0.3, 0.6)).gate(**limit)
    assert one(two_groups(0.5, 0.5), "estimate", max_violation=0).status == "within"


@pytest.mark.parametrize("limit", ["0.2", True])
def test_limits_are_numbers(limit):
    found = audit(two_groups(0.3, 0.6))
    with pytest.raises(DtypeError, match=f"`max_violation` must be .*{limit!r}. For"):
        found.gate(max_violation=limit)
    assert found.gate(max_violation=np.float32(1.5)).passed


def test_a_violation_and_its_limit_may_exceed_one():
    # 4 false negatives per false positive in a, 1 / 4 in b
    rows = {("a", 1, 0): 60, ("a", 0, 1): 15, ("b", 1, 0): 60, ("b", 0, 1): 240}
    rows |= {("a", 1, 1): 300, ("a", 0, 0): 300, ("b", 1, 1): 300, ("b", 0, 0): 300}
    frame = pd.DataFrame(
        [key for key, count in rows.items() for _ in range(count)],
        columns=["g", "y", "p"],
    )
    found = audit(frame, ["fn_fp"])
    overall = (60 + 60) / (15 + 240)
    (outcome,) = found.gate(max_violation=1.5, mode="estimate").outcomes
    assert outcome.estimate == pytest.approx(60 / 15 / overall - 1, rel=1e-12)
    assert outcome.status == "violated"
    assert "limit 150.0%" in outcome.text
    assert one(two_groups(0.5, 0.5), max_violation=1.5).passed


def test_a_gate_says_of_which_shares_the_ratio_is_if_a_yes_is_a_harm():
    frame = two_groups(0.1, 0.3)
    notions = ["pr", "tpr", "pr+tpr"]
    harm = audit(frame, notions, favourable=False).gate(min_ratio=0.8)
    pr, tpr, both = (outcome.text for outcome in harm.outcomes)
    ratio = "the smallest ratio within a trait"
    without = "of the share of people without a flag"
    flagged = "share of the positives who are flagged"
    assert f"{ratio} {without} is 0.78 " in pr
    assert f"{ratio} of the {flagged} is 0.33 " in tpr
    assert f"{ratio} {without} and the {flagged} is 0.33 " in both
    for outcome in audit(frame, notions).gate(min_ratio=0.8).outcomes:
        assert f"{ratio} is 0.33 " in outcome.text


@pytest.mark.parametrize(
    ("alias", "name"), [("dp", "pr"), ("equalized_odds", "tpr+fpr")]
)
def test_a_notion_may_have_any_of_its_names(alias, name):
    found = audit(two_groups(0.5, 0.5), [alias, name])
    assert [x.name for x in found.sections] == [name]
    for notions in ([alias], [name, alias]):
        gate = found.gate(max_violation=0.2, notions=notions)
        assert [x.notion for x in gate.outcomes] == [name]


def test_mode_must_be_known():
    with pytest.raises(NameNotFoundError, match="`mode` must be one of evidence, ass"):
        audit(two_groups(0.3, 0.6)).gate(max_violation=0.2, mode="proof")


def test_page_and_json_have_every_outcome():
    frame = people(1100)
    found = fairret.audit(
        frame, score="p", label="y", sensitive="sex", notions=["pr", "tpr+fpr"]
    )
    gate = found.gate(max_violation=0.05, min_ratio=0.5, mode="assurance")
    plain = json.loads(found.to_json(gate=gate))["gate"]
    assert plain["mode"] == "assurance"
    assert plain["passed"] is gate.passed is False
    assert plain["outcomes"] == [dataclasses.asdict(x) for x in gate.outcomes]
    assert len(gate.outcomes) == 4


def test_page_shows_the_gate(tmp_path):
    found = audit(two_groups(0.3, 0.6))
    gate = found.gate(max_violation=0.2, min_ratio=0.1)
    page = found.to_html(tmp_path / "a.html", gate=gate).read_text(encoding="utf-8")
    assert ">Gate: not passed</h2>" in page
    assert re.search(r"max violation 0.2</td>\s*<td[^>]*>✗ violated", page)
    assert re.search(r"min ratio 0.1</td>\s*<td[^>]*>✓ within", page)
    assert "Gate:" not in found._repr_html_()
    passed = found.gate(min_ratio=0.1)
    page = found.to_html(tmp_path / "b.html", gate=passed).read_text(encoding="utf-8")
    assert ">Gate: passed</h2>" in page
