"""What `fairret.sensitive` refuses, and what it says then."""

import numpy as np
import pandas as pd
import pytest

from fairret.errors import (
    ArgumentError,
    DtypeError,
    FairretError,
    NameNotFoundError,
    RangeError,
    ShapeError,
)
from fairret.sensitive import (
    Binned,
    Categorical,
    Continuous,
    Intersection,
    NotFittedError,
    SensitiveEncoder,
    Soft,
)

WRONG_ARGUMENTS = {
    "no trait": (lambda: SensitiveEncoder([]), ArgumentError, "empty list"),
    "number": (lambda: SensitiveEncoder(3.5), DtypeError, "`column` .* got 3.5"),
    "none": (lambda: SensitiveEncoder(["x", None]), DtypeError, "`column` .* got None"),
    "unseen": (
        lambda: SensitiveEncoder("x", unseen="drop"),
        RangeError,
        "`unseen` .* got 'drop'",
    ),
    "no categories": (
        lambda: SensitiveEncoder("x", max_categories=0),
        RangeError,
        "`max_categories` .* got 0",
    ),
    "categories in a text": (
        lambda: Categorical("x", categories="fm"),
        DtypeError,
        "`categories` .* got the text 'fm'",
    ),
    "category twice": (
        lambda: Categorical("x", categories=["f", "m", "f"]),
        RangeError,
        "none twice; got",
    ),
    "missing category": (
        lambda: Categorical("x", categories=["f", None]),
        RangeError,
        "none missing",
    ),
    "category that is a list": (
        lambda: Categorical("x", categories=[["f"]]),
        DtypeError,
        "cannot be a key",
    ),
    "range": (
        lambda: Continuous("x", low=3, high=1),
        RangeError,
        "low < high; got low=3 and high=1",
    ),
    "range in a text": (
        lambda: Continuous("x", low="3"),
        RangeError,
        "finite numbers .* low='3'",
    ),
    "no edges": (lambda: Binned("x", []), RangeError, "at least one"),
    "edges": (lambda: Binned("x", [50, 30]), RangeError, r"increase.* got \[50, 30\]"),
    "infinite edge": (lambda: Binned("x", [1, np.inf]), RangeError, "finite"),
    "label in a text": (
        lambda: Binned("x", [30], labels="no"),
        DtypeError,
        "`labels` must be a list of 2 names; got the text 'no'",
    ),
    "labels": (
        lambda: Binned("x", [30, 50], labels=["young", "old"]),
        RangeError,
        "`labels` must be 3 different names",
    ),
    "label twice": (
        lambda: Binned("x", [30], labels=["old", "old"]),
        RangeError,
        "`labels` must be 2 different names",
    ),
    "no soft": (lambda: Soft(), ArgumentError, "at least one column of memberships"),
    "one trait crossed": (lambda: Intersection("x"), ArgumentError, "two traits"),
    "trait crossed with itself": (
        lambda: Intersection("x", Binned("x", [3])),
        ArgumentError,
        "no column in common",
    ),
    "crossed twice": (
        lambda: Intersection("x", Intersection("y", "z")),
        DtypeError,
        "single intersection",
    ),
    "size": (
        lambda: Intersection("x", "y", min_size=0),
        RangeError,
        "`min_size` must be a positive number; got 0",
    ),
}


@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_wrong_arguments_are_named_at_once(case):
    build, error, message = WRONG_ARGUMENTS[case]
    with pytest.raises(error, match=message):
        build()


LETTERS = [f"{letter}{i}" for letter in "tuv" for i in range(400)]
TWO = {"x": ["t", "u", "t"], "y": ["v", "v", "w"]}

