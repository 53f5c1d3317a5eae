"""The page about the paper's claims, its template and its words."""

import re
from pathlib import Path

import pandas as pd
import pytest

from fairret.lab.experiment.export import read_frame
from fairret.lab.experiment.hypervolume import VIEWS, volumes

ROOT = Path(__file__).parents[3]
LITERALS = {
    "4,096",
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


@pytest.mark.slow
def test_committed_page_has_the_numbers_of_the_committed_results(claims, capsys):
    assert claims.main([]) == 0, capsys.readouterr().out


def test_template_has_no_number_of_its_own(claims):
    """Numbers with decimals or thousands come from results, but for settings."""
    text = re.sub(r"\{[{%#].*?[}%#]\}", "", claims.TEMPLATE.read_text(), flags=re.S)
    found = set(re.findall(r"\d[\d,.]*[.,]\d+", text))
    assert {x for x in found if len(x) > 3} <= LITERALS


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


def batch_table():
    """Rows of the table of volumes by the size of the batches; the best is bold."""
    files = ("batches", "batches_stratified", "batches_medium", "batches_large")
    runs = pd.concat([read_frame(ROOT / "results" / f"{x}.parquet") for x in files])
    found = volumes(runs.drop_duplicates("key"), ("all",), "violation", VIEWS)
    cells = {}
    for one in found:
        if one.dataset == "acsincome":
            size = int(re.search(r"batches of (\d+),", one.training)[1])
            loss, *memory = one.label.split(" ", 1)
            kind = "stratified" if "stratified" in one.training else "plain"
            place = one.view, size, loss, "memory" if memory else kind
            cells[place] = f"{one.value:.2f} ± {one.error:.2f}".replace("0.", ".")
    for view in ("log-loss, scores", "accuracy, decisions", "AUROC, scores"):
        for size in (32, 128, 1024, 4096):
            for loss in ("SmoothMax", "KL"):
                kinds = [
                    cells.get((view, size, loss, x), "–")
                    for x in ("plain", "memory", "stratified")
                ]
                means = [cell.split(" ")[0] for cell in kinds]
                if means[1:] != ["–", "–"]:
                    best = max(x for x in means if x != "–")
                    kinds = [re.sub(rf"^{best}", f"**{best}**", x) for x in kinds]
                yield f"| {view} | {size:,} | {loss} | {' | '.join(kinds)} |"


@pytest.mark.slow
def test_page_about_small_batches_has_the_volumes_of_its_runs():
    page = (ROOT / "docs" / "measurements.md").read_text()
    rows = page.split("| utility, violation |")[1].split("\n\n")[0].splitlines()[2:]
    assert rows == [*batch_table()]


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
