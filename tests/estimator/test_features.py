"""Tables become numbers, whatever library they come from."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from fairret.errors import DtypeError, RangeError
from fairret.estimator.features import Standardiser, TableEncoder

COLUMNS = {
    "age": [20.0, None, 60.0, 35.0],
    "job": ["cook", "clerk", None, "cook"],
    "owner": [True, False, False, True],
}
EXPECTED = [[20, 0, 1, 1], [np.nan, 1, 0, 0], [60, 0, 0, 0], [35, 0, 1, 1]]


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        lambda x: pd.DataFrame(x).astype({"job": "category"}),
        lambda x: pd.DataFrame(x).convert_dtypes(),
        lambda x: pd.DataFrame(x).convert_dtypes(dtype_backend="pyarrow"),
        lambda x: pd.DataFrame(x).to_numpy(),
    ],
    ids=["pandas", "polars", "category", "nullable", "pyarrow", "objects"],
)
def test_amounts_stay_and_categories_become_columns(make):
    encoder = TableEncoder()
    np.testing.assert_array_equal(encoder.fit_transform(make(COLUMNS)), EXPECTED)
    assert [name.split("=")[-1] for name in encoder.names_[1:3]] == ["clerk", "cook"]


def test_numbers_are_taken_as_they_are():
    x = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(TableEncoder().fit_transform(x), x)
    assert TableEncoder().fit_transform(x).dtype == np.float64


def test_unseen_category_has_zeros():
    encoder = TableEncoder().fit(pd.DataFrame({"job": ["cook", "clerk"]}))
    new = encoder.transform(pd.DataFrame({"job": ["pilot", "cook"]}))
    np.testing.assert_array_equal(new, [[0, 0], [0, 1]])


def test_most_frequent_categories_have_columns():
    frame = pd.DataFrame({"town": ["a", "b", "b", "c", "c", "c", "d"]})
    encoder = TableEncoder(max_categories=2).fit(frame)
    assert encoder.names_ == ("town=b", "town=c")


def test_numbers_must_stay_numbers():
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1.5, 2.5]}))
    with pytest.raises(RangeError, match="Column 'age' of `X` must hold numbers"):
        encoder.transform(pd.DataFrame({"age": ["old", "young"]}))


def test_what_is_no_number_and_no_category_is_refused():
    with pytest.raises(DtypeError, match="got a sparse one"):
        TableEncoder().fit(csr_array(np.eye(3)))
    dates = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    with pytest.raises(DtypeError, match="Convert it to numbers"):
        TableEncoder().fit(dates)
    for X in (np.array([[1.0], [np.inf]]), pd.DataFrame({"x": [1.0, np.inf]})):
        with pytest.raises(ValueError, match="infinity"):
            TableEncoder().fit_transform(X)


def test_scale_is_that_of_known_values_and_gaps_are_marked():
    x = np.array([[1.0, 0, 5], [3.0, 1, np.nan], [5.0, 1, 9], [7.0, 0, 9]])
    scaled = Standardiser().fit(x).transform(x)
    assert scaled.shape == (4, 4)
    np.testing.assert_allclose(scaled[:, 0].mean(), 0, atol=1e-7)  # float32
    np.testing.assert_allclose(scaled[:, 0].std(), 1, rtol=1e-6)
    np.testing.assert_array_equal(scaled[:, 1], x[:, 1])  # a yes or no
    assert scaled[1, 2] == scaled[2, 2]  # 9, the median
    np.testing.assert_array_equal(scaled[:, 3], [0, 1, 0, 0])


def test_scale_counts_weights_like_repeated_rows():
    x = np.array([[1.0], [2.0], [6.0]])
    times = np.array([3, 0, 2])
    weighted = Standardiser().fit(x, times.astype(float))
    repeated = Standardiser().fit(np.repeat(x, times, axis=0))
    np.testing.assert_allclose(weighted.mean_, repeated.mean_)
    np.testing.assert_allclose(weighted.scale_, repeated.scale_)
    assert weighted.median_ == repeated.median_ == 1


def test_outliers_are_clipped():
    x = np.append(np.zeros(9_999), 1e9)[:, None]
    assert Standardiser().fit(x).transform(x).max() == 10


def test_missing_category_may_have_its_own_column():
    frame = pd.DataFrame({"job": ["cook", None, "clerk"], "town": ["a", "b", "b"]})
    encoder = TableEncoder(missing=True).fit(frame)
    assert encoder.names_ == (
        "job=clerk",
        "job=cook",
        "job missing",
        "town=a",
        "town=b",
    )
    new = pd.DataFrame({"job": ["pilot", None], "town": [None, "a"]})
    expected = [[0, 0, 0, 0, 0], [0, 0, 1, 1, 0]]
    np.testing.assert_array_equal(encoder.transform(new), expected)


def test_column_of_unknown_values_is_warned_of():
    known = pd.DataFrame({"job": ["clerk", "cook", None]})
    encoder = TableEncoder().fit(known)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(pd.DataFrame({"job": ["cook", "smith", None]}))
        encoder.transform(pd.DataFrame({"job": [None, None]}))
    with pytest.warns(UserWarning, match="No value of column 'job' .*'CLERK'"):
        encoder.transform(known.assign(job=known["job"].str.upper()))
