"""docs/audit.md: its code runs, its options exist, and it names every field."""

import re
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from fairret.auditing.gate import MODES, Status
from fairret.auditing.plain import schema
from fairret.cli.app import app
from people import people

TEXT = (Path(__file__).parent.parent / "docs" / "audit.md").read_text(encoding="utf-8")


def test_every_python_block_runs_in_order(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(block, names)  # what the page shows
    shown = capsys.readouterr().out
    assert "Demographic parity: beyond chance." in shown
    assert names["content"].keys() == schema()["properties"].keys()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ">Gate: " in page
    card = (tmp_path / "CARD.md").read_text(encoding="utf-8")
    assert card.startswith("---\n")
    assert "The gate is passed" in card


def commands():
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL):
        yield from block.replace("\\\n", " ").strip().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("command", list(commands()))
def test_every_command_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = people(400).assign(before=lambda x: x["p"], after=lambda x: x["p"] ** 2)
    for name in ("predictions", "before", "after"):
        frame.to_csv(f"{name}.csv", index=False)
    frame.to_parquet("predictions.parquet")
    program, *arguments = command.split()
    assert program == "fairret"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == (1 if "--gate" in command else 0), result.stderr
    for option in ("--report", "--output"):
        if option in arguments:
            assert Path(arguments[arguments.index(option) + 1]).exists()


def test_every_option_exists():
    text = CliRunner().invoke(app, ["audit", "--help"], terminal_width=200).stdout
    for option in set(re.findall(r"--[a-z][a-z-]+", TEXT)):
        assert re.search(rf"{option}[ ,]", text), option


def test_every_field_verdict_status_and_mode_is_named():
    whole = schema()
    verdicts = whole["$defs"]["verdict"]["properties"]["status"]["enum"]
    outcomes = whole["$defs"]["outcome"]["properties"]["status"]["enum"]
    assert tuple(outcomes) == get_args(Status)
    modes = whole["$defs"]["gate"]["properties"]["mode"]["enum"]
    assert tuple(modes) == MODES
    for name in (*whole["properties"], *verdicts, *outcomes, *modes):
        assert f"`{name}`" in TEXT, name


def test_every_link_leads_somewhere():
    root = Path(__file__).parent.parent / "docs"
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (root / target).exists(), target


def test_tables_are_narrow():
    for line in re.findall(r"^\|.*\|$", TEXT, re.MULTILINE):
        assert line.count("|") - 1 <= 7
