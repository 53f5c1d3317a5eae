"""Decisions in the words of the labels, as `fairret predict` writes them."""

import numpy as np
import pandas as pd
import pytest

import fairret
from fairret.auditing import files
from fairret.errors import DtypeError, RangeError

N = 240
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], N),
        "yes": RNG.random(N) < 0.4,
        "y": RNG.random(N) < 0.6,
    }
)
OPTIONS = {"score": "yes", "label": "y", "sensitive": "sex", "notions": ["pr", "tpr"]}


def coded(yes, no, columns=("yes", "y")):
    return FRAME.assign(**{c: np.where(FRAME[c], yes, no) for c in columns})


@pytest.fixture(scope="module")
def expected():
    return str(fairret.audit(coded(1, 0), **OPTIONS))


@pytest.mark.parametrize(
    ("yes", "no", "positive"),
    [
        ("approved", "declined", "approved"),
        ("no loan", "a loan", "no loan"),  # the word decides, not the order
        (1, 2, 1),
        (1, 2, "1"),
        (2, 1, 2),
        ("yes", "no", None),
        ("True", "False", None),
    ],
)
def test_words_are_read_like_numbers(yes, no, positive, expected, tmp_path):
    frame = coded(yes, no)
    assert str(fairret.audit(frame, positive=positive, **OPTIONS)) == expected
    frame.to_csv(tmp_path / "d.csv", index=False)
    found = fairret.audit(tmp_path / "d.csv", positive=positive, **OPTIONS)
    assert str(found) == expected
    assert found.settings.models[0].hard


def test_first_word_may_be_far_below_the_header(tmp_path, monkeypatch, expected):
    monkeypatch.setattr(files, "BLOCK", 400)
    frame = coded("1", "0").astype({"yes": object})
    frame.loc[frame.index[::-1][:40], "yes"] = frame["yes"].map({"1": "yes", "0": "no"})
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert str(fairret.audit(tmp_path / "d.csv", **OPTIONS)) == expected


def test_missing_decisions_are_left_out():
    frame = coded("approved", "declined")
    frame.loc[:4, "yes"] = None
    found = fairret.audit(frame, positive="approved", **OPTIONS)
    assert found.settings.left == {"score": 5}


@pytest.mark.parametrize(
    ("decisions", "positive", "error", "said"),
    [
        (["approved", "declined"], None, DtypeError, "approved.*`--positive VALUE`"),
        (["approved", "declined"], "Approved", RangeError, "does not have 'Approved'"),
        (["0.3", "0.7", "oops"], "oops", DtypeError, "must hold numbers"),
        (["0.3", "0.7", "oops"], None, DtypeError, "must hold numbers"),
        ([f"word {k}" for k in range(30)], "word 1", DtypeError, "must hold numbers"),
        (list(range(30)), 1, RangeError, "must lie in .0, 1.; column 'd'"),
        ([1, 2], None, RangeError, "must lie in .0, 1.; column 'd'"),
    ],
)
def test_what_is_no_column_of_decisions_is_refused(
    decisions, positive, error, said, tmp_path
):
    sex = ["f", "m"] * len(decisions)
    frame = pd.DataFrame({"sex": sex, "d": decisions * 2})
    frame.to_csv(tmp_path / "d.csv", index=False)
    for data in (frame, tmp_path / "d.csv"):
        with pytest.raises(error, match=said):
            fairret.audit(data, score="d", sensitive="sex", positive=positive)


def test_numbers_are_not_turned_around_without_a_note():
    found = fairret.audit(coded(1, 0), positive=0, **OPTIONS)
    assert found.notes[0].startswith("Column 'yes' holds 0 and 1. A decision of 1 is")
    assert fairret.audit(coded(1, 0), **OPTIONS).notes == []
