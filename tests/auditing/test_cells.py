"""Cells hold the sums that plain loops find, and are as few as the groups allow."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import torch

import fairret
from cell_loops import keys, loops, read
from fairret.auditing import source, sums
from fairret.auditing.groups import find_groups
from fairret.auditing.measure import Measurable
from fairret.auditing.sums import make_thresholds
from fairret.sensitive import Binned, Continuous
from fairret.statistic import get_statistic
from people import people

N = 211


def two_models(seed=0):
    frame = people(N, seed=seed)
    other = np.random.default_rng(seed).beta(1, 2, N).round(2)
    return frame.assign(q=other.astype(np.float32))


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("score", ["p", ("q", "p")])
def test_sums_equal_plain_loops(score, weight, monkeypatch):
    monkeypatch.setattr(source, "ROWS", 37)
    frame = two_models()
    names = [score] if isinstance(score, str) else list(score)
    limits = [0.42, 0.3][: len(names)]
    options = {"score": score, "weight": weight, "threshold": limits}
    table, _ = read(frame, ["sex", "race"], **options)
    found = table.sums
    thresholds = table.layout.thresholds
    assert thresholds.values == tuple(limits)
    edges = [cuts.edges for cuts in thresholds.cuts]
    if len(names) == 2:
        assert edges[0].tolist() == thresholds.edges.astype(np.float32).tolist()
        limits[0] = float(np.float32(limits[0]))
    assert edges[-1].tolist() == thresholds.edges.tolist()
    frame["one"] = 1.0
    frame["y"] = frame["y"].astype(float)
    for k, key in enumerate(keys(table)):
        own = frame[(frame[["y", "sex", "race"]].astype(str) == list(key)).all(axis=1)]
        assert found.rows[k] == len(own) > 0
        rows = own[[weight or "one", *names]].to_numpy(dtype=float)
        expected = loops(rows, limits, edges)
        # sums in another order
        for part, own_sums in zip(
            ("first", "second", "cross", "histogram"), expected, strict=True
        ):
            np.testing.assert_allclose(
                getattr(found, part)[k], own_sums, rtol=1e-12, atol=1e-14
            )
    assert found.rows.sum() == N


def test_decisions_at_any_edge_follow_from_the_histogram():
    frame = two_models(seed=1)
    table, _ = read(frame, ["sex"], score="q", threshold=0.37)
    histogram = table.sums.histogram.sum(0)[0]
    edges = table.layout.thresholds.edges
    assert 0.37 in edges
    assert {0.001, 0.002, 0.005, 0.01, 0.5, 0.98, 0.99, 0.995, 0.999} <= set(edges)
    for j, edge in enumerate(edges):
        expected = (frame["q"].to_numpy() > np.float32(edge)).sum()
        assert histogram[j + 1 :, 0].sum() == expected


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("values", [[0.5], [0.50001, 0.50002]])
def test_bins_are_found_as_by_searching(dtype, values):
    thresholds = make_thresholds(values, [dtype] * len(values))
    cuts = thresholds.cuts[-1]
    near = np.concatenate([np.nextafter(cuts.edges, side) for side in (0, 1)])
    h = np.concatenate(([0.0, 1.0], near, cuts.edges, np.linspace(0, 1, 999)))
    expected = np.searchsorted(cuts.edges, h, side="left")
    assert (cuts(h) == expected).all()


def test_histograms_are_left_out_where_they_would_not_fit(monkeypatch):
    monkeypatch.setattr(source, "ROWS", 40)
    monkeypatch.setattr(sums, "MOST_NUMBERS", 256 * 58 * 3)  # just the first cells
    frame = pd.concat([people(N, seed=k) for k in range(3)])
    assert read(frame, ["sex"])[0].sums.histogram is not None
    table, _ = read(frame, [Continuous("age")])
    assert len(table) > 256
    assert table.sums.histogram is None
    assert table.sums.rows.sum() == len(frame)


def test_largest_weight_of_every_label_is_known():
    frame = people(N)
    assert read(frame, ["sex"])[0].heaviest == {0: 1.0, 1: 1.0}
    table, _ = read(frame, ["sex"], weight="w")
    assert table.heaviest == frame.groupby("y")["w"].max().to_dict()


@pytest.mark.parametrize("model", [0, 1])
def test_each_model_is_measured_as_if_alone(model):
    frame = two_models(seed=2)
    names, limits = ["p", "q"], [0.5, 0.35]
    statistics = [get_statistic(name) for name in ("pr", "tpr")]
    both, _ = read(frame, ["sex", "age"], score=names, threshold=limits)
    alone, _ = read(frame, ["sex", "age"], score=names[model], threshold=limits[model])
    found, expected = (
        Measurable(table, find_groups(table, ["sex", "age"], 30), {0: 0, 1: 1}).sums(
            statistics, m
        )
        for table, m in ((both, model), (alone, 0))
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def amounts(n, folder):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame(
        {
            "p": rng.random(n),
            "y": rng.integers(0, 2, n),
            "age": rng.normal(44, 13, n),
            "income": rng.lognormal(10, 1, n),
            "distance": rng.gamma(2, 5, n),
        }
    )
    frame.to_csv(folder / f"{n}.csv", index=False)
    return folder / f"{n}.csv"


@pytest.mark.slow
def test_cells_of_amounts_do_not_grow_with_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "ROWS", 1000)
    traits = ["age", "income", Binned("distance", [4, 8.5, 13])]
    sizes = []
    for n in (4000, 32_000):
        table, _ = read(amounts(n, tmp_path), traits)
        assert all(len(table.column(j).categories) <= 4 for j in (1, 2, 3))
        assert table.sums.rows.sum() == n
        sizes.append(len(table))
    assert sizes == [2 * 4**3] * 2  # labels and bins


def test_tables_without_amounts_are_read_once(monkeypatch):
    frame = people(N)
    passes = []
    chunks = source.TableSource.chunks
    monkeypatch.setattr(
        source.TableSource, "chunks", lambda *a: passes.append(0) or chunks(*a)
    )
    read(frame, ["sex", "race", "age"], bins={"age": [40]})
    assert len(passes) == 1
    passes.clear()
    read(frame, ["sex", "age"])
    assert len(passes) == 3  # until the amount is found; to learn it; to add up


def test_a_column_may_be_an_amount_and_continuous():
    frame = people(N, seed=3).assign(age=lambda x: x["age"].round(0))
    found = fairret.audit(
        frame, score="p", label="y", sensitive=["age", Continuous("age")], notions="pr"
    )
    plain = fairret.audit(frame, score="p", label="y", sensitive="age", notions="pr")
    names = plain.results["pr"].decisions.names
    assert found.results["pr"].decisions.names[: len(names)] == names


def test_hash_of_a_file_is_that_of_its_bytes(tmp_path):
    frame = people(N)
    frame.to_csv(tmp_path / "people.csv.gz", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    for name in ("people.csv.gz", "people.parquet"):
        _, (found,) = read(tmp_path / name, ["sex"])
        with (tmp_path / name).open("rb") as file:
            expected = hashlib.sha256(file.read()).hexdigest()
        assert found.sha256 == expected
    assert read(frame, ["sex"])[1][0].sha256 is None
