"""What fairness of scores costs, in AUROC."""

from itertools import pairwise

import numpy as np
import pytest

COLUMN, FLOOR = "test/violation/pr/scores/all", 0.05


def auroc_lost(own, method):
    """AUROC lost where the line through the means is at the floor."""
    means = own.groupby(["method", "strength"])[[COLUMN, "test/auroc"]].mean()
    path = [*means.loc["Unfair"].to_numpy(), *means.loc[method].to_numpy()]
    (high, start), (low, end) = next(
        (a, b) for a, b in pairwise(path) if a[0] > FLOOR >= b[0]
    )
    share = (high - FLOOR) / (high - low)
    return path[0][1] - start - share * (end - start)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["SmoothMax", "HSIC", "KL"])
def test_cost_is_where_the_violation_is_that_of_chance(numbers, method):
    found, data = numbers
    own = data[(data.dataset == "bank") & data.statistic.isin(["", "pr"])]
    lost = auroc_lost(own, method)
    rest = [auroc_lost(own[own.seed != seed], method) for seed in (0, 1, 2)]
    error = np.sqrt(2 / 3 * np.square(rest - np.mean(rest)).sum())  # jackknife
    words = f"{lost:.3f} ± {error:.3f}"
    assert error > 1e-3
    assert found.cost("bank", "pr", method) == words
    assert found.lost("bank", "pr", method) == pytest.approx(lost)
    rows = found.cost_table(["KL", method], ["pr", "tpr"]).splitlines()
    assert [row.split(" | ")[0] for row in rows] == [
        *("| LawSchool, DP", "| LawSchool, EO", "| Bank, DP", "| Bank, EO")
    ]
    unfair = own[own.method == "Unfair"][COLUMN].mean()
    assert rows[2].split(" | ")[1] == f"{unfair:.3f}, {FLOOR:.3f}"
    assert rows[2].endswith(f" | {words} |")


@pytest.mark.slow
def test_cost_says_if_the_violation_stays_above_that_of_chance(
    claims, numbers, tmp_path
):
    _, data = numbers
    weak = data[(data.method != "KL") | (data.strength == 1)]
    weak.to_parquet(tmp_path / "trade_offs.parquet")
    words = claims.Numbers(tmp_path).cost("bank", "pr", "KL")
    own = weak[(weak.dataset == "bank") & weak.statistic.isin(["", "pr"])]
    means = own.groupby("method")[[COLUMN, "test/auroc"]].mean()
    lost = means["test/auroc"]["Unfair"] - means["test/auroc"]["KL"]
    start = f"not reached: {means[COLUMN]['KL']:.3f} at {lost:.3f} ± "
    assert words.startswith(start)
