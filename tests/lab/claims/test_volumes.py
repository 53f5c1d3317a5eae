"""Volumes, their differences and counts of them."""

import re

import pytest

from fairret.lab.experiment.differences import compare_volumes


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
def test_differences_within_a_limit_are_counted(numbers):
    found, _ = numbers
    gaps = found._gaps("SmoothMax", ["KL"], datasets=["bank", "lawschool"])
    ends = [max(-gap.low, gap.high) for gap in gaps]
    limit = sorted(ends)[len(ends) // 3]
    pair = ("SmoothMax", "KL")
    words = found.count_close(*pair, limit, datasets=["bank", "lawschool"])
    assert words == f"{len(ends) // 3 + 1} of 32"
    assert found.count_close(*pair, 0.0) == "0 of 32"


@pytest.mark.slow
def test_range_of_volumes_names_its_panels(numbers):
    found, _ = numbers
    own = found.volumes("trade_offs", "violation")
    panels = {
        f"{notion} on {place}": own[dataset, name, "KL", "accuracy, decisions"].value
        for dataset, place in (("bank", "Bank"), ("lawschool", "LawSchool"))
        for name, notion in zip(
            ("pr", "tpr", "ppv", "fn_fp"), ("DP", "EO", "PP", "TE"), strict=True
        )
    }
    words = found.volume_range("KL", "accuracy, decisions")
    places = sorted(panels, key=panels.get)
    assert words == [f"{panels[place]:.2f} ({place})" for place in places]


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
def test_tables_have_a_row_per_panel_and_method(numbers):
    found, _ = numbers
    rows = found.volume_table("trade_offs").splitlines()
    assert len(rows) == 2 * 4 * 4  # datasets, notions, methods
    assert rows[0].startswith("| Bank, DP | SmoothMax | ")
    assert all(row.count("|") == 7 for row in rows)
    place = ("bank", "pr", "SmoothMax", "AUROC, scores")
    step, curve = found.vol(*place), found.vol(*place, curve=True)
    assert step != curve
    assert rows[0].split(" | ")[2] == f"{step}, {curve.split(' ±')[0]}"
    verdicts = found.verdict_table().splitlines()
    assert len(verdicts) == 2 * 4
    assert verdicts[0].startswith("| Bank, DP | 3 of 3 | ")


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
