"""`make demo` runs, says what it should and draws its figure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
PNG = b"\x89PNG\r\n\x1a\n"


def run(*options):
    return subprocess.run(
        [sys.executable, "-W", "error", DEMO, *options],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        timeout=300,
    )


@pytest.mark.slow
def test_demo_prints_both_tables_and_writes_the_figure(tmp_path):
    output = tmp_path / "new" / "figure.png"
    done = run("--rows", "1500", "--epochs", "4", "--seed", "1", "--output", output)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if str(output) not in line) <= 110
    assert "20/20 epochs" in done.stdout
    assert any(line.startswith("450 people") for line in lines)
    for name in ("AUROC", "violation", "by chance", "everybody", "region=islands"):
        assert name in done.stdout
    for notion in ("DP", "EO", "PP", "TE"):
        (row,) = (line for line in lines if line.startswith(f"{notion}  "))
        assert row.count("→") == 2  # scores and decisions, each before and after
    (woman,) = (line for line in lines if line.startswith("sex=woman"))
    assert woman.count("→") == 4
    assert output.read_bytes().startswith(PNG)


def test_demo_refuses_what_it_cannot_split(tmp_path):
    output = tmp_path / "figure.png"
    done = run("--rows", "10", "--output", output)
    assert done.returncode == 2
    assert "--rows must be at least 200" in done.stderr
    assert not output.exists()
