"""How much violations fall on the training rows, and on the test rows."""

import numpy as np
import pytest

PLACE = ("bank", "KL", "ppv")


def fall(own, part):
    """Share that is lost from Unfair to the largest strength: a ratio of means."""
    column = f"{part}/violation/ppv/scores/all"
    means = own.groupby("strength")[column].mean()
    return 1 - means[10.0] / means[0.0]


@pytest.mark.slow
def test_falls_are_ratios_of_means_and_their_difference_is_paired(numbers):
    found, data = numbers
    own = data[(data.dataset == "bank") & data.statistic.isin(["", "ppv"])]
    own = own[own.method.isin(["Unfair", "KL"])]
    train, test = fall(own, "train"), fall(own, "test")
    rest = [own[own.seed != seed] for seed in (0, 1, 2)]
    gaps = [fall(one, "train") - fall(one, "test") for one in rest]
    error = np.sqrt(2 / 3 * np.square(gaps - np.mean(gaps)).sum())  # jackknife
    words = found.fall_gap(*PLACE)
    assert words.startswith(f"{train:.2f} and {test:.2f}, ")
    assert found.fall_of(*PLACE) == pytest.approx(test)
    *_, gap = found._fall_gap(*PLACE, "violation")
    assert gap.mean == pytest.approx(train - test)
    # Student's t with two degrees of freedom, a little less by Kish's count of seeds
    assert gap.high - gap.mean == pytest.approx(4.3027 * error, rel=0.1)
    rows = found.fall_gap_table("KL", ["tpr", "ppv"]).splitlines()
    assert [row.split(" | ")[0] for row in rows] == ["| LawSchool", "| Bank"]
    assert rows[1].split(" | ")[3] == words


@pytest.mark.slow
def test_planted_falls_are_found(claims, numbers, tmp_path):
    """A fall of three quarters on the training rows, and of half on the test rows."""
    _, data = numbers
    own = (data.dataset == "bank") & (data.strength == 10)
    base = data.seed.map({0: 0.4, 1: 0.5, 2: 0.8})
    noise = data.seed.map({0: 0.99, 1: 1.01, 2: 1.0})
    for part, left in (("train", 0.25), ("test", 0.5)):
        column = f"{part}/violation/ppv/scores/all"
        data[column] = np.where(own, left * base * noise, base)
    data.to_parquet(tmp_path / "trade_offs.parquet")
    found = claims.Numbers(tmp_path)
    assert found.fall_gap(*PLACE).startswith("0.75 and 0.50, **+0.25 (+0.2")
    column = "test/violation/ppv/scores/all"
    data[column] = data["train/violation/ppv/scores/all"]
    data.to_parquet(tmp_path / "trade_offs.parquet")
    words = claims.Numbers(tmp_path).fall_gap(*PLACE)
    assert words == "0.75 and 0.75, +0.00 (+0.00 to +0.00)"
    data["train/beyond_chance/ppv/scores/all"] = 1.0 * (data.seed == 0)
    data.to_parquet(tmp_path / "trade_offs.parquet")
    assert claims.Numbers(tmp_path).fall_gap(*PLACE) == "–"  # in one seed of three
