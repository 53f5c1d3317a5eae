"""One rule for all verdicts: sentences, marks, JSON, page and terminal agree."""

import re
from html import unescape

import numpy as np
import pytest
from typer.testing import CliRunner

import fairret
from fairret.auditing.notions import DEFAULT, describe
from fairret.auditing.wording import apart, between, number, p_value, status
from fairret.cli.app import app
from fairret.errors import NameNotFoundError
from fairret.metric.simultaneous_intervals import Bounds
from fairret.statistic import get_statistic
from people import people
from planted import ROWS, SIZES, compas

PLANTED = ("pr", "tpr", "fpr", "tpr+fpr")
OPTIONS = {
    "score": "score",
    "label": "again",
    "sensitive": ["race", "sex"],
    "favourable": False,
}


@pytest.fixture(scope="module")
def audit():
    return fairret.audit(compas(), notions=[*DEFAULT, "tpr+fpr"], **OPTIONS)


def test_planted_gaps_are_beyond_chance_although_rare_groups_are_present(audit):
    assert audit.settings.rows == ROWS == 7214
    for name in PLANTED:
        result = audit.results[name].decisions
        assert result.beyond_chance
        assert result.by_trait["race"].beyond_chance
        for part in result.parts.values():
            groups = part.groups
            assert groups["race=African-American"].beyond_chance
            assert groups["race=Caucasian"].beyond_chance
            assert not groups["race=Native American"].judged
    assert not audit.results["pr"].decisions.by_trait["sex"].beyond_chance


@pytest.mark.slow
def test_rare_groups_keep_their_rows_and_are_named_with_the_rows_needed(audit):
    section = audit.sections[0]
    group = audit.results["pr"].decisions.groups["race=Native American"]
    assert group.count == group.counted == 18
    assert group.low < group.statistic < group.high
    assert np.isnan(group.p_value)
    (notion,) = [x for x in audit.to_dict()["notions"] if x["name"] == "pr"]
    found = re.search(
        r"Too few to judge: race=Native American \(18 rows that count; about "
        r"([\d,]+) needed to detect a 20% gap\)\.",
        notion["verdict"]["too_few"],
    )
    needed = int(found[1].replace(",", ""))
    assert group.needed <= needed <= 1.1 * group.needed + 10  # rounded to two digits
    page = unescape(audit._repr_html_())
    assert notion["verdict"]["too_few"] in page
    assert section.too_few[0].group.name == "race=Native American"


@pytest.mark.slow
def test_all_verdicts_follow_from_the_groups(audit):
    for section, plain in zip(audit.sections, audit.to_dict()["notions"], strict=True):
        beyond = False
        for part, numbers in zip(section.parts, plain["statistics"], strict=True):
            marked = {
                group["name"]
                for group in numbers["decisions"]["groups"]
                if group["beyond_chance"]
            }
            assert part.decisions.beyond_chance == bool(marked)
            beyond |= bool(marked)
            for trait, own in numbers["decisions"]["traits"].items():
                expected = any(name.startswith(f"{trait}=") for name in marked)
                assert own["beyond_chance"] == expected
        said = "beyond chance" if beyond else "within chance"
        verdict = plain["verdict"]
        assert status(section) == verdict["status"] == said
        assert plain["decisions"]["beyond_chance"] == beyond
        assert verdict["text"].startswith(f"{section.title}: {said}. ")
        other = "within chance" if beyond else "beyond chance"
        assert other not in verdict["text"].replace("largest gap beyond chance", "")


def test_sentence_names_the_strongest_evidence_and_the_largest_gap(audit):
    for section in audit.sections:
        text = audit.verdict(section)
        groups = [
            group
            for part in section.parts
            for group in part.decisions.groups.values()
            if group.judged
        ]
        beyond = [group for group in groups if group.beyond_chance]
        if not beyond:
            continue
        strongest = max(beyond, key=lambda x: (round(abs(x.z), 6), x.violation))
        largest = max(beyond, key=lambda x: x.violation)
        assert f" for {strongest.name} and " in text
        assert f" for {largest.name} and " in text
        assert (strongest.name == largest.name) == ("is elsewhere" not in text)


