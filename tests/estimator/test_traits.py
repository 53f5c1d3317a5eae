"""Sensitive features in any form become memberships with names."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fairret.errors import RangeError, ShapeError
from fairret.estimator.traits import (
    as_table,
    check_rows,
    drop_columns,
    fit_traits,
    read_traits,
    take_columns,
    warn_of_strangers,
)
from fairret.sensitive import Binned, Categorical, Intersection

SEX = ["f", "m", "m", "f", "m"]
AGE = [20, 40, 60, 30, 50]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (pd.DataFrame({"sex": SEX, "age": AGE}), ["sex", "age"]),
        (pl.DataFrame({"sex": SEX, "age": AGE}), ["sex", "age"]),
        ({"sex": SEX}, ["sex"]),
        (pd.Series(SEX, name="sex"), ["sex"]),
        (pl.Series("sex", SEX), ["sex"]),
        (pd.Series(SEX), ["sensitive"]),
        (SEX, ["sensitive"]),
        (np.array(SEX), ["sensitive"]),
        (np.array([SEX]).T, ["sensitive"]),
        (np.array([SEX, SEX]).T, ["sensitive 0", "sensitive 1"]),
    ],
)
def test_every_form_is_a_table(given, names):
    table = as_table(given)
    assert list(table) == names
    assert list(table[names[0]]) == SEX


def test_missing_trait_is_unknown_and_leaves_the_others():
    sex = ["f", None, "m", "f", "m"]
    traits = fit_traits(None, {"sex": sex, "race": ["a", "b", "a", "b", "b"]}, 5)
    assert traits.names == ("sex=f", "sex=m", "race=a", "race=b")
    assert traits.columns == {"sex": (0, 1), "race": (2, 3)}
    np.testing.assert_array_equal(traits.sens[1], [np.nan, np.nan, 0, 1])
    np.testing.assert_array_equal(traits.sens[0], [1, 0, 1, 0])


def test_traits_may_be_cut_and_crossed():
    listed = [Binned("age", edges=[35]), Intersection("sex", Binned("age", [35]))]
    traits = fit_traits(listed, {"sex": SEX, "age": AGE}, 5)
    assert traits.names[:2] == ("age<35", "age>=35")
    assert traits.sens.shape == (5, 4)


def test_unseen_group_is_in_no_group():
    traits = fit_traits(None, {"sex": SEX}, 5)
    new = read_traits(traits.encoder, {"sex": ["x", "m", None]}, 3)
    np.testing.assert_array_equal(new, [[0, 0], [0, 1], [np.nan, np.nan]])


def test_group_that_the_fit_did_not_have_is_warned_of():
    traits = fit_traits(None, {"sex": SEX}, 5)
    known = read_traits(traits.encoder, {"sex": ["m", None]}, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_strangers(None, traits.encoder, known, stacklevel=1)
    new = read_traits(traits.encoder, {"sex": ["F", "m", "x"]}, 3)
    words = r"^2 of 3 people have a 'sex' that the fit did not .*'sex=f', 'sex=m'"
    with pytest.warns(UserWarning, match=words):
        warn_of_strangers(None, traits.encoder, new, stacklevel=1)


def test_trait_that_nobody_has_is_warned_of():
    traits = fit_traits(None, {"sex": SEX, "age": SEX}, 5)
    new = read_traits(traits.encoder, {"sex": [None] * 3, "age": ["f", "m", None]}, 3)
    with pytest.warns(UserWarning, match=r"^None of the 3 people has a 'sex'"):
        warn_of_strangers(None, traits.encoder, new, stacklevel=1)


def test_value_outside_named_categories_is_not_warned_of():
    sensitive = [Categorical("sex", categories=["f", "m"])]
    traits = fit_traits(sensitive, {"sex": ["f", "m", "x", "f", "m"]}, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_strangers(sensitive, traits.encoder, traits.sens, stacklevel=1)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_of_traits_leave_the_features(make):
    X = make({"sex": SEX, "age": AGE, "income": [1, 2, 3, 4, 5]})
    assert list(take_columns(X, ["sex"])["sex"]) == SEX
    assert list(drop_columns(X, ["sex"]).columns) == ["age", "income"]
    assert list(take_columns(X, [-1])[-1]) == [1, 2, 3, 4, 5]
    assert list(drop_columns(X, [-1]).columns) == ["sex", "age"]


def test_columns_of_an_array_have_numbers():
    X = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(take_columns(X, [1])[1], X[:, 1])
    np.testing.assert_array_equal(drop_columns(X, [1, -1]), X[:, :1])
    with pytest.raises(RangeError, match="from 0 to 2, because `X` is an array"):
        take_columns(X, ["sex"])
    with pytest.raises(RangeError, match="besides the 3 column"):
        drop_columns(X, [0, 1, 2])


def test_bad_traits_are_refused():
    with pytest.raises(RangeError, match="two groups to compare; got one group"):
        fit_traits(None, {"sex": ["f"] * 4}, 4)
    with pytest.raises(ShapeError, match="must have 4 rows, as many as `X`; got 5"):
        fit_traits(None, {"sex": SEX}, 4)
    with pytest.raises(RangeError, match=r"'sx', which does not exist.*mean 'sex'"):
        fit_traits("sx", {"sex": SEX}, 5)
    with pytest.raises(RangeError, match=r"'sx', which does not exist.*mean 'sex'"):
        take_columns(pd.DataFrame({"sex": SEX}), ["sx"])
    traits = fit_traits(None, {"sex": SEX}, 5)
    with pytest.raises(ShapeError, match="must have 2 rows"):
        read_traits(traits.encoder, {"sex": SEX}, 2)


def test_columns_of_a_mapping_have_the_order_of_the_features():
    X = pd.DataFrame({"age": AGE})
    sex = pd.Series(SEX)
    check_rows(X, {"sex": sex, "race": SEX})
    with pytest.raises(RangeError, match="in another order"):
        check_rows(X, {"race": SEX, "sex": sex[::-1]})
