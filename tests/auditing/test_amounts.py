"""Amounts are cut in bins, and every row falls in the bin that its name says."""

import re

import numpy as np
import pandas as pd
import pytest

import fairret
from fairret.auditing import amounts, files, source
from fairret.auditing.amounts import round_down
from fairret.errors import DtypeError, RangeError
from fairret.sensitive import Binned
from fairret.sensitive.coded import MOST_CODES
from people import assert_same, by_rows, people

N = 4500  # more than MANY, so that numbers are rounded
NOTIONS = ["pr", "fpr"]


def edges_of(audit, column):
    """Read the edges off the groups' names."""
    last = re.compile(rf"{column}<([^=]+)$")
    names = audit.results["pr"].decisions.names
    return [float(found[1]) for found in map(last.search, names) if found]


def assert_in_the_right_bins(audit, frame, column):
    """Compare with rows that are cut at the edges which the names tell."""
    edges = edges_of(audit, column)
    assert edges
    expected = by_rows(frame, [Binned(column, edges)], NOTIONS, threshold=0.5)
    assert_same(audit.results, expected)


def run(data, column="x", **options):
    return fairret.audit(
        data, score="p", label="y", sensitive=column, notions=NOTIONS, **options
    )


AMOUNTS = {
    "around zero": lambda rng: rng.normal(0, 3000, N),
    "shares": lambda rng: rng.random(N),
    "prices with cents": lambda rng: rng.gamma(2, 400, N).round(2),
    "over many decades": lambda rng: 10 ** rng.uniform(-7, 7, N),
    "negative": lambda rng: -rng.lognormal(6, 1, N),
    "years": lambda rng: rng.integers(1931, 2006, N),
    "dates as numbers": lambda rng: (
        rng.integers(1931, 2006, N) * 10_000 + rng.integers(101, 1231, N)
    ),
    "seconds since 1970": lambda rng: rng.integers(10**9, 17 * 10**8, N),
    "close together": lambda rng: 10_000_000 + rng.integers(0, 500, N),
    "tiny": lambda rng: rng.random(N) * 1e-13,
    "huge": lambda rng: rng.normal(0, 1, N) * 1e299,
    "mostly zero": lambda rng: np.where(
        rng.random(N) < 0.9, 0, rng.integers(1, 9000, N)
    ),
}


@pytest.mark.parametrize("name", AMOUNTS)
def test_every_row_is_in_the_bin_that_is_named(name, monkeypatch, tmp_path):
    monkeypatch.setattr(source, "ROWS", 4000)  # 500 are left, few enough to stay exact
    frame = people(N, seed=1)
    frame["x"] = AMOUNTS[name](np.random.default_rng(7))
    data = frame
    if list(AMOUNTS).index(name) % 3:
        data = tmp_path / "people.csv"
        frame.to_csv(data, index=False)
    found = run(data)
    assert_in_the_right_bins(found, frame, "x")
    sizes = found.results["pr"].decisions.count
    if name == "mostly zero":
        assert len(sizes) == 2
    else:
        # Edges are rounded down to two digits or more: a tenth is at most moved.
        assert len(sizes) == 4
        assert (sizes > 0.12 * N).all()
        assert (sizes < 0.4 * N).all()


@pytest.mark.parametrize("digits", [2, 3, 4])
def test_rounding_never_moves_a_number_across_an_edge(digits):
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.integers(-12, 15, 3000)
    edges = round_down(rng.normal(0, 1, 3000) * size, digits)
    below, above = np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)
    assert (round_down(edges, digits) == edges).all()
    assert (round_down(below, digits) < edges).all()
    assert (round_down(above, digits) >= edges).all()
    written = [float(f"{edge:.{digits - 1}e}") for edge in edges]
    assert edges.tolist() == written  # what somebody would type


def test_rounding_keeps_the_ends_of_the_range():
    ends = np.array([0.0, -0.0, 5e-324, -1e-310, 1.5e308, -1.5e308])
    found = round_down(ends, 4)
    assert np.isfinite(found).all()
    assert (found <= ends).all()


def test_rows_exactly_at_an_edge_are_above_it(monkeypatch):
    monkeypatch.setattr(amounts, "MANY", 130)
    frame = people(900, seed=2)
    frame["x"] = np.arange(900) % 300 / 10  # 0.1 has no exact float
    found = run(frame)
    edges = edges_of(found, "x")
    assert frame["x"].isin(edges).sum() == 3 * len(edges)
    assert_in_the_right_bins(found, frame, "x")


