"""The JSON of an audit keeps its schema, whatever was audited."""

import json
from collections.abc import Mapping

import jsonschema
import numpy as np
import pytest

import fairret
from fairret.auditing.plain import SCHEMA_VERSION, schema
from fairret.sensitive import Soft
from people import people

FRAME = people(400)
OPTIONS = {"score": "p", "label": "y", "sensitive": ["sex", "race"]}
LIMITS = {"max_violation": 0.2, "min_ratio": 0.8, "max_difference": 0.1}


def plain(frame=FRAME, *, limits=None, **options):
    audit = fairret.audit(frame, **{**OPTIONS, **options})
    gate = audit.gate(**limits) if limits else None
    return audit.to_dict(gate=gate)


CASES = {
    "one model": lambda: plain(),
    "a gate": lambda: plain(notions=["pr", "tpr+fpr", "fn_fp"], limits=LIMITS),
    "two models": lambda: plain(
        FRAME.assign(q=1 - FRAME["p"]),
        score=["p", "q"],
        notions=["pr", "tpr+fpr"],
        limits=LIMITS,
    ),
    "no labels": lambda: plain(label=None, favourable=False),
    "nobody is counted": lambda: plain(
        FRAME.assign(y=0), notions=["tpr", "pr"], limits=LIMITS
    ),
    "one group": lambda: plain(
        FRAME.assign(sex="f"), sensitive="sex", notions=["fpr", "for"]
    ),
    "too few": lambda: plain(FRAME[:20], notions=["pr", "ppv", "accuracy"]),
    "a degenerate model": lambda: plain(
        FRAME.assign(p=0.1), notions=["pr"], limits=LIMITS
    ),
    "soft groups and weights": lambda: plain(
        FRAME.assign(f=np.linspace(0, 1, 400), m=np.linspace(1, 0, 400)),
        sensitive=[Soft("f", "m")],
        weight="w",
        notions=["tpr", "fn_fp"],
        name="soft",
    ),
    "holes": lambda: plain(
        FRAME.assign(
            p=FRAME["p"].where(FRAME.index > 6),
            sex=FRAME["sex"].where(FRAME.index > 9),
        ),
        intersections=[("sex", "race")],
        max_categories=7,
        notions=["pr", "tpr+ppv"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_audits_keep_the_schema(case):
    found = CASES[case]()
    jsonschema.Draft202012Validator(schema()).validate(found)
    assert found == json.loads(json.dumps(found, allow_nan=False))


def test_file_keeps_the_schema_and_has_its_hash(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    found = plain(tmp_path / "people.csv")
    jsonschema.Draft202012Validator(schema()).validate(found)
    assert list(found["settings"]["sha256"]) == ["people.csv"]


def parts(node, at=""):
    """Walk over all schemas within the schema."""
    if isinstance(node, Mapping):
        yield at, node
        for key, own in node.items():
            yield from parts(own, f"{at}/{key}")
    elif isinstance(node, list):
        for k, own in enumerate(node):
            yield from parts(own, f"{at}/{k}")


def test_schema_is_strict_versioned_and_described():
    whole = schema()
    jsonschema.Draft202012Validator.check_schema(whole)
    assert whole["properties"]["schema"] == {
        "description": "Version of this schema.",
        "const": SCHEMA_VERSION,
    }
    for at, node in parts(whole):
        if "properties" in node and node.get("type") == "object":
            assert node["additionalProperties"] is False, at
        if at.split("/")[-2:-1] == ["properties"]:
            described = {"description", "$ref", "type"} & set(node)
            assert described, at
    used = {node["$ref"] for _, node in parts(whole) if "$ref" in node}
    assert used == {f"#/$defs/{name}" for name in whole["$defs"]}


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"more": 1},
        {"degenerate": None},
        {"notions": []},
        {"gate": {"mode": "evidence", "passed": True, "outcomes": []}},
    ],
)
def test_schema_refuses_what_it_does_not_describe(change):
    validator = jsonschema.Draft202012Validator(schema())
    assert not validator.is_valid({**plain(notions=["pr"]), **change})
