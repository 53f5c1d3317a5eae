"""What is missing: empty cells, words among numbers, and what the user names."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fairret
from fairret.auditing import files, source
from fairret.auditing.rows import NO_NUMBER
from fairret.cli.app import app
from fairret.errors import RangeError

N = 60  # rows
WORDS = ["NA", "null", "N/A", "nan", "None"]


def stored(columns, kind, folder):
    """Put columns, text as it is written, where an audit may find them."""
    frame = pd.DataFrame(columns)
    if kind == "csv":
        frame.to_csv(folder / "people.csv", index=False)
        return folder / "people.csv"
    if kind == "parquet":
        frame.to_parquet(folder / "people.parquet")
        return folder / "people.parquet"
    return frame


def audit(data, **options):
    usual = {"score": "p", "sensitive": "x", "notions": ["pr"]}
    return fairret.audit(data, **{**usual, **options})


def groups(found):
    parity = found.results["pr"].decisions
    return {name: int(group.count) for name, group in parity.groups.items()}


SCORES = np.arange(N) % 7 / 7
every_kind = pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])


@every_kind
@pytest.mark.parametrize("word", WORDS)
def test_text_keeps_its_words(word, kind, tmp_path):
    x = np.array(["DE", word, "", "  ", "FR", "DE"] * 10, dtype=object)
    found = audit(stored({"p": SCORES, "x": x}, kind, tmp_path))
    assert groups(found) == {"x=DE": 20, "x=FR": 10, f"x={word}": 10}
    assert found.settings.missing == {"x": 20}


@every_kind
def test_a_country_does_not_vanish_from_the_ratio(kind, tmp_path):
    x = np.array(["NA", "DE"] * 30, dtype=object)
    found = audit(stored({"p": [0, 1] * 30, "x": x}, kind, tmp_path))
    assert float(found.results["pr"].decisions.ratio) == 0


@every_kind
@pytest.mark.parametrize("word", NO_NUMBER)
def test_words_among_numbers_are_missing(word, kind, tmp_path):
    x = np.array(["1", word, "2", "1", "2"] * 12, dtype=object)
    y = np.array(["0", "1", word, "1", "0"] * 12, dtype=object)
    p = np.array(["0.2", "0.4", "0.6", word, "0.7"] * 12, dtype=object)
    w = np.array([word, "2", "3", "1", "5"] * 12, dtype=object)
    data = stored({"p": p, "x": x, "y": y, "w": w}, kind, tmp_path)
    found = audit(data, label="y", weight="w", notions=["pr", "tpr"])
    assert found.settings.left == {"score": 12, "label": 12, "weight": 12}
    assert found.settings.missing == {"x": 12}
    assert found.settings.positive == "1"


@every_kind
def test_words_are_judged_by_the_whole_column(kind, monkeypatch, tmp_path):
    monkeypatch.setattr(source, "ROWS", 13)
    monkeypatch.setattr(files, "BLOCK", 100)
    x = np.array(["1", "NA", "2"] * 19 + ["1", "b", "2"], dtype=object)
    y = np.array(["NA", "1"] * 29 + ["no", "1"], dtype=object)
    shares = []
    found = audit(
        stored({"p": SCORES, "x": x, "y": y}, kind, tmp_path),
        label="y",
        positive="1",
        progress=shares.append,
    )
    assert groups(found) == {"x=1": 20, "x=2": 20, "x=NA": 19, "x=b": 1}
    assert found.settings.left == {}
    assert shares == sorted(shares)


@every_kind
def test_missing_words_may_be_named(kind, tmp_path):
    columns = {
        "x": np.array(["DE", "NA", "?", " - ", "FR", "NA"] * 10, dtype=object),
        "y": np.array(["yes", "no", "yes", "no", "?", "no"] * 10, dtype=object),
        "w": [1.5, 1, 1, 1, 1, -99] * 10,
        "p": SCORES,
    }
    data = stored(columns, kind, tmp_path)
    words = ["NA", "?", "-", "-99"]
    found = audit(data, label="y", weight="w", missing=words)
    assert groups(found) == {"x=DE": 10, "x=FR": 0}
    assert found.settings.left == {"label": 10, "weight": 10}
    assert found.settings.missing == {"x": 30}


@every_kind
def test_missing_labels_among_text_are_explained(kind, tmp_path):
    y = np.array(["yes", "no", "NA"] * 20, dtype=object)
    data = stored({"p": SCORES, "x": ["a", "b"] * 30, "y": y}, kind, tmp_path)
    with pytest.raises(RangeError, match=r"If 'NA' means a missing .*--missing NA"):
        audit(data, label="y")
    assert audit(data, label="y", missing=["NA"]).settings.left == {"label": 20}


def test_a_single_word_may_be_named_without_a_list(tmp_path):
    data = stored({"p": SCORES, "x": ["a", "b", "NA"] * 20}, "frame", tmp_path)
    assert groups(audit(data, missing="NA")) == {"x=a": 20, "x=b": 20}


def test_command_takes_words_for_missing_values(tmp_path):
    path = stored({"p": SCORES, "x": ["a", "?", "NA"] * 20}, "csv", tmp_path)
    options = ["--score", "p", "--sensitive", "x", "--missing", "NA", "--missing", "?"]
    result = CliRunner().invoke(app, ["audit", str(path), *options])
    assert "40 rows have no x and are in none of its groups" in result.stdout
