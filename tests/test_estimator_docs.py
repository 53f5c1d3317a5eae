"""docs/estimator.md: its code runs in order, and says what the page says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "estimator.md").read_text("utf-8")


@pytest.mark.slow
def test_every_python_block_runs_in_order(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # what the page shows
    assert capsys.readouterr().out.startswith("met\nThe tolerance (max_violation 0.1)")
    assert (names["again"].predict(names["people"]) == names["decisions"]).all()
    assert names["search"].best_params_["max_violation"] == 0.05
    assert len(names["rule"].estimators_) == 1


def test_attributes_of_the_page_exist():
    from fairret.estimator import ToleranceClassifier

    table = re.search(r"After `fit`:\n\n(.*?)\n\n", TEXT, re.DOTALL)[1]
    first = [row.split("|")[1] for row in table.splitlines()[2:]]
    named = set(re.findall(r"`(\w+)", " ".join(first)))
    known = set(dir(ToleranceClassifier)) | set(ToleranceClassifier.__annotations__)
    for cls in ToleranceClassifier.__mro__:
        known |= set(getattr(cls, "__annotations__", {}))
    assert len(named) > 9
    assert named <= known


@pytest.mark.parametrize("page", ["docs/estimator.md", "results/estimators.md"])
def test_tables_have_the_committed_results(page):
    """`fairret estimators --show --page PAGE` writes them."""
    from fairret.lab.estimators.page import BLOCKS
    from fairret.lab.tolerance.blocks import BLOCK, renewed
    from fairret.lab.tolerance.table import read

    text = (ROOT / page).read_text("utf-8")
    assert BLOCK.search(text)
    assert renewed(text, read(ROOT / "results" / "estimators.parquet"), BLOCKS) == text


def test_committed_results_are_those_of_the_command():
    from fairret.lab.estimators.methods import ESTIMATORS
    from fairret.lab.tolerance.people import Case
    from fairret.lab.tolerance.table import read

    data = read(ROOT / "results" / "estimators.parquet")
    cases = [Case(*row) for row in data[list(Case._fields)].itertuples(index=False)]
    assert len({*cases}) == len(cases)
    assert {*cases} <= {*ESTIMATORS.list_cases()}
    assert data["commit"].str.fullmatch("[0-9a-f]{40}").all()  # not changed since
