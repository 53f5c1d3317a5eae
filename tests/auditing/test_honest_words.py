"""Words and gates that say no more, and no less, than the numbers."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairret
from fairret.auditing import wording
from fairret.auditing.notions import NOTIONS
from fairret.cli.app import app
from fairret.metric.simultaneous_intervals import Bounds


def table(n=3000, positives=21, seed=0):
    """Few positives, many negatives; decisions independent of the group."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "g": rng.choice(["a", "b"], n),
            "y": (np.arange(n) < positives).astype(int),
            "f": (rng.random(n) < 0.4).astype(int),
        }
    )


@pytest.mark.parametrize("mode", ["evidence", "assurance", "estimate"])
@pytest.mark.parametrize("positives", [0, 21])
def test_a_stack_with_a_part_that_is_not_measurable_does_not_pass(positives, mode):
    audit = fairret.audit(
        table(positives=positives),
        score="f",
        label="y",
        sensitive="g",
        notions=["tpr+fpr", "tpr"],
    )
    stack, part = audit.gate(max_violation=0.9, mode=mode).outcomes
    assert part.status == stack.status == "not measurable"
    assert not stack.passed
    assert "equal opportunity has no group with 30 rows" in stack.text


@pytest.mark.parametrize(
    ("negatives", "why"),
    [(0, "no row of any group counts"), (20, "no group has 30 rows that count")],
)
def test_a_verdict_says_which_statistic_it_leaves_out(negatives, why):
    rows = {
        "sex": ["f", "m"] * 300,
        "p": [1, 0, 0, 1, 1, 0] * 100,
        "y": [0] * negatives + [1] * (600 - negatives),
    }
    found = fairret.audit(
        rows, score="p", label="y", sensitive="sex", notions=["tpr+fpr"]
    )
    said = str(found)
    assert said.startswith("Equalized odds: ")
    assert " chance in equal opportunity. The share of the positives" in said
    left_out = f"The verdict leaves out false positive parity: {why}."
    assert left_out in said
    assert left_out in found._repr_html_()


def test_ratio_of_a_stack_has_the_worst_of_each_end():
    rng = np.random.default_rng(1)
    n = 3000
    data = pd.DataFrame(
        {"g": rng.choice(["a", "b"], n), "y": (rng.random(n) < 0.9).astype(int)}
    )
    data["f"] = (rng.random(n) < np.where(data["g"] == "a", 0.5, 0.6)).astype(int)
    audit = fairret.audit(
        data, score="f", label="y", sensitive="g", notions=["tpr+fpr", "tpr", "fpr"]
    )
    stack, tpr, fpr = audit.gate(min_ratio=0.5).outcomes
    assert stack.estimate == min(tpr.estimate, fpr.estimate)
    assert stack.low == min(tpr.low, fpr.low)
    assert stack.high == min(tpr.high, fpr.high)


def test_a_table_says_that_a_few_rows_have_most_of_the_weight():
    rows = {
        "sex": ["f"] * 500 + ["m"] * 500,
        "p": [0, 0, 0, 1, 0, 1, 0, 0, 1, 0] * 100,
        "w": [300.0] * 3 + [1.0] * 997,
    }
    found = fairret.audit(rows, score="p", sensitive="sex", weight="w", notions=["pr"])
    why = "a few rows have most of the weight, so that all together count like 13 rows"
    assert str(found) == f"Demographic parity: too few to judge; {why}."
    verdict = found.to_dict()["notions"][0]["verdict"]
    assert verdict["too_few"] == f"Too few to judge: {why}."
    gate = found.gate(max_violation=0.5)
    assert not gate.passed
    assert why in gate.outcomes[0].text
    assert "nothing to compare" not in found._repr_html_()


def test_a_gate_names_the_groups_that_it_does_not_judge():
    data = table().assign(g=["rare"] * 12 + ["a", "b"] * 1494)
    audit = fairret.audit(data, score="f", sensitive="g", notions=["pr"])
    (outcome,) = audit.gate(max_violation=0.5, mode="assurance").outcomes
    assert outcome.passed
    assert outcome.text.endswith("Too few to judge: g=rare.")


