"""`make demo` runs, prints its tables, draws its figure and certifies a rule."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from processes import finish, start
from torchrun import SCRIPT

pytestmark = pytest.mark.process

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
PNG = b"\x89PNG\r\n\x1a\n"


def run(*options):
    """Run it as a user does, but a warning is an error."""
    return subprocess.run(
        [sys.executable, "-W", "error", DEMO, *options],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        timeout=300,
    )


def test_demo_prints_its_tables_and_writes_the_figure(tmp_path):
    output = tmp_path / "new" / "figure.png"
    done = run("--rows", "3000", "--epochs", "10", "--seed", "1", "--output", output)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if str(output) not in line) <= 110
    assert "50/50 epochs" in done.stdout
    assert any(line.startswith("900 people") for line in lines)
    for name in ("AUROC", "violation", "typical", "everybody", "region=islands"):
        assert name in done.stdout
    for notion in ("DP", "EO", "PP", "TE"):
        (row,) = (line for line in lines if line.startswith(f"{notion}  "))
        assert row.count("→") == 3  # scores, decisions and typical, before and after
    woman, decided = (line for line in lines if line.startswith("sex=woman"))
    assert woman.count("→") == 4
    assert decided.count("→") == 2  # share accepted and violation
    assert decided.endswith("%")  # its interval in the population
    assert "The tolerance (max_violation 0.1) is met on the fit rows" in done.stdout
    assert "in the population is between" in done.stdout
    assert output.read_bytes().startswith(PNG)


@pytest.mark.slow
def test_demo_trains_only_the_notions_it_is_asked_for(tmp_path):
    output = tmp_path / "figure.png"
    small = ("--rows", "200", "--epochs", "1", "--output", output)
    code, out, err = finish(start(SCRIPT, DEMO, "--notions", "PP", "DP", "EO", *small))
    assert code == 0, err
    assert "4/4 epochs" in out
    assert "TE  " not in out
    assert "at most 10% apart" in out
    assert "the rule refuses everybody" in out  # after a single epoch
    assert output.read_bytes().startswith(PNG)


def test_demo_refuses_what_it_cannot_split(tmp_path):
    output = tmp_path / "figure.png"
    code, _, err = finish(start(SCRIPT, DEMO, "--rows", "10", "--output", output))
    assert code == 2
    assert "--rows must be at least 200" in err
    assert not output.exists()
