"""Results on disk: what was there stays, and nothing is half written."""

import math
from pathlib import Path

import pandas as pd
import pytest

from fairret.errors import DataFileError
from fairret.lab.tolerance.blocks import BLOCK, renewed
from fairret.lab.tolerance.cases import Method
from fairret.lab.tolerance.methods import RULES
from fairret.lab.tolerance.page import BLOCKS
from fairret.lab.tolerance.people import Case
from fairret.lab.tolerance.results import Result
from fairret.lab.tolerance.run import run_cases
from fairret.lab.tolerance.table import Table, read

COMMITTED = Path(__file__).parents[3] / "results" / "tolerance.parquet"
ONE = Case("bank", 3, "all", "toy", "pr", 0.1)
NONE = ONE._replace(tolerance=math.inf)
BAD = ONE._replace(notion="bad")


@pytest.fixture
def tried():
    """The cases that a toy method was called with, and the method by its name."""
    cases = []

    def fit(case):
        cases.append(case)
        if case == BAD:
            raise ZeroDivisionError("no rows")
        return Result({"test/accuracy": 0.75, "status": "met"}, 2.0, 5.0)

    return cases, {"toy": Method(fit, ())}


def test_second_run_skips_what_is_there_and_keeps_it(tmp_path, tried):
    path = tmp_path / "new" / "t.parquet"
    cases, methods = tried
    assert run_cases([ONE, NONE], Table(path), methods) == 2
    assert run_cases([ONE, NONE, BAD], Table(path), methods) == 1
    assert cases == [ONE, NONE, BAD]
    data = pd.read_parquet(path)
    assert data["tolerance"].tolist() == [0.1, math.inf, 0.1]
    assert data["test/accuracy"].tolist()[:2] == [0.75, 0.75]
    assert data["seconds"].tolist()[0] == 2
    assert {"commit", "torch", "fairlearn"} & {*data.columns}


def test_failed_case_is_stored_with_its_reason(tmp_path, tried):
    table = Table(tmp_path / "t.parquet")
    run_cases([BAD, ONE], table, tried[1])
    data = table.frame()
    assert data["status"].tolist() == ["failed", "met"]
    assert data["reason"][0].startswith("ZeroDivisionError: no rows")


def test_interrupted_run_keeps_its_cases(tmp_path, tried):
    def stop(case):
        if case == NONE:
            raise KeyboardInterrupt

    table = Table(tmp_path / "t.parquet")
    with pytest.raises(KeyboardInterrupt):
        run_cases([ONE, NONE], table, tried[1], stop)
    assert ONE in Table(table.path)
    assert NONE not in Table(table.path)


def test_file_of_another_kind_is_refused_and_stays(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"dataset": ["bank"]}).to_parquet(path)
    with pytest.raises(DataFileError, match="lacks seed, traits, method, notion"):
        Table(path)
    path.write_text("no table")
    with pytest.raises(DataFileError, match="must be a Parquet file"):
        Table(path)
    assert path.read_text() == "no table"


def test_committed_results_are_those_of_the_command():
    data = read(COMMITTED)
    cases = {Case(*row) for row in data[list(Case._fields)].itertuples(index=False)}
    assert len(cases) == len(data)
    assert cases <= {*RULES.list_cases()}
    assert data["commit"].str.fullmatch("[0-9a-f]{40}").all()  # not changed since


def test_page_has_the_committed_results():
    """`fairret tolerance --show --page docs/tolerance.md` writes them."""
    text = (COMMITTED.parents[1] / "docs" / "tolerance.md").read_text("utf-8")
    assert {found[2] for found in BLOCK.finditer(text)} == {*BLOCKS}
    assert renewed(text, read(COMMITTED), BLOCKS) == text
