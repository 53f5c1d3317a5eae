"""Two models on the same people: both are shown, with a paired test of the change."""

import json
from html import unescape

import numpy as np
import pytest
from typer.testing import CliRunner

import fairret
from fairret.cli.app import app
from pages import HOSTILE, assert_fits, browser, read_strictly
from people import people

N = 1300
OPTIONS = {"label": "y", "sensitive": ["sex", "race"], "notions": ["pr", "tpr+fpr"]}


def models(seed=0):
    """A score that depends on sex, and one in which men are moved down."""
    frame = people(N, seed=seed)
    repaired = np.clip(frame["p"] - 0.15 * (frame["sex"] == "m"), 0, 1)
    return frame.rename(columns={"p": "before"}).assign(after=repaired)


@pytest.fixture(scope="module")
def audit():
    return fairret.audit(models(), score=["before", "after"], **OPTIONS)


def alone(score, **options):
    return fairret.audit(models(), score=score, **{**OPTIONS, **options})


@pytest.mark.slow
def test_each_model_has_the_results_it_has_alone(audit):
    assert list(audit.models) == ["before", "after"]
    plain = audit.to_dict()
    for name in ("before", "after"):
        expected = alone(name).to_dict()["notions"]
        for own, other in zip(plain["notions"], expected, strict=True):
            found = own["before"] if name == "before" else own
            for field in ("scores", "decisions", "statistics"):
                assert found[field] == other[field]
    assert audit.results["pr"] is audit.models["after"]["pr"]
    assert (
        audit.gate(max_violation=0.1).outcomes
        == alone("after").gate(max_violation=0.1).outcomes
    )


def test_two_files_equal_one_with_both_scores(audit, tmp_path):
    frame = models()
    for name, other in (("before", "after"), ("after", "before")):
        own = frame.drop(columns=other).rename(columns={name: "p"})
        own.to_csv(tmp_path / f"{name}.csv", index=False)
    paths = (tmp_path / "before.csv", tmp_path / "after.csv")
    found = fairret.audit(paths, score="p", **OPTIONS)
    assert [x.name for x in found.settings.models] == ["before.csv", "after.csv"]
    assert list(found.sha256) == ["before.csv", "after.csv"]
    for one, other in zip(found.sections, audit.sections, strict=True):
        for part, expected in zip(one.parts, other.parts, strict=True):
            assert part.change_p_values() == expected.change_p_values()
            assert part.changed() == expected.changed()


def test_real_change_is_beyond_chance_and_named(audit):
    section = audit.sections[0]
    (part,) = section.parts
    assert set(part.changed()) == {"sex=f", "sex=m"}
    text = audit.verdict(section)
    assert "From before to after the typical violation goes from " in text
    assert "The change is beyond chance for 2 groups, most clearly sex=" in text
    first, last = (
        audit.models[model]["pr"].decisions.groups["sex=f"].violation
        for model in ("before", "after")
    )
    way = "falls" if last < first else "rises"
    assert f"whose violation {way} from " in text
    for model in ("before", "after"):
        result = audit.models[model]["pr"].decisions
        assert f"{float(result.violation_beyond_chance):.1%}" in text
        assert f"{float(result.largest_violation.estimate):.1%}" in text


def test_identical_models_have_no_change():
    frame = models().assign(after=lambda x: x["before"])
    found = fairret.audit(frame, score=["before", "after"], **OPTIONS)
    for section in found.sections:
        assert "no group's change is beyond chance" in found.verdict(section)
        for part in section.parts:
            for of in ("scores", "decisions"):
                assert part.changed(of) == []
                judged = {p for p in part.change_p_values(of).values() if p == p}
                assert judged == {1.0}


def test_json_has_the_change_of_every_group(audit):
    for notion, section in zip(audit.to_dict()["notions"], audit.sections, strict=True):
        for plain, part in zip(notion["change"], section.parts, strict=True):
            assert plain["name"] == part.name
            for of in ("scores", "decisions"):
                rows = plain[of]["groups"]
                changed = [x["name"] for x in rows if x["beyond_chance"]]
                assert changed == part.changed(of)
                assert plain[of]["beyond_chance"] == bool(changed)
            for row in plain["decisions"]["groups"]:
                ends = [
                    decisions.groups[row["name"]].statistic / float(decisions.overall)
                    for decisions in (x.decisions for x in part.measured)
                ]
                assert row["before"] == pytest.approx(ends[0] - 1, abs=1e-12)
                assert row["after"] == pytest.approx(ends[1] - 1, abs=1e-12)
                if row["judged"]:
                    moved = row["after"] - row["before"]
                    assert row["low"] <= moved <= row["high"]
                    excluded = not row["low"] <= 0 <= row["high"]
                    assert excluded == row["beyond_chance"]


def test_frame_has_the_rows_of_both_models(audit):
    frame = audit.to_frame()
    assert len(frame) == 2 * 3 * 2 * (1 + 2 + 4)
    for name, measured in audit.models.items():
        own = frame[frame["model"] == name]
        row = own.query("notion == 'pr' and of == 'decisions' and group == 'sex=f'")
        expected = measured["pr"].decisions.groups["sex=f"].statistic
        assert row["statistic"].item() == expected


