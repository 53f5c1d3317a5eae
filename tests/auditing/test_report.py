"""What an audit gives: sentences, plain values, JSON, a frame, a page."""

import json
import math
from dataclasses import asdict

import pytest

import fairret
from fairret.auditing.notions import DEFAULT
from people import people

DEGENERATE = {
    "a perfect model": {"p": lambda x: x["y"]},
    "a model that says no": {"p": lambda x: 0 * x["p"]},
    "a model that says yes": {"p": lambda x: 0 * x["p"] + 1},
    "scores that are all the same": {"p": lambda x: 0 * x["p"] + 0.3},
    "scores next to nothing": {"p": lambda x: x["p"] * 1e-300},
    "scores next to nothing in a group": {
        "p": lambda x: x["p"].where(x["race"] != "late", x["p"] * 1e-170)
    },
    "one group": {"sex": "f"},
    "no positives": {"y": 0},
    "no negatives": {"y": 1},
    "weights of zero": {"w": 0.0},
}


def audit(frame=None, **options):
    options = {"score": "p", "label": "y", "sensitive": ["sex", "race"], **options}
    return fairret.audit(people() if frame is None else frame, **options)


def numbers(group):
    """All that is known of a group, None where that is nothing."""
    return {k: None if x != x else x for k, x in asdict(group).items()}


def test_json_has_every_number_and_no_nan():
    found = audit(notions=["pr", "tpr+fpr"])

    def refuse(constant):
        raise AssertionError(constant)

    read = json.loads(found.to_json(), parse_constant=refuse)
    assert read == found.to_dict()
    assert [notion["name"] for notion in read["notions"]] == ["pr", "tpr+fpr"]
    for notion, section in zip(read["notions"], found.sections, strict=True):
        own = notion["decisions"]
        assert own["max_violation"] == float(section.decisions.max_violation)
        assert own["test"]["p_value"] == float(section.decisions.test.p_value)
        assert own["beyond_chance"] == section.decisions.beyond_chance
        for field in ("estimate", "low", "high"):
            for name, bounds in {
                "largest_violation": section.decisions.largest_violation,
                "difference": section.decisions.difference_bounds,
                "ratio": section.decisions.ratio_bounds,
            }.items():
                assert own[name][field] == float(getattr(bounds, field))
        for plain, part in zip(notion["statistics"], section.parts, strict=True):
            for of in ("scores", "decisions"):
                (measured,) = part.measured
                result = getattr(measured, of)
                groups = [numbers(group) for group in result.groups.values()]
                assert plain[of]["groups"] == groups
                assert plain[of]["overall"] == numbers(result.everybody)


def test_frame_has_a_row_for_every_statistic_channel_and_group():
    found = audit(notions=["pr", "tpr+fpr"])
    frame = found.to_frame()
    assert len(frame) == 3 * 2 * (1 + 2 + 4)
    row = frame.query("notion == 'fpr' and of == 'scores' and group == 'sex=m'")
    group = found.results["tpr+fpr"].scores.parts["fpr"].groups["sex=m"]
    assert row["statistic"].item() == group.statistic
    for field in ("p_value", "violation_low", "violation_high", "beyond_chance"):
        assert row[field].item() == getattr(group, field)
    assert set(frame["model"]) == {"p"}


def test_stack_is_one_notion_with_two_statistics():
    (section,) = audit(notions=["tpr+fpr"]).sections
    assert section.title == "Equalized odds"
    assert [part.name for part in section.parts] == ["tpr", "fpr"]


@pytest.mark.slow  # a page for every table
@pytest.mark.parametrize(("k", "case"), [*enumerate(DEGENERATE)])
def test_degenerate_tables_can_still_be_shown(k, case):
    notions = [DEFAULT[(k + j) % 7] for j in (0, 1, 3)]  # any two meet in some table
    frame = people().assign(**DEGENERATE[case])
    found = audit(frame, weight="w", notions=notions)
    json.loads(found.to_json())
    page = found._repr_html_()
    for text in (str(found), page):
        assert "nan" not in text
        assert "inf" not in text
    assert len(page) < 200_000  # no axis with a hundred digits
    assert len(found.to_frame()) == 3 * 2 * (1 + len(found.sections[0].decisions.names))


@pytest.mark.slow
def test_single_row_can_be_shown():
    found = audit({"p": [0.7], "y": [1], "sex": ["f"], "race": ["a"]})
    assert found.settings.rows == 1
    assert "nan" not in str(found) + found._repr_html_()
    assert math.isfinite(found.to_dict()["notions"][0]["decisions"]["max_violation"])
