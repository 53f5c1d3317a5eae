"""The page about the paper's claims, its template and its words."""

import re
from pathlib import Path

import pandas as pd
import pytest

from fairret.lab.experiment.differences import compare_volumes
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


def batch_volumes(measure):
    """Volumes by dataset, view, size of the batches, loss and way to train."""
    files = ("batches", "batches_stratified", "batches_medium", "batches_large")
    runs = pd.concat([read_frame(ROOT / "results" / f"{x}.parquet") for x in files])
    found = {}
    for one in volumes(runs.drop_duplicates("key"), ("all",), measure, VIEWS):
        size = int(re.search(r"batches of (\d+),", one.training)[1])
        loss, *memory = one.label.split(" ", 1)
        kind = "stratified" if "stratified" in one.training else "plain"
        way = "memory" if memory else kind
        found[one.dataset, one.view, size, loss, way] = one
    return found


def short(value, digits=2):
    """A number without the 0 before its point, and with a true minus."""
    return f"{value:.{digits}f}".replace("0.", ".", 1).replace("-", "−")


def batch_table():
    """Rows of the table of volumes by the size of the batches; the best is bold."""
    found = batch_volumes("violation")
    for view in ("log-loss, scores", "accuracy, decisions", "AUROC, scores"):
        for size in (32, 128, 1024, 4096):
            for loss in ("SmoothMax", "KL"):
                own = [
                    found.get(("acsincome", view, size, loss, way))
                    for way in ("plain", "memory", "stratified")
                ]
                means = [short(x.value) if x else "" for x in own]
                alone = not any(means[1:])
                cells = [
                    f"**{mean}**" if mean == max(means) and not alone else mean
                    for mean in means
                ]
                words = [
                    f"{cell} ± {short(one.error)}" if one else "–"
                    for cell, one in zip(cells, own, strict=True)
                ]
                yield f"| {view} | {size:,} | {loss} | {' | '.join(words)} |"


def memory_table():
    """Rows of what a memory adds to volumes beyond chance, with intervals."""
    found = batch_volumes("violation_beyond_chance")
    for dataset, title in (("acsincome", "ACSIncome"), ("creditcard", "CreditCard")):
        for size in (32, 128, 1024):
            cells = []
            for loss in ("SmoothMax", "KL"):
                for view in ("log-loss, scores", "accuracy, decisions"):
                    place = (dataset, view, size, loss)
                    gap = compare_volumes(
                        found[(*place, "memory")], found[(*place, "plain")]
                    )
                    mean, low, high = (
                        ("+" if x >= 0 else "") + short(x) for x in gap[:3]
                    )
                    words = f"{mean} ({low} to {high})"
                    cells.append(f"**{words}**" if gap.sign else words)
            yield f"| {title}, {size:,} | {' | '.join(cells)} |"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "table"),
    [("| utility, violation |", batch_table), ("| dataset, rows |", memory_table)],
)
def test_page_about_small_batches_has_the_volumes_of_its_runs(head, table):
    page = (ROOT / "docs" / "measurements.md").read_text()
    rows = page.split(head)[1].split("\n\n")[0].splitlines()[2:]
    assert rows == [*table()]


def test_page_says_which_revisions_and_seeds_are_missing(numbers):
    found, _ = numbers
    (row,) = found.content_table().splitlines()
    assert row.endswith(": 186 runs | 2, 3 seeds |")
    words = found.unfinished()
    first, second, *_, last = words.replace(" and ", ", ").split(", ")
    assert first == "the seeds of `trade_offs` from 3 on"
    assert (second, last) == ("all of `trade_offs_acs`", "all of `single_trait_acs`")
    assert found.partial_runs() == "0"


def test_mistyped_option_is_refused(claims, capsys):
    with pytest.raises(SystemExit, match="2"):
        claims.main(["--wrte"])
    assert "--wrte" in capsys.readouterr().err


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
