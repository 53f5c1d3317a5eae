"""The numbers of docs/choose.md are those of the committed runs."""

import json
import re
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas")

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "choose.md").read_text()
ROW = re.compile(r"^\| (LawSchool|CreditCard), (none|SmoothMax|KL) \|(.*)\|$", re.M)
COLUMNS = (
    "test/accuracy",
    "test/positive_rate",
    "test/violation/pr/scores/all",
    "test/violation/pr/decisions/all",
)


@pytest.fixture(scope="module")
def runs():
    table = pd.read_parquet(ROOT / "results" / "axes.parquet")
    options = table["options"].map(json.loads)
    table["sharpness"] = options.map(lambda o: o.get("sharpness"))
    table["gradient"] = options.map(lambda o: o.get("gradient", "paper"))
    return table[table["gradient"] == "paper"]


def test_numbers_are_means_of_the_runs(runs):
    rows = ROW.findall(TEXT)
    assert len(rows) == 14
    for dataset, method, cells in rows:
        sharpness, strength, *shown = (cell.strip() for cell in cells.split("|"))
        own = runs[runs["dataset"] == dataset.lower()]
        own = own[own["method"] == ("Unfair" if method == "none" else method)]
        if method != "none":
            own = own[own["statistic"] == "pr"]
            own = own[own["sharpness"] == float(sharpness)]
            own = own[own["strength"] == float(strength)]
        assert own["seed"].nunique() == len(own) == 3
        for cell, column in zip(shown, COLUMNS, strict=True):
            digits = len(cell.partition(".")[2])
            assert f"{own[column].mean():.{digits}f}" == cell, (dataset, method, column)


def test_every_notion_that_is_recommended_exists():
    from fairret.statistic import get_statistic

    names = re.findall(r'(?<!=)"([a-z_+]+)"', TEXT.partition("## Which loss?")[0])
    assert len(set(names)) >= 8
    for name in set(names) - {"yes"}:
        get_statistic(name)
