"""What an audit gives: sentences, plain values, JSON, a frame, a page."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

import fairret
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
        for plain, part in zip(notion["statistics"], section.parts, strict=True):
            for of in ("scores", "decisions"):
                groups = getattr(part.measured, of).groups.values()
                assert plain[of]["groups"] == [asdict(group) for group in groups]


def test_frame_has_a_row_for_every_statistic_channel_and_group():
    found = audit(notions=["pr", "tpr+fpr"])
    frame = found.to_frame()
    assert len(frame) == 3 * 2 * (1 + 2 + 4)
    row = frame.query("notion == 'fpr' and of == 'scores' and group == 'sex=m'")
    group = found.results["tpr+fpr"].scores.parts["fpr"].groups["sex=m"]
    assert row["statistic"].item() == group.statistic
    assert row["noise_floor"].item() == group.noise_floor


def test_above_compares_with_the_largest_violation_of_decisions():
    found = audit()
    sizes = {x.name: float(x.decisions.max_violation) for x in found.sections}
    limit = sorted(sizes.values())[3]
    above = [section.name for section in found.above(limit)]
    assert above == [name for name, size in sizes.items() if size > limit]
    assert len(above) == 3


def test_sentence_tells_the_farthest_group_and_whether_it_is_chance():
    frame = people(3000, seed=1)
    frame["p"] = np.where(frame["sex"] == "m", 0.9, frame["p"])
    first = str(audit(frame, notions=["pr"], sensitive="sex"))
    frame["sex"] = ["f", "m", "m"] * 1000  # it has nothing to do with the scores
    second = str(audit(frame, notions=["pr"], sensitive="sex"))
    assert first.startswith("Demographic parity: the share of people who get a yes is")
    assert first.endswith("of the time, so this is beyond chance.")
    assert " for sex=f and " in first
    assert second.endswith("of the time, so this is within chance.")


def test_stack_is_one_notion_with_two_statistics():
    (section,) = audit(notions=["tpr+fpr"]).sections
    assert section.title == "Equalized odds"
    assert [part.name for part in section.parts] == ["tpr", "fpr"]


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_tables_can_still_be_shown(case):
    found = audit(people().assign(**DEGENERATE[case]), weight="w")
    json.loads(found.to_json())
    page = found._repr_html_()
    for text in (str(found), page):
        assert "nan" not in text
        assert "inf" not in text
    assert len(page) < 200_000  # no axis with a hundred digits
    assert len(found.to_frame()) == 7 * 2 * (1 + len(found.sections[0].decisions.names))


def test_single_row_can_be_shown():
    found = audit({"p": [0.7], "y": [1], "sex": ["f"], "race": ["a"]})
    assert found.settings.rows == 1
    assert "nan" not in str(found) + found._repr_html_()
    assert math.isfinite(found.to_dict()["notions"][0]["decisions"]["max_violation"])
