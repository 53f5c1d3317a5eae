"""Plugins are code: every command that reads an experiment runs them."""

from pathlib import Path

import pytest

from small_grid import FILE, call


@pytest.mark.parametrize(
    "command",
    [
        ("run", "trusted.toml"),
        ("results", "trusted.toml"),
        ("figure", "trade_offs", "--experiment", "trusted.toml"),
    ],
    ids=lambda command: command[0],
)
def test_command_runs_the_plugins_of_its_file(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "was-run"
    Path("mine.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit(3)")
    Path("trusted.toml").write_text(f'plugins = ["mine.py"]\n{FILE}')
    result = call(*command)
    assert result.exit_code == 2
    assert "mine.py ended with" in result.stderr
    assert mark.exists()
