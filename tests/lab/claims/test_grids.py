"""How dense the strengths are, and how networks compare."""

import numpy as np
import pandas as pd
import pytest

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import export
from fairret.lab.experiment.trade_off import NOTIONS
from stored_runs import fill, write_file

NETWORKS = """
datasets = ["bank"]
statistics = ["pr"]
seeds = [0, 1]
[training]
hidden = [[], [7], [9, 4]]
learning_rate = [0.001, 0.01]
validation = 0.2
[[method]]
name = "Unfair"
"""


@pytest.mark.slow
def test_largest_fall_between_strengths_stops_where_little_is_left(numbers):
    found, data = numbers
    falls, shares, dense = [], [], 0
    for dataset, name in (("bank", "Bank"), ("lawschool", "LawSchool")):
        for statistic, notion in NOTIONS.items():
            column = f"train/violation/{statistic}/scores/all"
            own = data[data.dataset == dataset]
            first = own[own.method == "Unfair"][column].mean()
            kl = own[(own.method == "KL") & (own.statistic == statistic)]
            one, ten = kl.groupby("strength")[column].mean()
            least = max(0.1 * first, own[column.replace("violation", "floor")].iloc[0])
            own_falls = [1 - max(one, least) / first]
            if one > least:
                own_falls.append(1 - max(ten, least) / one)
            dense += max(own_falls) <= 1 / 3
            shares.append(min(first, one, ten) / first)
            falls.append((max(own_falls), f"{name}, {notion}"))
    share, place = max(falls)
    rows = found.fall_table().splitlines()
    left = np.median(shares)
    (row,) = (row for row in rows if row.startswith("| KL |"))
    assert row.startswith(f"| KL | {dense} of 8 | {share:.2f} ± 0.")
    assert f" ({place}) | {left:.2f} | " in row
    assert len(rows) == 4  # methods
    assert 0.7 < share < 0.95  # from 1 + 1 to 1 + 10
    (own,) = (x for x in found.large_falls().split("; ") if x.startswith("KL: "))
    assert own.count(" ± 0.") == 8 - dense
    assert f"{share:.2f} ± 0." in own
    assert f" ({place})" in own


@pytest.mark.slow
def test_falls_beyond_chance_need_no_floor(claims, numbers, tmp_path):
    """All methods halve it at every strength, down to less than a tenth."""
    _, data = numbers
    halved = {0: 1.0, 0.1: 0.5, 0.3: 0.5, 1: 0.25, 30: 0.5, 3: 0.25, 10: 0.01}
    levels = data.strength.map(halved | {300: 0.25})
    for statistic in NOTIONS:
        path = f"{statistic}/scores/all"
        data[f"train/violation_beyond_chance/{path}"] = levels
        data[f"train/beyond_chance/{path}"] = 1.0 * (data.dataset == "bank")
        data[f"train/floor/{path}"] = 99.0 * (statistic == "ppv")
    data.to_parquet(tmp_path / "trade_offs.parquet")
    found = claims.Numbers(tmp_path)
    cells = {
        row.split(" | ")[0]: row.split(" | ")[-1]
        for row in found.fall_table().splitlines()
    }
    assert cells["| HSIC"].startswith("0 of 4, 0.50 ± 0.00 (Bank, ")
    assert cells["| SmoothMax"].startswith("0 of 4, 0.60 ± 0.00 (Bank, ")  # to a tenth
    assert found.unchecked() == "LawSchool (PP) and Bank (PP)"


@pytest.mark.slow
def test_coarse_panels_are_counted_for_every_variant(claims, tmp_path):
    """At most 2 steps fall by a quarter each, at most 50 by a half."""
    file = write_file(tmp_path, "axes", datasets=["bank"], limits=[2, 50])
    store = fill(tmp_path / "x.sqlite", file)
    export(store, list_runs(read_experiment(file)), tmp_path / "axes.parquet")
    data = pd.read_parquet(tmp_path / "axes.parquet")
    steps = data.strength.map({1: 1, 10: 2}).fillna(0)
    for statistic in NOTIONS:
        column = f"train/violation/{statistic}/scores/all"
        data[column] = 0.75**steps
        data.loc[data.options.str.contains("50"), column] = 0.5**steps
    data.to_parquet(tmp_path / "axes.parquet")
    found = claims.Numbers(tmp_path)
    assert found.coarse("axes", "KL") == "4 of 8"
    assert found.coarse("axes", "KL", "HSIC") == "4 of 12"


def test_error_of_a_fall_is_that_of_ratios_of_means(claims):
    from claim_grids import _ratio

    before = pd.Series([1.0, 2.0, 4.0])
    assert _ratio(before, before / 2) == pytest.approx((0.5, 0.0))
    level, after = pd.Series([2.0] * 4), pd.Series([0.8, 1.2, 0.9, 1.1])
    assert _ratio(level, after) == pytest.approx((0.5, after.sem() / 2))
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal([1.0, 0.6], [[0.02, 0.01], [0.01, 0.03]], (999, 8))
    found = [_ratio(pd.Series(x[:, 0]), pd.Series(x[:, 1])) for x in draws]
    ratios, errors = np.array(found).T
    assert ratios.std() == pytest.approx(errors.mean(), rel=0.1)


def test_methods_that_leave_most_of_the_violation_are_named(numbers, claims, tmp_path):
    found, data = numbers
    assert found.weak_methods() == ""
    column = [x for x in data if x.startswith("train/violation/")]
    own = data.method.isin(["HSIC", "Norm"])
    data.loc[own, column] = 1.0
    data.loc[data.method == "Unfair", column] = 1.5
    data.to_parquet(tmp_path / "trade_offs.parquet")
    assert claims.Numbers(tmp_path).weak_methods() == "HSIC and Norm"


def test_networks_are_ranked_by_means_over_seeds(claims, tmp_path):
    auroc = {(): [0.7, 0.8], (7,): [0.88, 0.93], (9, 4): [0.9, 0.92]}
    file = tmp_path / "architectures.toml"
    file.write_text(NETWORKS)

    def change(run, result):
        level = auroc[run.training.hidden][run.seed] - run.training.learning_rate
        return result | {"validation/auroc": level}

    store, runs = fill(tmp_path / "x.sqlite", file, change), read_experiment(file)
    export(store, list_runs(runs)[::-1], tmp_path / "architectures.parquet")
    found = claims.Numbers(tmp_path)
    assert found.architecture([9, 4], 0.01) == "0.9000"
    assert found.architecture([], 0.001) == "0.7490"
    assert found.best_architecture() == "9-4 with 0.001 (0.9090)"
    assert found.architecture_rank([7], 0.01) == "4 of 6"
    data = pd.read_parquet(tmp_path / "architectures.parquet")
    data["test/auroc"] = data["validation/auroc"] * (1 + data.seed) / 2
    data.to_parquet(tmp_path / "architectures.parquet")
    words = claims.Numbers(tmp_path).architecture_gap([], 0.001)
    assert words.startswith("+0.1100 (")  # half of 0.2, and 0.12
