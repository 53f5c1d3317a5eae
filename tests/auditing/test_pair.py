"""Two models on the same rows: two columns of a table, or two tables."""

import numpy as np
import pandas as pd
import pytest

import fairret
from cell_loops import keys, read
from fairret.auditing import files, source
from fairret.errors import ArgumentError, NameNotFoundError, RangeError, ShapeError
from people import people

N = 211
SENSITIVE = ["sex", "race", "age"]


def two_models(seed=0):
    """A table whose label and traits have holes, in types that files may change."""
    frame = people(N, seed=seed)
    frame["q"] = np.random.default_rng(seed).beta(1, 2, N)
    frame["y"] = frame["y"].astype(float)
    frame.loc[3:5, "p"] = np.nan
    frame.loc[5:8, "q"] = np.nan
    frame.loc[9:10, "y"] = np.nan
    frame.loc[20:22, "sex"] = None
    frame.loc[30:32, "age"] = np.nan
    return frame


def stored(frame, kind, folder):
    name = f"{'-'.join(frame.columns)}.{kind}"
    if kind == "csv":
        frame.to_csv(folder / name, index=False)
    elif kind == "parquet":
        frame.to_parquet(folder / name, row_group_size=50)
    return frame if kind == "frame" else folder / name


def assert_same_cells(found, expected):
    assert sorted(map(str, keys(found))) == sorted(map(str, keys(expected)))
    by_key = [
        {key: (k, table.sums) for k, key in enumerate(keys(table))}
        for table in (found, expected)
    ]
    for key, (k, sums) in by_key[0].items():
        j, others = by_key[1][key]
        for part in ("rows", "first", "second", "cross", "histogram"):
            np.testing.assert_allclose(
                getattr(sums, part)[k], getattr(others, part)[j], rtol=1e-12, atol=1e-14
            )
    assert vars(found.left) == vars(expected.left)


@pytest.mark.parametrize("kinds", ["csv frame", "frame parquet", "parquet csv"])
def test_two_tables_equal_one_with_both_scores(kinds, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "ROWS", 37)
    monkeypatch.setattr(files, "BLOCK", 1 << 10)
    frame = two_models()
    one, other = kinds.split()
    data = (
        stored(frame.drop(columns="q"), one, tmp_path),
        stored(frame.drop(columns="p").rename(columns={"q": "p"}), other, tmp_path),
    )
    shares = []
    options = {"weight": "w", "threshold": [0.5, 0.2]}
    found, sources = read(data, SENSITIVE, tick=shares.append, **options)
    expected, _ = read(frame, SENSITIVE, score=["p", "q"], **options)
    assert_same_cells(found, expected)
    assert found.left.score == 6
    assert found.left.label == 2
    assert len(sources) == 2
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_each_table_may_name_its_score(tmp_path):
    frame = two_models(seed=1)
    data = [frame.drop(columns="q"), stored(frame.drop(columns="p"), "csv", tmp_path)]
    found, _ = read(data, ["sex"], score=("p", "q"))
    expected, _ = read(frame, ["sex"], score=("p", "q"))
    assert_same_cells(found, expected)


def test_scores_may_have_different_precisions():
    frame = pd.DataFrame({"sex": list("ffmmm"), "p": [0.3, 0.3, 0.4, 0.3, 0.1]})
    frame["q"] = frame["p"].astype(np.float32)
    table, _ = read(frame, ["sex"], label=None, score=["q", "p"], threshold=0.3)
    decisions = table.sums.first[:, :, 1, 1].sum(0)
    assert decisions.tolist() == [1, 1]


FRAME = people(N)


def changed(column, row, value):
    frame = FRAME.copy()
    frame[column] = frame[column].astype(object)
    frame.loc[row, column] = value
    return frame


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (
            changed("sex", 150, "x"),
            RangeError,
            r"in row 151, column 'sex' is '[fm]' in `data\[0\]` and 'x' in `data\[1\]`",
        ),
        (changed("y", 7, 5), RangeError, r"in row 8, column 'y' is [01].* and 5 in"),
        (changed("age", 99, None), RangeError, "in row 100, column 'age' .* missing"),
        (FRAME[:200], ShapeError, "has 200 rows and .* has more. Join the two"),
        (pd.concat([FRAME, FRAME]), ShapeError, "has 211 rows and .* has more. Join"),
        (FRAME.drop(columns="race"), NameNotFoundError, "`sensitive` must name a"),
    ],
)
def test_tables_must_have_the_same_rows(other, error, message, monkeypatch):
    monkeypatch.setattr(source, "ROWS", 60)
    with pytest.raises(error, match=message):
        fairret.audit((FRAME, other), score="p", label="y", sensitive=SENSITIVE)


def test_files_of_one_name_are_told_apart(tmp_path):
    paths = [tmp_path / "a" / "p.csv", tmp_path / "b" / "p.csv"]
    for path, frame in zip(paths, (FRAME, changed("sex", 4, "x")), strict=True):
        path.parent.mkdir()
        frame.to_csv(path, index=False)
    with pytest.raises(RangeError, match=r"row 5, .* in .*a.p.csv and .*b.p.csv"):
        fairret.audit(paths, score="p", label="y", sensitive="sex")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": ["p", "w", "age"]}, "one column, or two to compare.*got 3"),
        ({"score": []}, "one column, or two to compare.*got 0"),
        ({"score": ["p", "p"]}, "two different columns of a table; got 'p' twice"),
        ({"threshold": [0.5, 0.4]}, "each of the 1 scores; got 2"),
        ({"score": ["p", "sex"]}, "`score` and `sensitive` must be different"),
    ],
)
def test_scores_and_thresholds_must_match(change, message):
    options = {"score": "p", "label": "y", "sensitive": "sex", **change}
    with pytest.raises(ArgumentError, match=message):
        fairret.audit(FRAME, **options)


def test_threshold_of_each_model_must_be_a_share():
    with pytest.raises(RangeError, match="`threshold` must be between 0 and 1"):
        fairret.audit(FRAME, score=["p", "w"], sensitive="sex", threshold=(0.5, 1.5))
