"""The page about the paper's claims has the numbers of the committed results."""

import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.differences import compare_volumes
from fairret.lab.experiment.export import export
from fairret.lab.experiment.trade_off import NOTIONS
from stored_runs import fill, write_file

ROOT = Path(__file__).parents[2]
LITERALS = {
    "0.00",
    "0.1.3",
    "0.001",
    "0.05",
    "0.2",
    "0.3",
    "0.5",
    "65,535",
    "5,529",
    "195,665",
    "1,024",
}
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


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import claims

    yield claims
    for name in [x for x in sys.modules if x.startswith("claim") or x == "train"]:
        del sys.modules[name]


@pytest.fixture
def numbers(claims, tmp_path):
    """Made-up results in the place of the committed ones."""
    file = write_file(tmp_path, "trade_offs")
    store = fill(tmp_path / "x.sqlite", file)
    runs = list_runs(read_experiment(file))
    export(store, runs, tmp_path / "trade_offs.parquet")
    return claims.Numbers(tmp_path), pd.read_parquet(tmp_path / "trade_offs.parquet")


@pytest.mark.slow
def test_committed_page_has_the_numbers_of_the_committed_results(claims, capsys):
    assert claims.main([]) == 0, capsys.readouterr().out


def test_template_has_no_number_of_its_own(claims):
    """Numbers with decimals or thousands come from results, but for settings."""
    text = re.sub(r"\{[{%#].*?[}%#]\}", "", claims.TEMPLATE.read_text(), flags=re.S)
    found = set(re.findall(r"\d[\d,.]*[.,]\d+", text))
    assert {x for x in found if len(x) > 3} <= LITERALS


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


@pytest.mark.slow
def test_differences_are_paired_and_bold_beyond_zero(numbers):
    found, _ = numbers
    pair = ("lawschool", "pr", "SmoothMax", "KL")
    own = found.volumes("trade_offs", "violation")
    a, b = (own["lawschool", "pr", x, "AUROC, scores"] for x in pair[2:])
    gap = compare_volumes(a, b)
    words = found.gap(*pair, "AUROC, scores")
    numbers_of = [f"{x:+.2f}".replace("-", "−") for x in gap[:3]]
    assert words.strip("*") == "{} ({} to {})".format(*numbers_of)
    assert gap.mean == pytest.approx(a.value - b.value)
    assert words.startswith("**") == (gap.low > 0 or gap.high < 0)
    counts = found.count_gaps("SmoothMax", "KL", datasets=["bank", "lawschool"])
    assert counts.endswith(" of 32")
    both = found.count_gaps("SmoothMax", "KL", "HSIC", statistics=["pr"])
    alone = [
        found.count_gaps("SmoothMax", x, statistics=["pr"]) for x in ("KL", "HSIC")
    ]
    numbers_in = [[*map(int, re.findall(r"\d+", one))] for one in (both, *alone)]
    assert numbers_in[0] == [a + b for a, b in zip(*numbers_in[1:], strict=True)]
    with pytest.raises(KeyError, match="in common"):
        found.count_gaps("SmoothMax", "SED")


@pytest.mark.slow
def test_comparisons_count_better_and_worse_in_all_panels(numbers):
    found, _ = numbers
    rows = found.count_table([("SmoothMax", "KL")], ["pr", "tpr"]).splitlines()
    places = [row.split(" | ")[0] for row in rows]
    assert places == ["| SmoothMax against KL, DP", "| SmoothMax against KL, EO"]
    for row, statistic in zip(rows, ("pr", "tpr"), strict=True):
        own, every, curve, _ = row.strip("| ").split(" | ")[1:]
        words = found.count_gaps("SmoothMax", "KL", statistics=[statistic])
        assert every == words.replace(" better and", ",").replace(" worse", "")
        assert own.endswith(" of 2")  # datasets
        assert curve.endswith(" of 8")  # and four pairs of measures


@pytest.mark.slow
def test_tables_of_different_revisions_are_not_compared(claims, numbers, tmp_path):
    _, data = numbers
    pair = ("lawschool", "pr", "Norm", "SmoothMax", "AUROC, scores")
    other = tmp_path / "trade_offs_other.parquet"
    assert claims.Numbers(tmp_path).gap(*pair) == "–"
    data.to_parquet(other)
    assert claims.Numbers(tmp_path).gap(*pair) != "–"
    data.drop(columns=[x for x in data if "beyond_chance" in x]).to_parquet(other)
    found = claims.Numbers(tmp_path)
    assert found.gap(*pair) == "–"
    assert found.vol(*pair[:3], pair[4], "trade_offs_other") != "–"


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
def test_tables_have_a_row_per_panel_and_method(numbers):
    found, _ = numbers
    rows = found.volume_table("trade_offs").splitlines()
    assert len(rows) == 2 * 4 * 4  # datasets, notions, methods
    assert rows[0].startswith("| Bank, DP | SmoothMax | ")
    assert all(row.count("|") == 7 for row in rows)
    verdicts = found.verdict_table().splitlines()
    assert len(verdicts) == 2 * 4
    assert verdicts[0].startswith("| Bank, DP | 3 of 3 | ")


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
    assert f"| KL | {dense} of 8 | {share:.2f} ({place}) | {left:.2f} |" in rows
    assert len(rows) == 4  # methods
    assert 0.7 < share < 0.95  # from 1 + 1 to 1 + 10


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


