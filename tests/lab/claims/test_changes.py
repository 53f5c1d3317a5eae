"""What the strengths change, and what that costs."""

from itertools import pairwise

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("method", ["SmoothMax", "HSIC", "KL"])
def test_cost_is_where_the_violation_is_that_of_chance(numbers, method):
    found, data = numbers
    column, floor = "test/violation/pr/scores/all", 0.05
    own = data[(data.dataset == "bank") & data.statistic.isin(["", "pr"])]
    unfair = own[own.method == "Unfair"][[column, "test/auroc"]].mean()
    means = own[own.method == method].groupby("strength")[[column, "test/auroc"]].mean()
    path = [tuple(unfair), *map(tuple, means.to_numpy())]
    (high, start), (low, end) = next(
        (a, b) for a, b in pairwise(path) if a[0] > floor >= b[0]
    )
    share = (high - floor) / (high - low)
    lost = unfair["test/auroc"] - start - share * (end - start)
    assert found.cost("bank", "pr", method) == f"{lost:.3f}"
    rows = found.cost_table(["KL", method], ["pr", "tpr"]).splitlines()
    assert [row.split(" | ")[0] for row in rows] == [
        *("| LawSchool, DP", "| LawSchool, EO", "| Bank, DP", "| Bank, EO")
    ]
    assert rows[2].endswith(f" | {lost:.3f} |")


@pytest.mark.slow
def test_cost_says_if_the_violation_stays_above_that_of_chance(
    claims, numbers, tmp_path
):
    _, data = numbers
    weak = data[(data.method != "KL") | (data.strength == 1)]
    weak.to_parquet(tmp_path / "trade_offs.parquet")
    words = claims.Numbers(tmp_path).cost("bank", "pr", "KL")
    own = weak[(weak.dataset == "bank") & (weak.method == "KL")]
    least = own[own.statistic == "pr"]["test/violation/pr/scores/all"].mean()
    assert words.endswith(f" for {least:.3f}, not 0.050")


@pytest.mark.slow
def test_changes_are_those_of_the_largest_strength(numbers):
    found, data = numbers
    worse = better = 0
    for dataset in ("bank", "lawschool"):
        own = data[(data.dataset == dataset) & data.statistic.isin(["", "tpr"])]
        own = own.set_index("seed")["test/auroc"].groupby(
            [own.method.values, own.strength.values]
        )
        gap = own.get_group(("SmoothMax", 10.0)) - own.get_group(("Unfair", 0.0))
        half = 4.3027 * gap.std() / 3**0.5
        worse += gap.mean() + half < 0
        better += gap.mean() - half > 0
    for sign, count in ((-1, worse), (1, better)):
        words = found.count_changes("SmoothMax", "auroc", ["tpr"], sign, part="test")
        assert words == f"{count} of 2"
    assert worse > 0


@pytest.mark.slow
def test_changes_are_those_of_the_largest_strength_paired_by_seed(numbers):
    found, data = numbers
    rows = found.change_table("KL", ["ppv", "fn_fp"]).splitlines()
    assert [row.split(" | ")[0] for row in rows] == ["| LawSchool", "| Bank"]
    column = "train/violation_beyond_chance/ppv/decisions/all"
    own = data[data.dataset == "bank"].set_index("seed")
    unfair = own[own.method == "Unfair"][column]
    ten = own[(own.method == "KL") & (own.statistic == "ppv") & (own.strength == 10)]
    gap = (ten[column] - unfair).mean()
    words = f"{unfair.mean():.3f} to {ten[column].mean():.3f}, **{gap:+.3f} ("
    assert words.replace("-", "−") in rows[1].split(" | ")[2]
    counts = [found.count_changes("KL", "scores", ["ppv"], sign) for sign in (1, -1)]
    assert counts == ["0 of 2", "2 of 2"]
    every = found.count_rises("KL", "auroc", ["ppv"], part="test")
    assert every.endswith(" of 4")  # two datasets and strengths
    largest = found.count_changes("KL", "auroc", ["ppv"], 1, part="test")
    assert int(every[0]) >= int(largest[0])
    (row,) = found.effect_table(["KL"], ["ppv"]).splitlines()
    assert row.startswith("| KL | 0, 2 (0) | ")
    worse = found.count_changes("KL", "auroc", ["ppv"], -1, part="test")
    assert row.split(" | ")[-1].startswith(f"{worse[0]}, ")  # a lower AUROC is worse
    words = found.change("bank", "KL", "ppv", "decisions", strength=10.0)
    assert words.startswith(f"{unfair.mean():.3f} to {ten[column].mean():.3f}, ")