WRONG_DATA = {
    "infinite amount": ("x", [*range(21), np.inf], RangeError, "got inf in row 21"),
    "dates": ("x", pd.to_datetime(["2020-02-01"]), DtypeError, "by its name alone"),
    "nothing": ("x", [None, np.nan], RangeError, "2 rows, all missing"),
    "no amount": (Continuous("x"), [np.nan], RangeError, "1 rows, all missing"),
    "no bin": (Binned("x", [3]), [None], RangeError, "all missing"),
    "no membership": (Soft("x"), [None], RangeError, "all missing"),
    "no rows": ("x", [], ShapeError, "at least one row"),
    "no columns": (None, {}, ShapeError, "at least one column"),
    "identifier": (
        "x",
        LETTERS,
        RangeError,
        "at most 1000 categories .* got 1200 in 1200 rows. It may be an identifier",
    ),
    "misspelt column": (
        "sexx",
        {"sex": ["f"], "race": ["w"]},
        NameNotFoundError,
        "column 'sexx' .* got 'sex', 'race'. Did you mean 'sex'?",
    ),
    "other column": ("x", {"sex": ["f"]}, NameNotFoundError, "Add it"),
    "series of another name": (
        "gender",
        pd.Series(["f"], name="sex"),
        NameNotFoundError,
        "'gender' .* got 'sex'",
    ),
    "two columns of a name": (
        "x",
        pd.DataFrame([["t", "u"]], columns=["x", "x"]),
        RangeError,
        "got 2 columns named 'x'",
    ),
    "name": (None, {("x", "y"): ["t"]}, DtypeError, r"names; got \('x', 'y'\)"),
    "lengths": (
        None,
        {"x": ["t", "u"], "y": ["t", "u", "v"]},
        ShapeError,
        "got 2 rows in 'x' and 3 in 'y'",
    ),
    "bare array for two": (["x", "y"], ["t", "u"], ShapeError, "got a bare list"),
    "matrix": ("x", np.zeros((5, 2)), ShapeError, r"got \(5, 2\)"),
    "one text": ("x", {"x": "female"}, DtypeError, "got str"),
    "lists": ("x", [["t"], ["u"]], DtypeError, "unhashable type"),
    "numerals": (Continuous("x"), ["1", "2"], DtypeError, "must hold numbers"),
    "text in bins": (Binned("x", [3]), ["t"], DtypeError, "got 't'"),
    "text as membership": (Soft("x"), [0.5, "t"], DtypeError, "got 't'"),
    "infinite": (Continuous("x"), [1, 2, -np.inf], RangeError, "got -inf in row 2"),
    "huge integer": (Continuous("x"), [1, 10**400], RangeError, "got inf in row 1"),
    "wide": (Continuous("x"), [-1.7e308, 1.7e308], RangeError, "float64 can hold"),
    "below the range": (Continuous("x", low=9), [1, 2], RangeError, "above `low`"),
    "membership": (
        Soft("x"),
        [0.5, 1.5, 2],
        RangeError,
        r"\[0, 1\]; got 1.5 in row 1, the first of 2",
    ),
    "other categories": (
        Categorical("x", categories=["F", "M"]),
        ["f", "m"],
        RangeError,
        "`categories` must name a value",
    ),
    "more categories": (
        Categorical("x", categories=["f"]),
        ["f", "m"],
        RangeError,
        "got 'm' too",
    ),
    "trait twice": (
        ["x", Categorical("x")],
        ["t", "u"],
        RangeError,
        "different names; got 'x=t', 'x=u' twice",
    ),
    "values that read the same": ("x", [1, "1"], RangeError, "got 'x=1' twice"),
    "ambiguous": (
        [Continuous("x"), Binned("x", [2]), Intersection("x", "y")],
        {"x": [1, 2, 3], "y": ["t", "u", "t"]},
        ArgumentError,
        r"which trait of 'x' .* Continuous\(.*Binned\(",
    ),
    "small": (
        Intersection("x", "y", min_size=5),
        TWO,
        RangeError,
        "got 0 of `min_size` 5 or more, the largest being 1. Lower",
    ),
    "crossed identifiers": (
        Intersection("x", "y"),
        {"x": LETTERS[:400], "y": LETTERS[400:800]},
        RangeError,
        "at most 100000 combinations; got 160000",
    ),
}


@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data_are_named_with_what_to_do(case):
    traits, data, error, message = WRONG_DATA[case]
    with pytest.raises(error, match=message) as caught:
        SensitiveEncoder(traits).fit(data)
    assert isinstance(caught.value, FairretError)


def test_too_many_intersections_are_refused():
    encoder = SensitiveEncoder(Intersection("x", "y"), max_categories=2)
    with pytest.raises(RangeError, match=r"at most 2 .* got 3 .* Raise `min_size`"):
        encoder.fit(TWO)


def test_an_unseen_category_is_named_with_the_known_ones():
    encoder = SensitiveEncoder("race").fit(["w", "b", "w"])
    message = (
        "Column 'race' .* that is 'b', 'w'; got 'a', 'o' too.*"
        r"`Continuous\('race'\)` for an amount.*`unseen=\"none\"`"
    )
    with pytest.raises(RangeError, match=message):
        encoder.transform(["a", "w", "o", None])


def test_long_lists_are_cut_in_messages():
    encoder = SensitiveEncoder("x").fit(["t"])
    with pytest.raises(RangeError, match="'t9' and 390 more too"):
        encoder.transform(LETTERS[:400])


def test_a_membership_out_of_range_is_found_in_later_rows_too():
    encoder = SensitiveEncoder(Soft("p")).fit([0.5, 1])
    with pytest.raises(RangeError, match=r"got -0\.25 in row 0"):
        encoder.transform([-0.25])


@pytest.mark.parametrize(
    "use",
    [
        lambda encoder: encoder.transform(["t"]),
        lambda encoder: encoder.names,
        lambda encoder: encoder.traits,
        lambda encoder: encoder.dropped,
    ],
)
def test_an_encoder_must_be_fitted_before_use(use):
    with pytest.raises(NotFittedError, match="Call `fit`") as caught:
        use(SensitiveEncoder("x"))
    assert isinstance(caught.value, RuntimeError)