def test_seeds_beyond_chance_are_counted_at_one_strength(numbers):
    found, data = numbers
    own = data[(data.dataset == "bank") & (data.method == "KL")]
    own = own[own.statistic == "ppv"]
    columns = [f"{part}/beyond_chance/ppv/decisions/all" for part in ("train", "test")]
    for column, part in zip(columns, ("train", "test"), strict=True):
        for strength in (None, 1.0):
            chosen = own[own.strength == (strength or own.strength.max())][column]
            words = found.decisions_beyond(
                "bank", "KL", "ppv", part=part, strength=strength
            )
            assert words == f"{(chosen == 1).sum()} of {len(chosen)}"


def test_differences_that_are_rounded_to_nothing_do_not_count(claims):
    from claim_words import interval, sign

    from fairret.lab.experiment.differences import Difference

    small, large = (
        Difference(0.004, 0.003, 0.005, 3),
        Difference(-0.02, -0.03, -0.01, 3),
    )
    assert [sign(small), sign(large)] == [0, -1]
    assert interval(small) == "+0.00 (+0.00 to +0.01)"
    assert interval(small, 3) == "**+0.004 (+0.003 to +0.005)**"
    assert interval(large) == "**−0.02 (−0.03 to −0.01)**"


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
    assert claims.Numbers(tmp_path).slower("KL") == "1.24 ± 0.06"


def test_losses_of_batches_stand_beside_that_of_all_rows(claims, tmp_path):
    rows = [("KL", 16, 0.5, 0.25), ("KL", 32, 0.4, 0.25), ("SmoothMax", 16, 0.2, 0.1)]
    table = pd.DataFrame(rows, columns=["loss", "size", "mean", "whole"])
    table.to_csv(tmp_path / "batch_losses.csv", index=False)
    words = claims.Numbers(tmp_path).batch_loss("KL", 32)
    assert words == "0.400 (0.250 of all rows at once)"


def test_page_about_small_batches_has_the_losses_of_the_figure():
    page = " ".join((ROOT / "docs" / "measurements.md").read_text().split())
    table = pd.read_csv(ROOT / "results" / "batch_losses.csv")
    losses = table[table["size"] == 32].set_index("loss")
    largest, projection = losses.loc["SmoothMax"], losses.loc["KL"]
    for words in (
        f"is {largest['mean']:.2f} in batches of 32, and {largest['whole']:.2f} over",
        f"KL loss is {projection['mean_with_memory']:.3f} over the first pass",
        f"and {projection['whole']:.3f} from the fourth on, which is also the value",
        f"Without a memory it is {projection['mean']:.3f}.",
    ):
        assert words in page


def test_page_says_which_revisions_and_seeds_are_missing(numbers):
    found, _ = numbers
    (row,) = found.content_table().splitlines()
    assert row.endswith(": 186 runs | 2, 3 seeds |")
    words = found.unfinished()
    first, second, *_, last = words.replace(" and ", ", ").split(", ")
    assert first == "the seeds of `trade_offs` from 3 on"
    assert (second, last) == ("all of `trade_offs_acs`", "all of `single_trait_acs`")
    assert found.partial_runs() == "0"


def test_lines_are_wrapped_but_tables_are_not(claims):
    text = "word " * 40 + "\n\n- item one " + "x " * 60 + "\n- two\n\n| a | b |"
    template = text + "{{ runs }}"
    page = claims.render(template.replace("{{ runs }}", ""), _Nothing())
    assert max(map(len, page.splitlines())) <= 100
    assert page.count("\n- ") == 2
    assert page.endswith("| a | b |\n")


class _Nothing:
    def functions(self):
        return {}


@pytest.mark.slow
def test_panels_in_which_nothing_can_be_gained_are_named(claims, numbers, tmp_path):
    found, data = numbers
    assert found.without_volume() == ""
    for statistic in ("tpr", "ppv"):
        column = f"test/floor/{statistic}/scores/all"
        data.loc[data.dataset == "bank", column] = 99.0
    data.loc[data.dataset == "lawschool", "test/floor/pr/scores/all"] = 99.0
    data.to_parquet(tmp_path / "trade_offs.parquet")
    words = claims.Numbers(tmp_path).without_volume()
    assert words == "LawSchool (DP) and Bank (EO, PP)"