@pytest.mark.parametrize("edges", [[50255.55], [50123.456, 50123.457, 50700.0]])
def test_own_bins_may_have_more_digits_than_are_kept(edges):
    frame = people(N, seed=3)
    frame["x"] = np.random.default_rng(3).uniform(50_000, 51_000, N).round(3)
    frame.loc[:1, "x"] = edges[0], np.nextafter(edges[0], 0)
    found = run(frame, bins={"x": edges})
    assert edges_of(found, "x") == edges
    assert_in_the_right_bins(found, frame, "x")


def test_own_bins_may_be_crossed():
    frame = people(N, seed=4)
    options = {"bins": {"age": [38.125]}, "intersections": [("race", "age")]}
    found = run(frame, ["sex"], **options)
    crossed = found.results["pr"].decisions.groups["race=c × age<38.125"]
    assert crossed.count == ((frame["race"] == "c") & (frame["age"] < 38.125)).sum()


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_few_whole_numbers_are_categories_in_their_order(kind, tmp_path):
    frame = people(seed=5)
    frame["x"] = np.arange(211) % 11 * 5 - 10
    data = frame
    if kind == "csv":
        data = tmp_path / "people.csv"
        frame.to_csv(data, index=False)
    names = run(data).results["pr"].decisions.names
    assert names == tuple(f"x={value}" for value in range(-10, 45, 5))


def test_one_number_more_than_a_few_makes_amounts():
    frame = people(seed=6)
    assert (
        len(run(frame.assign(x=np.arange(211) % MOST_CODES)).results["pr"].scores.names)
        > 9
    )
    more = (
        run(frame.assign(x=np.arange(211) % (MOST_CODES + 1)))
        .results["pr"]
        .scores.names
    )
    assert more == ("x<5", "5<=x<10", "10<=x<15", "x>=15")


def test_text_with_underscores_is_not_an_amount(tmp_path):
    frame = people(seed=7)
    frame["x"] = [f"{k % 30}_{k % 30 + 9}" for k in range(211)]
    names = run(frame).results["pr"].decisions.names
    assert len(names) == 30
    assert "x=20_29" in names


def test_missing_amounts_are_in_no_bin():
    frame = people(N, seed=8)
    frame.loc[::7, "age"] = np.nan
    found = run(frame, "age")
    assert found.settings.missing == {"age": len(frame[::7])}
    assert_in_the_right_bins(found, frame, "age")


@pytest.mark.parametrize("trait", ["x", Binned("x", [40, 50.5])])
def test_word_among_amounts_may_be_said_to_be_missing(trait, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 1 << 13)
    frame = people(N, seed=9).rename(columns={"age": "x"})
    frame["x"] = frame["x"].astype(object)
    frame.loc[N - 3, "x"] = "unknown"
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(DtypeError, match=r"Column 'x' .*'unknown'.*--missing"):
        run(tmp_path / "people.csv", trait)
    found = run(tmp_path / "people.csv", trait, missing=["unknown"])
    assert found.settings.missing == {"x": 1}
    frame["x"] = pd.to_numeric(frame["x"], errors="coerce")
    assert_in_the_right_bins(found, frame, "x")


def test_amounts_must_be_finite(tmp_path):
    frame = people(N, seed=10)
    frame.loc[5, "age"] = np.inf
    with pytest.raises(RangeError, match=r"of finite numbers; 'age' has .* inf"):
        run(frame, "age")


def test_a_list_of_amounts_is_read_as_numbers():
    frame = people(N, seed=11)
    assert_same(run(frame.to_dict("list"), "age").results, run(frame, "age").results)


@pytest.mark.parametrize("kind", ["frame", "csv"])
@pytest.mark.parametrize(
    ("make", "noted"),
    [
        (lambda rng: rng.permutation(N) + 70_001, True),
        (lambda rng: np.where(np.arange(N) % 500, np.arange(N), 1), True),  # nearly all
        (lambda rng: rng.permutation(N) / 8, False),  # not whole
        (lambda rng: rng.integers(0, 3 * N, N), False),  # one in seven occurs twice
    ],
    ids=["permuted", "nearly", "fractions", "repeated"],
)
def test_numbers_that_may_be_identifiers_are_noted(make, noted, kind, tmp_path):
    frame = people(N).assign(x=make(np.random.default_rng(5)))
    data = frame
    if kind == "csv":
        data = tmp_path / "data.csv"
        frame.to_csv(data, index=False)
    found = run(data)
    text = "Column 'x' has a different whole number in nearly every row. It may be"
    assert (text in "".join(found.notes)) == noted
    assert (text in "".join(found.to_dict()["notes"])) == noted
    assert not run(data, bins={"x": [N / 2]}).notes  # cut on purpose
