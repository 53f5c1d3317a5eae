"""Two classes of any type, and weights of rows."""

import numpy as np
import pandas as pd
import pytest

from estimator.conftest import quick
from fairret.errors import RangeError
from fairret.estimator.labels import read_labels, read_weights


@pytest.mark.parametrize(
    ("y", "binary"),
    [
        ([0, 1, 1], [0, 1, 1]),
        ([2, -1, 2], [1, 0, 1]),
        (["no", "yes", "no"], [0, 1, 0]),
        (pd.Series(["bad", "good", "bad"]), [0, 1, 0]),
        ([True, False, True], [1, 0, 1]),
    ],
)
def test_larger_label_is_a_yes(y, binary):
    np.testing.assert_array_equal(read_labels(y).binary, binary)


def test_label_that_is_a_yes_can_be_named():
    labels = read_labels(["accept", "reject", "accept"], "accept")
    np.testing.assert_array_equal(labels.binary, [1, 0, 1])
    assert list(labels.classes) == ["accept", "reject"]


@pytest.mark.parametrize(
    ("y", "pos_label", "said"),
    [
        (None, None, "requires y to be passed"),
        ([0, 1, 2], None, "Only binary classification is supported.*multiclass"),
        ([0.1, 0.7, 0.3], None, "Only binary classification.*continuous"),
        ([1, 1], None, "must have two classes; got one class, 1, in 2 rows"),
        ([0, 1, np.nan], None, "Input y contains NaN"),
        ([0, 1], "yes", "`pos_label` must be one of the labels, 0, 1; got 'yes'"),
    ],
)
def test_other_labels_are_refused(y, pos_label, said):
    with pytest.raises(ValueError, match=said):
        read_labels(y, pos_label)


def test_weights_are_one_by_default():
    np.testing.assert_array_equal(read_weights(None, read_labels([0, 1, 1])), [1, 1, 1])


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ([1, 2], r"shape \(3,\), one number per row; got \(2,\)"),
        ([[1], [2], [1]], "one number per row"),
        ([1, -1, 1], "finite and at least 0"),
        ([1, np.nan, 1], "finite and at least 0"),
        ([0, 0, 0], "must not be zero in all rows"),
        ([0, 1, 1], "rows of two classes; got positive weights for the class 1"),
    ],
)
def test_bad_weights_are_refused(weight, said):
    with pytest.raises(RangeError, match=said):
        read_weights(weight, read_labels([0, 1, 1]))


def test_report_names_a_yes_that_is_not_spelled_like_one(people):
    y = np.where(people.y == "yes", "Y", "not")
    found = quick(max_violation=0.3, informed=True)
    found.fit(people.X, y, sensitive_features=people.S)
    assert found.report_.startswith("A yes is 'not'.\nThe tolerance")
    found.fit(people.X, people.y, sensitive_features=people.S)
    assert found.report_.startswith("The tolerance")


@pytest.mark.parametrize(
    "y",
    [
        np.array([True, False, True], dtype=object),
        pd.Series([True, False, True], dtype="boolean"),
        pd.Series([True, False, True], dtype=object),
    ],
    ids=["object", "nullable", "series of objects"],
)
def test_true_and_false_are_labels_in_any_form(y):
    labels = read_labels(y)
    assert labels.classes.dtype == bool
    np.testing.assert_array_equal(labels.binary, [1, 0, 1])


def test_missing_truth_is_refused():
    with pytest.raises(RangeError, match="got none in 1 of 3 rows"):
        read_labels(pd.Series([True, None, False], dtype="boolean"))