def test_the_largest_gap_is_named_where_it_is_not_the_strongest():
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b", "c"], [6000, 5000, 60])
    rate = np.select([group == "a", group == "b"], [0.42, 0.54], 0.95)
    frame = {"g": group, "p": (rng.random(len(group)) < rate).astype(int)}
    found = fairret.audit(frame, score="p", sensitive="g")
    section = found.sections[0]
    assert section.strongest.group.name != section.largest.group.name == "g=c"
    assert "The largest gap beyond chance is elsewhere: the share" in str(found)
    assert found.to_dict()["notions"][0]["verdict"]["largest_gap"] == "g=c"


@pytest.mark.slow
def test_terminal_and_page_mark_the_same_groups(audit, tmp_path):
    compas().to_csv(tmp_path / "compas.csv", index=False)
    options = "--score score --label again --sensitive race --sensitive sex"
    notions = [x for name in PLANTED for x in ("--notion", name)]
    command = ["audit", str(tmp_path / "compas.csv"), *options.split(), *notions]
    text = CliRunner().invoke(app, [*command, "--unfavourable"]).stdout
    words = " ".join(text.split())
    page = unescape(audit._repr_html_())
    for section in audit.sections:
        if section.name not in PLANTED:
            continue
        assert f"◆ {audit.verdict(section)}" in words
        assert audit.verdict(section) in page
        assert f"{section.title}: within chance" not in words + page
    assert "○" not in text
    for name in SIZES:
        rows = re.findall(rf"^race={name} .*$", text, re.M)
        parts = [p for s in audit.sections if s.name in PLANTED for p in s.parts]
        assert len(rows) == len(parts)
        for row, part in zip(rows, parts, strict=True):
            group = part.decisions.groups[f"race={name}"]
            assert ("◆" in row) == group.beyond_chance
            assert ("~" in row) == (not group.judged)
    assert (
        words.count("Wald's test of parity: all groups p < 0.001, race p < 0.001") == 4
    )


def test_noise_floor_decides_nothing():
    audit = fairret.audit(compas(), notions=["fpr"], **OPTIONS)
    result = audit.results["fpr"].decisions
    # the rare group's floor is above every gap: by it, nothing would be beyond chance
    assert result.largest_violation.estimate < result.noise_floor
    assert result.beyond_chance
    assert "floor" not in audit._repr_html_() + str(audit)


def test_fair_model_is_within_chance_in_words():
    frame = people(3000, seed=1)
    frame["sex"] = ["f", "m", "m"] * 1000  # it has nothing to do with the scores
    found = fairret.audit(frame, score="p", sensitive="sex", notions=["pr"])
    text = str(found)
    assert text.startswith("Demographic parity: within chance. The share of people who")
    assert ", the largest gap (p = " in text
    (high,) = re.search("it is at most (.*)%\\.$", text).groups()
    bounds = found.results["pr"].decisions.largest_violation
    assert bounds.low == 0
    assert float(high) / 100 == pytest.approx(float(bounds.high), abs=0.005)


@pytest.mark.slow
def test_unfavourable_decisions_have_their_own_words(audit):
    page, text = unescape(audit._repr_html_()), str(audit)
    assert "share of people who are flagged" in text
    for favourable in ("get a yes", "gets a yes", "get a no", "chosen"):
        assert favourable not in text + page
    assert "This notion asks that everybody is flagged equally often" in page
    assert ">a harm<" in page
    for name in (*DEFAULT, "f_score", "fnr", "tnr", "npv", "fdr"):
        for kind in (True, False):
            notion = describe(get_statistic(name), favourable=kind)
            assert notion.meaning.startswith("This notion asks that ")
            assert "{" not in "".join(notion)


