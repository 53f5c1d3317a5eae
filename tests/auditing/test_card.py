"""The model card: metadata that Hugging Face reads, and Markdown without surprises."""

import hashlib

import pytest
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt

import fairret
from fairret.errors import ArgumentError
from people import people

HOSTILE = '<img src=x>|`*_[a](b)\n# "title": \x07\x85\U0001f600'


def audit(data=None, **options):
    options = {"score": "p", "label": "y", "sensitive": ["sex", "race"], **options}
    options.setdefault("notions", ["pr", "tpr+fpr"])
    return fairret.audit(people() if data is None else data, **options)


def as_html(path):
    """Render a card as sites do, with raw HTML allowed."""
    text = ModelCard.load(path).text
    return MarkdownIt("commonmark").enable("table").render(text)


def test_metadata_are_read_back_with_their_values(tmp_path):
    found = audit(name="Loans 2.0")
    card = ModelCard.load(found.to_card(tmp_path / "README.md", task="tabular-x"))
    assert card.data.model_name == "Loans 2.0"
    assert card.data.tags == ["fairness"]
    read = [(x.metric_type, x.metric_value) for x in card.data.eval_results]
    expected = []
    for section in found.sections:
        result = section.decisions
        expected += [
            ("largest_violation", float(result.largest_violation.estimate)),
            ("typical_violation", float(result.violation_beyond_chance)),
            ("lowest_to_highest", float(section.ratio(favourable=True).estimate)),
        ]
    assert [kind for kind, _ in read] == [kind for kind, _ in expected]
    values = [[value for _, value in pairs] for pairs in (read, expected)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)  # six digits are written
    assert {x.task_type for x in card.data.eval_results} == {"tabular-x"}
    assert card.data.eval_results[0].metric_name.startswith("Demographic parity: ")


def test_text_has_every_verdict_and_every_group(tmp_path):
    found = audit()
    page = as_html(
        found.to_card(tmp_path / "README.md", gate=found.gate(min_ratio=0.8))
    )
    for section in found.sections:
        assert found.verdict(section).replace("<", "&lt;") in page
        for _, group in section.groups:
            assert f"<td>{group.name}</td>" in page
    assert page.count("<tr>") == (1 + 2) + 3 * (1 + 1 + 6)  # with heads and everybody
    assert "The gate is not passed" in page


def test_file_is_known_by_its_hash(tmp_path):
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    card = ModelCard.load(audit(path).to_card(tmp_path / "README.md"))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert card.data.eval_results[0].dataset_revision == digest
    assert card.data.eval_results[0].dataset_name == "people.csv"


def test_text_from_the_data_is_shown_as_it_is(tmp_path):
    frame = people()
    frame["race"] = frame["race"].replace("b", HOSTILE)
    path = audit(frame, name=HOSTILE).to_card(tmp_path / "README.md")
    assert ModelCard.load(path).data.model_name == HOSTILE
    page = as_html(path)
    for tag in ("<img", "<a ", "<em>", "<code>"):
        assert tag not in page
    assert page.count("&lt;img src=x&gt;|`*_[a](b) # &quot;title&quot;:") >= 4
    assert page.count("<h1>") == 1


def test_existing_file_is_kept_unless_told_otherwise(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("mine")
    with pytest.raises(ArgumentError, match="overwrite=True"):
        audit().to_card(path)
    assert path.read_text() == "mine"
    audit().to_card(path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("---\n")
    assert list(tmp_path.iterdir()) == [path]


def test_input_is_never_replaced(tmp_path):
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match="another file than the input"):
        audit(path).to_card(path, overwrite=True)
    assert path.read_bytes() == before


def test_numbers_that_do_not_exist_are_left_out(tmp_path):
    path = audit(people().assign(sex="f", race="a")).to_card(tmp_path / "README.md")
    assert "model-index" not in ModelCard.load(path).data
    text = path.read_text(encoding="utf-8")
    assert "nothing to compare" in text
    assert "nan" not in text


def test_card_of_two_models_is_about_the_last(tmp_path):
    frame = people().assign(after=lambda x: x["y"] * 1.0)
    found = audit(frame, score=["p", "after"], notions=["pr"])
    card = ModelCard.load(found.to_card(tmp_path / "README.md"))
    assert card.data.model_name == "after"
    value = card.data.eval_results[0].metric_value
    largest = found.results["pr"].decisions.largest_violation.estimate
    assert value == pytest.approx(float(largest), abs=1e-6)
    assert "From p to after the typical violation goes from" in card.text
