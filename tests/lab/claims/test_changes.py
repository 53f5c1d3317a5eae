"""What the strengths change."""

import numpy as np
import pandas as pd
import pytest

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import export
from stored_runs import fill, write_file


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
    every = found.count_cases("KL", "auroc", ["ppv"], 1, part="test")
    assert every.endswith(" of 4")  # two datasets and strengths
    largest = found.count_changes("KL", "auroc", ["ppv"], 1, part="test")
    assert int(every[0]) >= int(largest[0])
    (row,) = found.effect_table(["KL"], ["ppv"]).splitlines()
    assert row.startswith("| KL | 2, 0 of 2 (0) | ")
    worse = found.count_changes("KL", "auroc", ["ppv"], -1, part="test")
    assert f", {worse} (" in row.split(" | ")[-1]  # a lower AUROC is worse
    falls = found.count_cases("KL", "auroc", ["ppv"], -1, strengths=[10], part="test")
    assert falls == worse
    words = found.change("bank", "KL", "ppv", "decisions", strength=10.0)
    assert words.startswith(f"{unfair.mean():.3f} to {ten[column].mean():.3f}, ")
    other = own[(own.method == "HSIC") & (own.strength == 300)][column]
    words = found.change("bank", "HSIC", "ppv", "decisions", against="Norm")
    norm = own[(own.method == "Norm") & (own.statistic == "ppv")][column]
    assert words.startswith(f"{norm.mean():.3f} to {other.mean():.3f}, ")


@pytest.mark.slow
def test_shares_of_people_accepted_are_those_of_the_training_rows(
    claims, numbers, tmp_path
):
    _, data = numbers
    data["train/positive_rate"] = 0.33 / (1 + data.strength)
    data.to_parquet(tmp_path / "trade_offs.parquet")
    found = claims.Numbers(tmp_path)
    assert found.accepted("bank", "KL", "ppv") == "0.330 to 0.030"  # at strength 10
    row = found.change_table("KL", ["tpr", "ppv"]).splitlines()[0].split(" | ")
    assert row[3] == "0.330 to 0.030"
    assert row[6].startswith("0.330 to 0.030 ")


@pytest.mark.slow
def test_undefined_changes_do_not_count(claims, numbers, tmp_path):
    _, data = numbers
    column = "train/violation_beyond_chance/ppv/decisions/all"
    own = (data.dataset == "bank") & (data.method == "KL") & (data.seed < 2)
    data.loc[own, column] = np.nan  # a single seed is left
    data.to_parquet(tmp_path / "trade_offs.parquet")
    (row,) = claims.Numbers(tmp_path).effect_table(["KL"], ["ppv"]).splitlines()
    cells = row.split(" | ")
    assert " of 2 (" in cells[1]  # scores
    assert " of 1 (" in cells[4]  # decisions, training rows


def test_changes_for_a_single_trait_are_those_of_its_violation(claims, tmp_path):
    file = write_file(tmp_path, "peers", datasets=["bank"], traits=["single"])
    store = fill(tmp_path / "x.sqlite", file)
    export(store, list_runs(read_experiment(file)), tmp_path / "peers.parquet")
    own = pd.read_parquet(tmp_path / "peers.parquet")
    column = "test/violation/tpr/scores/single"
    unfair = own[own.method == "Unfair"][column].mean()
    words = claims.Numbers(tmp_path).change(
        *("bank", "KL", "tpr", "scores"),
        part="test",
        measure="violation",
        table="peers",
    )
    assert words.startswith(f"{unfair:.3f} to ")


@pytest.mark.slow
def test_marks_that_are_lower_on_the_training_rows_are_counted(numbers):
    found, data = numbers
    data.to_parquet(found.folder / "trade_offs_acs.parquet")
    lower = every = 0
    for statistic in ("pr", "tpr", "ppv", "fn_fp"):
        for _, own in data.groupby(["dataset", "method", "strength", "statistic"]):
            if own.statistic.iloc[0] in ("", statistic):
                path = f"violation/{statistic}/scores/all"
                means = own[[f"train/{path}", f"test/{path}"]].mean()
                lower += means.iloc[0] < means.iloc[1]
                every += 1
    assert found.count_lower("train", "test") == f"{2 * lower} of {2 * every}"
    assert 0.3 < lower / every < 0.7


@pytest.mark.slow
def test_decisions_of_models_that_refuse_everyone_do_not_count(
    claims, numbers, tmp_path
):
    _, data = numbers
    kl = (data.dataset == "bank") & (data.method == "KL") & (data.strength == 10)
    data.loc[kl & (data.seed == 1), "train/positive_rate"] = 0.0
    data.to_parquet(tmp_path / "trade_offs.parquet")
    found = claims.Numbers(tmp_path)
    column = "train/violation_beyond_chance/pr/decisions/all"
    own = data[(data.dataset == "bank") & (data.seed != 1)]
    own = own[own.statistic.isin(["", "pr"])]
    means = own.groupby(["method", "strength"])[column].mean()
    words = found.change("bank", "KL", "pr", "decisions")
    start = f"{means['Unfair', 0.0]:.3f} to {means['KL', 10.0]:.3f}, "
    assert words.startswith(start)
    assert words.endswith(" (2 seeds)")
    assert "seeds" not in found.change("bank", "KL", "pr", "scores")
    assert found.count_changes("KL", "decisions", ["pr"], 1).endswith(" of 2")
    data.loc[kl & (data.seed == 2), "train/positive_rate"] = 0.0  # one of three is left
    data.to_parquet(tmp_path / "trade_offs.parquet")
    few = claims.Numbers(tmp_path).change("bank", "KL", "pr", "decisions")
    assert few == "– (1 of 3 seeds)"
    data.loc[kl, "train/positive_rate"] = 0.0
    data.to_parquet(tmp_path / "trade_offs.parquet")
    found = claims.Numbers(tmp_path)
    assert found.count_changes("KL", "decisions", ["pr"], 1).endswith(" of 1")