def test_four_fifths_rule_is_about_people_without_a_flag():
    yes = np.repeat([1, 0, 1, 0], [100, 900, 300, 700])  # 10 % and 30 % are flagged
    frame = {"g": np.repeat(["a", "b"], 1000), "p": yes}
    options = {"score": "p", "sensitive": "g", "notions": ["pr"]}
    good = fairret.audit(frame, **options)
    harm = fairret.audit(frame, favourable=False, **options)
    found = r"lowest / highest 0\.33 \[0\.\d\d, 0\.\d\d\], four-fifths rule not met"
    assert re.search(found, good._repr_html_())
    page = harm._repr_html_()
    assert "lowest / highest share without a flag 0.78 [" in page
    assert "four-fifths rule not met by the estimate" in page
    for found, ratio in ((good, 1 / 3), (harm, 0.7 / 0.9)):
        plain = found.to_dict()["notions"][0]
        trait = plain["statistics"][0]["decisions"]["traits"]["g"]
        (outcome,) = found.gate(min_ratio=0.8).outcomes
        for value in (plain["decisions"]["ratio"], trait["ratio"], vars(outcome)):
            assert value["estimate"] == pytest.approx(ratio, rel=1e-9)


@pytest.mark.parametrize("favourable", [True, False])
def test_the_ratio_of_an_audit_is_that_of_page_gate_and_json(favourable):
    """Three people of group c are all refused, but too few to be judged."""
    yes = [1] * 250 + [0] * 250 + [1] * 240 + [0] * 260 + [0] * 3
    rows = {"g": ["a"] * 500 + ["b"] * 500 + ["c"] * 3, "p": yes}
    options = {"score": "p", "sensitive": "g", "notions": ["pr"]}
    found = fairret.audit(rows, favourable=favourable, **options)
    expected = 0.48 / 0.50 if favourable else 0.50 / 0.52
    ratio = found.ratio("dp")
    assert float(ratio.estimate) == pytest.approx(expected, rel=1e-12)  # exact shares
    assert float(found.results["pr"].decisions.ratio) == 0
    stored = found.to_dict()["notions"][0]["decisions"]["ratio"]
    (outcome,) = found.gate(min_ratio=0.8).outcomes
    for other in (
        tuple(stored.values()),
        (outcome.estimate, outcome.low, outcome.high),
    ):
        assert other == tuple(map(float, ratio))
    assert f"{expected:.2f} [" in found._repr_html_()
    with pytest.raises(NameNotFoundError, match="'tpr', and there are pr"):
        found.ratio("tpr")


def test_numbers_that_would_look_alike_get_more_digits():
    share = describe(get_statistic("pr"))
    ratio = describe(get_statistic("fn_fp"))
    assert apart(0.5, 0.6, share) == ("50.0%", "60.0%")
    assert apart(0.5004, 0.5001, share) == ("50.04%", "50.01%")
    assert apart(0.50004, 0.50001, share) == ("50.004%", "50.001%")
    assert apart(0.5, 0.5, share) == ("50.0%", "50.0%")
    assert apart(1.2342, 1.2341, ratio) == ("1.2342", "1.2341")
    assert apart(1.5, 1.2, ratio) == ("1.5", "1.2")
    assert number(float("nan"), share) == "–"
    assert p_value(0.0004) == "< 0.001"
    assert p_value(0.01) == "= 0.010"
    import torch

    narrow = Bounds(*map(torch.tensor, (0.112, 0.111, 0.113)))
    assert between(narrow, beyond=True) == "between 11.1% and 11.3%"
    wide = Bounds(*map(torch.tensor, (0.2, 0.1, float("inf"))))
    assert between(wide, beyond=True) == "between 10.0% and ∞"


def test_perfect_model_is_judged_and_one_group_is_not():
    frame = people(400)
    found = fairret.audit(
        frame.assign(p=frame["y"]), score="p", label="y", sensitive="sex", notions="tpr"
    )
    assert str(found).startswith(
        "Equal opportunity: within chance. The share of the positives who get a yes is "
        "100.0% for all judged groups."
    )
    groups = found.results["tpr"].decisions.groups.values()
    assert [(x.judged, x.z, x.p_value) for x in groups] == [(True, 0, 1)] * 2
    alone = fairret.audit(frame.assign(sex="f"), score="p", sensitive="sex")
    said = "nothing to compare; all rows that count are in one group."
    assert str(alone) == f"Demographic parity: {said}"
    page = alone._repr_html_()
    assert "nothing to compare" in page
    assert "too few to judge</td>" not in page
