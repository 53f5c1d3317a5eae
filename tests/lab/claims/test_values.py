"""Values at single strengths, run times and batches."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import export
from stored_runs import fill, write_file

RELEASED = """
datasets = ["bank"]
statistics = ["pr", "tpr", "ppv", "fn_fp"]
seeds = [0, 1, 2]
[[method]]
name = "SmoothMax"
strengths = [0.1, 1]
[[method]]
name = "SmoothMax 0.1.3"
strengths = [0.1, 1]
"""


@pytest.mark.slow
def test_values_are_means_over_seeds(numbers):
    found, data = numbers
    own = data[(data.dataset == "bank") & (data.method == "KL")]
    own = own[own.statistic == "tpr"].groupby("strength")
    means = own["train/violation/tpr/decisions/all"].mean()
    options = ("bank", "KL", "tpr")
    one = found.val(*options, 10, "decisions", part="train", digits=4)
    assert one == f"{means[10]:.4f}"
    least = found.val(*options, "least", "decisions", part="train")
    assert least == f"{means.min():.3f}"
    assert found.val(*options, 1, "auroc", digits=2) == (
        f"{own['test/auroc'].mean()[1]:.2f}"
    )
    assert found.val(*options, 1, "floor scores") == "0.060"
    with pytest.raises(KeyError, match="no runs"):
        found.val("bank", "SED", "tpr", 1, "scores")


def test_seeds_beyond_chance_are_counted_at_one_strength(numbers):
    found, data = numbers
    own = data[(data.dataset == "bank") & (data.method == "KL")]
    own = own[own.statistic == "ppv"]
    for channel, part, strength in product(
        ("decisions", "scores"), ("train", "test"), (None, 1.0)
    ):
        chosen = own[own.strength == (strength or own.strength.max())]
        verdicts = chosen[f"{part}/beyond_chance/ppv/{channel}/all"]
        words = found.seeds_beyond(
            *("bank", "KL", "ppv", channel), part=part, strength=strength
        )
        assert words == f"{(verdicts == 1).sum()} of {len(verdicts)}"


def test_seeds_that_could_not_be_judged_do_not_count(claims, numbers, tmp_path):
    _, data = numbers
    column = "train/beyond_chance/ppv/decisions/all"
    own = (data.dataset == "bank") & (data.method == "KL")
    data.loc[own, column] = data.seed[own].map({0: 1.0, 1: np.nan, 2: 0.0})
    data.to_parquet(tmp_path / "trade_offs.parquet")
    words = claims.Numbers(tmp_path).seeds_beyond("bank", "KL", "ppv")
    assert words == "1 of 2"


def test_p_values_are_medians_over_seeds_at_one_strength(claims, numbers, tmp_path):
    _, data = numbers
    column = "test/p_value/tpr/scores/all"
    data[column] = data.seed.map({0: 4e-8, 1: 1e-200, 2: 0.4}) / (1 + data.strength)
    data.to_parquet(tmp_path / "trade_offs.parquet")
    found = claims.Numbers(tmp_path)
    assert found.median_p("bank", "Unfair", "tpr", 0) == pytest.approx(4e-8)
    p = found.median_p("bank", "KL", "tpr", 1)
    assert claims.p_words(p) == "2e-08"
    assert claims.p_words(0.0) == "< 1e-300"


def test_epochs_count_from_one(claims, numbers, tmp_path):
    _, data = numbers
    data.assign(epoch=data.seed + 11.0).to_parquet(tmp_path / "trade_offs.parquet")
    assert claims.Numbers(tmp_path).kept_epochs("bank") == "12 to 14"


def test_largest_difference_to_the_release_is_paired_by_seed(claims, tmp_path):
    file = tmp_path / "released.toml"
    file.write_text(RELEASED)

    def change(run, result):
        level = 3.0 + run.seed
        if run.method == "SmoothMax 0.1.3" and run.statistic == "tpr":
            level -= run.strength * (2 + run.seed / 2)
        return {key: level if "violation/" in key else result[key] for key in result}

    store = fill(tmp_path / "x.sqlite", file, change)
    runs = list_runs(read_experiment(file))
    export(store, runs[::-1], tmp_path / "released.parquet")
    words = claims.Numbers(tmp_path).largest_difference("scores")
    # 2, 2.5 and 3 at strength 1; all others of the other statistics are 0
    assert words == "**−2.500 (−3.742 to −1.258)** (2 of 8 differ by intervals)"


def test_run_times_are_ratios_to_unfair_with_the_error_of_pairs(claims, tmp_path):
    file = write_file(tmp_path, "run_times", statistics=["pr"], datasets=["bank"])
    seconds = {"Unfair": [10, 20, 40], "KL": [11, 24, 52]}
    store = fill(tmp_path / "x.sqlite", file)
    export(store, list_runs(read_experiment(file)), tmp_path / "run_times.parquet")
    data = pd.read_parquet(tmp_path / "run_times.parquet")
    data = data[(data.strength <= 1) & data.method.isin([*seconds])].iloc[::-1]
    own = [seconds[m][s] for m, s in zip(data.method, data.seed, strict=True)]
    data.assign(seconds=[*map(float, own)]).to_parquet(tmp_path / "run_times.parquet")
    # 29 / 23.3, and the error of 1.1, 1.2 and 1.3
    found = claims.Numbers(tmp_path)
    assert found.slower("KL") == "1.24 ± 0.06"
    # 1.2 ± 4.3027 * 0.1 / sqrt(3)
    assert found.slowest() == "1.20 times Unfair in the mean, up to 1.45 by intervals"


def test_seconds_of_two_limits_of_steps_are_paired_by_seed(claims, tmp_path):
    cells = {"statistics": ["pr"], "datasets": ["acsincome"], "limits": [2, 50]}
    file = write_file(tmp_path, "iterations", **cells)
    runs = list_runs(read_experiment(file))
    store = fill(tmp_path / "x.sqlite", file)
    export(store, runs, tmp_path / "iterations.parquet")
    data = pd.read_parquet(tmp_path / "iterations.parquet")
    data = data[(data.method == "KL") & (data.strength == 10)]
    fifty = data.options.str.contains("50")
    data["seconds"] = 100.0 * data.seed + fifty * (2.0 + 0.5 * data.seed)
    data.iloc[::-1].to_parquet(tmp_path / "iterations.parquet")
    pair = ("at most 50 steps", "at most 2 steps")
    words = claims.Numbers(tmp_path).more_seconds(*pair)
    assert words == "**+2.5 (+1.3 to +3.7)** s"  # 2, 2.5 and 3, t of 2 degrees


def test_size_is_what_chance_does_not_explain(numbers):
    found, data = numbers
    own = data[(data.dataset == "bank") & (data.method == "Unfair")]
    for part in ("train", "test"):
        path = f"{part}/violation_beyond_chance/ppv/scores/all"
        assert found.size("bank", "ppv", part) == pytest.approx(own[path].mean())


def test_losses_of_batches_stand_beside_that_of_all_rows(claims, tmp_path):
    rows = [("KL", 16, 0.5, 0.25), ("KL", 32, 0.4, 0.25), ("SmoothMax", 16, 0.2, 0.1)]
    table = pd.DataFrame(rows, columns=["loss", "size", "mean", "whole"])
    table.to_csv(tmp_path / "batch_losses.csv", index=False)
    words = claims.Numbers(tmp_path).batch_loss("KL", 32)
    assert words == "0.400 (0.250 of all rows at once)"
