"""`SensitiveEncoder` and `fairret.audit` tell amounts from codes by the same rule."""

import numpy as np
import pandas as pd
import pytest
import torch

import fairret
from fairret.sensitive import SensitiveEncoder
from fairret.sensitive.coded import MOST_CODES

N = 840  # divided by 2, 3, 12, 20 and 21
ROW = np.arange(N)


def texts(distinct):
    return [str(k) for k in ROW % distinct]


AMOUNTS = {
    "21 integers": ROW % 21,
    "21 whole floats": (ROW % 21).astype(float),
    "21 fractions": ROW % 21 / 8,
    "21 integers in a list": (ROW % 21).tolist(),
    "21 integers in a tensor": torch.arange(N) % 21,
    "21 integers and a gap": pd.array([None, *(ROW % 21)[1:]], dtype="Int64"),
    "21 fractions and a gap": np.where(ROW == 0, np.nan, ROW % 21 / 8),
    "840 floats": np.random.default_rng(0).normal(size=N),
}
CODES = {
    "2 integers": ROW % 2,
    "3 integers": ROW % 3,
    "12 integers": ROW % 12,
    "20 integers": ROW % 20,
    "20 integers and a gap": np.where(ROW == 0, np.nan, ROW % 20),
    "12 fractions": ROW % 12 / 8,
    "2 standardised values": np.where(ROW % 2, 1.25, -0.75),
    "booleans": ROW % 2 == 0,
    "12 numerals": texts(12),
    "21 numerals": texts(21),
    "21 numerals in a pandas column": pd.Series(texts(21), dtype="string"),
    "21 words": [f"w{k % 21}" for k in ROW],
    "21 declared integers": pd.Categorical(ROW % 21, categories=range(20, -1, -1)),
}
SHARED = {**AMOUNTS, **CODES}


def by_encoder(values):
    encoder = SensitiveEncoder("x").fit({"x": values})
    return None if encoder.names == ("x",) else encoder.names  # one column: an amount


def by_audit(data):
    found = fairret.audit(data, score="p", sensitive="x", notions=["pr"])
    names = found.results["pr"].decisions.names
    return None if any("<" in name for name in names) else names


def table(values):
    return {"x": values, "p": np.linspace(0, 1, N)}


def test_the_limit_is_what_the_documentation_says():
    assert MOST_CODES == 20


@pytest.mark.parametrize("name", AMOUNTS)
def test_more_than_twenty_distinct_numbers_are_an_amount(name):
    assert by_encoder(AMOUNTS[name]) is None
    assert by_audit(table(AMOUNTS[name])) is None


@pytest.mark.parametrize("name", CODES)
def test_all_else_are_categories_with_the_same_names_in_the_same_order(name):
    names = by_encoder(CODES[name])
    assert names is not None
    assert by_audit(table(CODES[name])) == names


@pytest.mark.parametrize("name", SHARED)
def test_a_parquet_file_is_read_like_a_frame(name, tmp_path):
    values = SHARED[name]
    frame = pd.DataFrame(table(values.numpy() if "tensor" in name else values))
    frame.to_parquet(tmp_path / "people.parquet")
    expected = by_encoder(values)
    if "declared" in name:  # the file has the categories, not their order
        expected = expected[::-1]
    assert by_audit(tmp_path / "people.parquet") == expected


@pytest.mark.parametrize("name", SHARED)
def test_a_csv_file_has_no_types_so_numerals_are_numbers(name, tmp_path):
    values = SHARED[name]
    frame = pd.DataFrame(table(values.numpy() if "tensor" in name else values))
    frame.to_csv(tmp_path / "people.csv", index=False)
    expected = by_encoder(values)
    if "numerals" in name or "declared" in name:
        expected = by_encoder(pd.to_numeric(frame["x"].astype(str)))
    found = by_audit(tmp_path / "people.csv")
    if name == "12 fractions":  # 1.0 beside 1.125
        found = tuple(x.removesuffix(".0") for x in found)
    assert found == expected


def test_categories_of_text_may_be_many_up_to_the_limit():
    data = table([f"{k % 101}" for k in ROW])
    with pytest.raises(fairret.errors.RangeError, match="at most 100 categories"):
        by_audit(data)
    found = fairret.audit(
        data, score="p", sensitive="x", notions=["pr"], max_categories=101
    )
    assert len(found.results["pr"].decisions.names) == 101


def test_whole_numbers_that_float64_would_merge_are_codes(tmp_path):
    """2^53 and 2^53 + 1 are one float64; as two groups they differ by 90 points."""
    group = np.arange(200) % 2
    table = pd.DataFrame({"p": 0.9 * group + 0.05, "c": group + 2**53})
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    for data in (table, dict(table), tmp_path / "t.parquet", tmp_path / "t.csv"):
        audit = fairret.audit(data, score="p", sensitive="c", notions=["pr"])
        groups = audit.results["pr"].decisions.groups
        assert [g for g in groups if g != "everybody"] == [
            "c=9007199254740992",
            "c=9007199254740993",
        ]


def test_whole_numbers_declared_as_categories_stay_so_in_parquet(tmp_path):
    table = pd.DataFrame(
        {"p": np.linspace(0, 1, 210), "c": pd.Categorical(np.arange(210) % 21)}
    )
    table.to_parquet(tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet"):
        audit = fairret.audit(data, score="p", sensitive="c", notions=["pr"])
        assert len(audit.results["pr"].decisions.names) == 21