def test_terminal_shows_both_models_and_the_change(audit, tmp_path):
    models().to_csv(tmp_path / "two.csv", index=False)
    options = "--score before --score after --label y --sensitive sex --notion pr"
    command = ["audit", str(tmp_path / "two.csv"), *options.split()]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    header, row = (
        next(line for line in result.stdout.splitlines() if line.startswith(start))
        for start in ("group", "sex=f")
    )
    assert "before" in header
    assert "after" in header
    assert "p of change" in header
    for model in ("before", "after"):
        group = audit.models[model]["pr"].decisions.groups["sex=f"]
        assert f"{group.statistic:.1%}" in row
    assert row.rstrip().endswith("< 0.001 ◆")
    words = " ".join(result.stdout.split())
    assert "From before to after the typical violation" in words


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 800])
def test_page_of_two_models_fits_and_keeps_names_as_text(width, tmp_path):
    frame = models().rename(columns={"before": "<b>before</b>", "after": "<i>after"})
    frame["sex"] = frame["sex"].map({"f": HOSTILE["f"], "m": HOSTILE["m"]})
    found = fairret.audit(frame, score=["<b>before</b>", "<i>after"], **OPTIONS)
    gate = found.gate(max_violation=0.1, min_ratio=0.8)
    path = found.to_html(tmp_path / "two.html", gate=gate)
    text = path.read_text(encoding="utf-8")
    read = read_strictly(text)
    assert not {tag for tag, _ in read.seen} & {"script", "img", "b", "i"}
    words = "".join(read.words)
    for name in ("<b>before</b>", "<i>after", HOSTILE["f"], HOSTILE["m"]):
        assert name in words
    assert_fits(width, text, browser(tmp_path / "profile"), tmp_path)


@pytest.mark.slow
def test_page_shows_both_models_and_the_change(audit, tmp_path):
    path = audit.to_html(tmp_path / "two.html")
    page = unescape(path.read_text(encoding="utf-8"))
    for words in (
        *("typical violation before", "p of change", "the model before"),
        *("before is above 0.5.", "after is above 0.5."),
        "◆ beyond chance",
    ):
        assert words in page
    for section in audit.sections:
        assert audit.verdict(section) in page
    assert page.count('class="before mark"') > 10
    assert 'class="line then"' in page


def test_each_model_may_have_its_threshold():
    found = fairret.audit(
        models(), score=["before", "after"], threshold=[0.4, 0.6], **OPTIONS
    )
    for name, threshold in (("before", 0.4), ("after", 0.6)):
        expected = alone(name, threshold=threshold).results["pr"].decisions
        own = found.models[name]["pr"].decisions
        assert own.statistic.tolist() == expected.statistic.tolist()
    thresholds = [x["threshold"] for x in found.to_dict()["settings"]["models"]]
    assert thresholds == [0.4, 0.6]


def test_command_takes_two_files(tmp_path):
    frame = models().rename(columns={"before": "p"})
    frame.to_csv(tmp_path / "one.csv", index=False)
    frame.assign(p=frame["after"]).to_csv(tmp_path / "two.csv", index=False)
    paths = [str(tmp_path / name) for name in ("one.csv", "two.csv")]
    options = "--score p --label y --sensitive sex --notion pr --json"
    result = CliRunner().invoke(app, ["audit", *paths, *options.split()])
    read = json.loads(result.stdout)
    assert [x["name"] for x in read["settings"]["models"]] == ["one.csv", "two.csv"]
    assert read["notions"][0]["change"][0]["decisions"]["beyond_chance"] is True
    many = CliRunner().invoke(app, ["audit", *paths, paths[0], *options.split()])
    assert many.exit_code == 2
    assert "one table, or two to compare two models; got 3" in many.stderr


def test_degenerate_model_is_named():
    frame = models().assign(after=0.1)
    found = fairret.audit(frame, score=["before", "after"], **OPTIONS)
    (note,) = found.notes
    assert note.startswith("after is degenerate: 100.00% of people get a no.")
    assert found.degenerate
    assert not found.gate(max_violation=1).passed


def test_a_change_of_side_is_said():
    n = 4000
    group = np.repeat(["a", "b", "c"], [n // 4, n // 4, n // 2])
    place = np.arange(n) % 1000 / 1000
    before = place < np.select([group == "a", group == "b"], [0.40, 0.50], 0.50)
    after = place < np.select([group == "a", group == "b"], [0.55, 0.50], 0.45)
    frame = {"g": group, "before": before.astype(int), "after": after.astype(int)}
    found = fairret.audit(
        frame, score=["before", "after"], sensitive="g", notions=["pr"]
    )
    # 40 % of 47.5 % before, 55 % of 48.75 % after
    assert str(found).endswith(
        "It is largest for g=a, which goes from 15.8% below to 12.8% above the overall "
        "value."
    )
    assert "Column “before” holds the decisions." in found._repr_html_()


@pytest.mark.slow
def test_the_page_names_a_model_beside_its_column_only_if_they_differ(tmp_path):
    frame = models()
    options = {**OPTIONS, "notions": ["pr"]}
    found = fairret.audit(frame, score=["before", "after"], **options)
    assert "A decision is positive where before is above 0.5." in found._repr_html_()
    for name in ("before", "after"):
        own = frame.rename(columns={name: "p"})
        own.to_csv(tmp_path / f"{name}.csv", index=False)
    paths = [tmp_path / "before.csv", tmp_path / "after.csv"]
    page = fairret.audit(paths, score="p", **options)._repr_html_()
    assert "A decision is positive where p is above 0.5 (after.csv)." in page
