"""The tutorial runs as it stands, and prints what it says."""

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("skops")

TEXT = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text()


NUMBER = re.compile(r"\d+\.\d+")


def assert_said(words, shown):
    """Find a sentence; its numbers may differ a little on another processor."""
    pattern = NUMBER.sub(r"(\\d+\\.\\d+)", re.escape(words).replace("\\.", "."))
    said = [float(x) for x in NUMBER.findall(words)]
    near = [  # percent, or a share
        pytest.approx(x, abs=1.5 if x > 1 else 0.015) for x in said
    ]
    found = [list(map(float, x.groups())) for x in re.finditer(pattern, shown)]
    assert near in found, (words, found)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("FAIRRET_DATA_HOME"),
    reason="FAIRRET_DATA_HOME does not name a folder with the published tables",
)
@pytest.mark.filterwarnings("ignore:The features can hardly tell:UserWarning")
def test_every_block_runs_and_prints_what_is_quoted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # what the tutorial shows
    shown = " ".join(capsys.readouterr().out.split())
    quotes = re.findall(r"(?:^> .*\n)+", TEXT, re.MULTILINE)
    assert len(quotes) >= 10
    for quote in quotes:
        words = " ".join(line[2:] for line in quote.splitlines())
        assert_said(words, shown)
    for name in ("report.html", "tradeoff.png", "model.skops"):
        assert (tmp_path / name).exists()


def test_commands_of_the_tutorial_name_options_that_exist():
    from typer.testing import CliRunner

    from fairret.cli.app import app

    for command in ("fit", "predict"):
        line = re.search(rf"^fairret {command}(?:.*\\\n)*.*$", TEXT, re.MULTILINE)
        used = set(re.findall(r"--[a-z-]+", line[0]))
        known = CliRunner().invoke(app, [command, "--help"]).stdout
        assert used
        assert all(option in known for option in used)