def test_a_limit_that_is_just_missed_has_digits_enough():
    # ratio 0.798: below four fifths
    data = pd.DataFrame({"g": ["a"] * 1000 + ["b"] * 1000})
    data["f"] = ([1] * 399 + [0] * 601) + ([1] * 500 + [0] * 500)
    audit = fairret.audit(data, score="f", sensitive="g", notions=["pr"])
    (outcome,) = audit.gate(min_ratio=0.8, mode="estimate").outcomes
    assert outcome.status == "violated"
    assert "is 0.798" in outcome.text
    assert "limit 0.800" in outcome.text


@pytest.mark.parametrize(
    ("low", "high", "beyond", "expected"),
    [
        (0.0, 0.21, False, "at most 21.0%"),
        (0.0, 0.21, True, "above 0% and at most 21.0%"),
        (0.004, 0.06, True, "between 0.4% and 6.0%"),
        (0.0004, 0.06, True, "between 0.04% and 6.00%"),
        (0.33, 0.72, False, "between 33.0% and 72.0%"),
        (0.101, 0.104, True, "between 10.1% and 10.4%"),
    ],
)
def test_a_bound_above_zero_does_not_look_like_zero(low, high, beyond, expected):
    assert wording.between(Bounds(high, low, high), beyond=beyond) == expected


@pytest.mark.parametrize(
    ("low", "beyond", "expected"),
    [(0.0, False, "0%"), (0.0, True, ">0%"), (0.004, True, ">0%"), (0.4, True, "40%")],
)
def test_a_group_beyond_chance_has_no_interval_from_zero(low, beyond, expected):
    assert wording.lower_bound(low, beyond=beyond, digits=0) == expected


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.0496, "= 0.0496"), (0.0504, "= 0.0504"), (0.04, "= 0.040"), (1e-5, "< 0.001")],
)
def test_a_p_value_is_on_the_right_side_of_five_percent(p, expected):
    assert wording.p_value(p) == expected


@pytest.mark.parametrize(
    ("level", "expected"), [(0.95, "95%"), (0.995, "99.5%"), (0.9999, "99.99%")]
)
def test_confidence_is_never_rounded_up_to_certainty(level, expected):
    audit = fairret.audit(
        table(), score="f", sensitive="g", notions=["pr"], confidence=level
    )
    assert f"with {expected} confidence" in str(audit)


def test_a_mode_without_a_limit_is_a_usage_error(tmp_path):
    path = tmp_path / "data.csv"
    table().to_csv(path, index=False)
    options = ["--score", "f", "--sensitive", "g", "--gate", "assurance"]
    done = CliRunner().invoke(app, ["audit", str(path), *options])
    assert done.exit_code == 2
    assert "A gate needs a limit; got none. Pass `--max-violation 0.2`" in done.stderr


def test_every_measure_makes_a_sentence():
    for notion in NOTIONS.values():
        first = notion.measure.split()[0]
        assert first in ("share", "number", "F-score"), notion.measure


def test_the_largest_violation_is_of_a_judged_group_if_another_has_a_larger_one():
    data = table().assign(g=["rare"] * 12 + ["a", "b"] * 1494)
    data.loc[data["g"] == "rare", "f"] = 1  # too few to judge, and far off
    unfair = data.assign(f=data["f"].where(data["g"] != "b", 0))
    for frame, beyond in ((data, False), (unfair, True)):
        found = fairret.audit(frame, score="f", sensitive="g", notions=["pr"])
        assert found.results["pr"].decisions.beyond_chance == beyond
        assert "The largest violation of a judged group is " in str(found)
        assert (", the largest gap of a judged group (p " in str(found)) != beyond
    plain = str(fairret.audit(table(), score="f", sensitive="g", notions=["pr"]))
    assert "of a judged group" not in plain


@pytest.mark.parametrize("rare", [0, 12])
def test_the_terminal_explains_only_the_marks_that_it_shows(rare, tmp_path):
    data = table()
    data.loc[: rare - 1, "g"] = "rare"
    data.to_csv(tmp_path / "data.csv", index=False)
    options = ["--score", "f", "--sensitive", "g", "--notion", "pr"]
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "data.csv"), *options])
    assert done.exit_code == 0
    assert ("~ not judged: fewer than 30 rows count" in done.stdout) == (rare > 0)
