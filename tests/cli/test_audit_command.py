"""The command: tables for people, JSON for machines, and exit codes for both."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fairret
from fairret.auditing.notions import DEFAULT
from fairret.auditing.wording import p_value
from fairret.cli.app import app
from people import people

ONE_TRAIT = ("--label", "y", "--score", "p", "--sensitive", "sex")
USUAL = (*ONE_TRAIT, "--sensitive", "race", "--sensitive", "age")
TITLES = {
    "Demographic parity": "share of people who get a yes",
    "Equal opportunity": "share of the positives who get a yes",
    "False positive parity": "share of the negatives who get a yes",
    "Predictive parity": "share of positives among those who get a yes",
    "False omission parity": "share of positives among those who get a no",
    "Accuracy equality": "share of decisions that are right",
    "Treatment equality": "number of false negatives per false positive",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of predictions, to work in."""
    people(1100).to_csv(tmp_path / "predictions.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options, usual=USUAL, **settings):
    command = ["audit", "predictions.csv", *usual, *options]
    return CliRunner().invoke(app, command, **settings)


def undated(text):
    """Read JSON without the time at which it was made."""
    read = json.loads(text)
    assert re.fullmatch(r"[-\d]{10}T[:\d]{8}\+00:00", read["settings"].pop("date"))
    return read


def in_process_of_its_own(code, *arguments, **environment):
    """Run Python with the package of this test, in UTF-8 unless told otherwise."""
    paths = [str(Path(fairret.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        timeout=120,
        check=False,
    )


@pytest.mark.usefixtures("folder")
def test_command_prints_a_table_and_a_sentence_for_each_notion():
    result = run("--threshold", "0.5")
    assert result.exit_code == 0
    assert result.stderr == ""
    for title, measure in TITLES.items():
        assert result.stdout.count(f"{title} – {measure}") == 1
    words = " ".join(result.stdout.split())
    audit = fairret.audit(
        "predictions.csv", score="p", label="y", sensitive=["sex", "race", "age"]
    )
    for section in audit.sections:
        mark = "◆" if section.decisions.beyond_chance else "○"
        assert words.count(f"{mark} {audit.verdict(section)}") == 1
        assert f"all groups p {p_value(float(section.decisions.test.p_value))}" in words
    assert "◆ Demographic parity: beyond chance." in words
    assert words.count("Wald's test of parity: all groups p") == len(DEFAULT)
    lines = result.stdout.splitlines()
    for part in (part for section in audit.sections for part in section.parts):
        for name, group in part.decisions.groups.items():
            rows = [line.split() for line in lines if line.startswith(f"{name} ")]
            assert len(rows) == len(DEFAULT)
            shown = (f"{group.count:,.0f}", f"{group.violation:.1%}")
            assert any(set(shown) <= set(row) for row in rows)


@pytest.mark.process
def test_json_is_alone_on_standard_output_and_the_bar_on_the_other(folder):
    code = "from fairret.cli import main; main()"
    options = [*USUAL, "--json", "--intersect", "sex,race", "--min-size", "3"]
    result = in_process_of_its_own(
        code,
        *("audit", str(folder / "predictions.csv"), *options),
        FORCE_COLOR="1",  # as if there were a terminal
        PYTHONIOENCODING="ascii",  # which does not have the sign ×
    )
    assert result.returncode == 0
    assert b"Reading predictions.csv" in result.stderr
    read = json.loads(result.stdout.decode("utf-8"))
    assert [notion["name"] for notion in read["notions"]] == list(DEFAULT)
    groups = read["notions"][0]["statistics"][0]["decisions"]["groups"]
    assert "sex=f × race=late" in [group["name"] for group in groups]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_json_equals_that_of_the_call():
    options = {"score": "p", "label": "y", "sensitive": ["sex", "race", "age"]}
    audit = fairret.audit("predictions.csv", **options)
    assert undated(run("--json").stdout) == undated(audit.to_json())


@pytest.mark.slow
def test_options_reach_the_audit(folder):
    people(1100).to_csv(folder / "other.tsv", sep="\t", index=False)
    result = CliRunner().invoke(
        app,
        [
            *(
                "audit",
                "other.tsv",
                *ONE_TRAIT,
                "--sensitive",
                "age",
                "--positive",
                "0",
            ),
            *("--threshold", "0.4", "--weight", "w"),
            *("--bins", "age=30.5,50", "--intersect", "sex, age", "--min-size", "12"),
            *("--notion", "tpr+fpr", "--notion", "f_score", "--confidence", "0.9"),
            *("--max-categories", "9", "--delimiter", "tab", "--json", "--logits"),
            *("--unfavourable", "--name", "fraud 2.1"),
        ],
    )
    audit = fairret.audit(
        "other.tsv",
        label="y",
        positive=0,
        score="p",
        sensitive=["sex", "age"],
        threshold=0.4,
        weight="w",
        bins={"age": [30.5, 50]},
        intersections=[("sex", "age")],
        min_size=12,
        notions=["tpr+fpr", "f_score"],
        confidence=0.9,
        max_categories=9,
        delimiter="\t",
        logits=True,
        favourable=False,
        name="fraud 2.1",
    )
    assert undated(result.stdout) == undated(audit.to_json())


@pytest.mark.usefixtures("folder")
def test_all_crosses_every_trait():
    result = run("--intersect", "all", "--min-size", "5", "--notion", "pr")
    assert "sex=f × race=a × " in re.sub(r"\s+", " ", result.stdout)
    assert "not shown" not in result.stdout
    few = run("--intersect", "all", "--notion", "pr", "--max-categories", "20")
    assert "combinations have fewer than 30 rows and are not shown" in few.stdout


@pytest.mark.parametrize(
    "options", [["--treshold", "1"], ["--threshold", "half"], ["one", "too", "many"]]
)
@pytest.mark.usefixtures("folder")
def test_wrong_use_has_exit_code_2(options):
    result = run(*options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_report_is_written_and_named(folder):
    result = run("--report", "report.html", "--notion", "pr")
    assert result.exit_code == 0
    assert result.stderr == "Report written to report.html\n"
    assert "Report written" not in result.stdout
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Fairness audit of predictions.csv" in page


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 160])
def test_groups_are_readable_in_terminals_of_any_width(columns, folder):
    result = run("--notion", "pr", env={"FORCE_COLOR": "1", "COLUMNS": str(columns)})
    text = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)
    assert max(map(len, text.splitlines())) <= columns
    assert re.search(r"^sex=f .*\d\d\.\d%", text, re.M)
    assert "…" not in text


def test_markup_in_names_stays_text(folder):
    frame = people(500)
    frame["sex"] = frame["sex"].map(
        {"f": "[bold]f[/bold]", "m": "[/] :smile: [link=x]"}
    )
    frame.columns = [*frame.columns[:3], "[red]race", *frame.columns[4:]]
    frame.to_csv(folder / "[red].csv", index=False)
    options = "--score p --sensitive sex --sensitive [red]race --report [b].html"
    result = CliRunner().invoke(app, ["audit", "[red].csv", *options.split()])
    assert result.exit_code == 0
    for name in ("sex=[bold]f[/bold]", "sex=[/] :smile: [link=x]", "[red]race=late"):
        assert name in result.stdout
    assert "Report written to [b].html" in result.stderr


def test_control_characters_in_names_do_not_reach_the_terminal(folder):
    frame = people(500)
    frame["sex"] = frame["sex"].map({"f": "\x1b[31mred\x07", "m": "m"})
    frame.to_csv(folder / "predictions.csv", index=False)
    text = run("--notion", "pr").stdout
    assert "\x1b" not in text
    assert r"sex=\x1b[31mred\x07" in text


def test_rows_that_are_left_out_are_told(folder):
    frame = people(500)
    frame.loc[:6, "p"] = np.nan
    frame.loc[9:11, "race"] = None
    frame.to_csv(folder / "predictions.csv", index=False)
    text = run("--notion", "pr").stdout
    assert "7 rows have no score and were left out" in text
    assert "3 rows have no race and are in none of its groups" in text


def test_help_lists_every_option():
    text = CliRunner().invoke(app, ["audit", "--help"], terminal_width=200).stdout
    names = "score sensitive label threshold notion weight positive bins intersect"
    more = "min-size logits confidence max-categories delimiter missing report json"
    gate = "max-violation fail-above min-ratio max-difference gate"
    for name in f"{names} {more} {gate} unfavourable name output".split():
        assert re.search(rf"--{name}[ ,]", text), name
    assert "Exit codes: 0 done, 1" in text


def test_version_is_that_of_the_package():
    result = CliRunner().invoke(app, ["--version"])
    assert result.stdout == f"fairret {fairret.__version__}\n"


def test_package_can_be_run_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fairret", "--version"])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("fairret", run_name="__main__")
    assert left.value.code in (None, 0)
    assert capsys.readouterr().out == f"fairret {fairret.__version__}\n"


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "extra"), [("audit", "cli"), ("run", "experiment")]
)
def test_missing_package_is_told_in_one_sentence(command, extra):
    code = (
        f"import sys; sys.modules['typer'] = None; sys.argv[1:] = [{command!r}]; "
        "import fairret.cli as c; c.main()"
    )
    result = in_process_of_its_own(code)
    assert result.returncode == 2
    assert result.stderr.decode().splitlines() == [
        "fairret: the command needs typer, which is not installed. Run `pip install "
        f"'fairret[{extra}]'`."
    ]
