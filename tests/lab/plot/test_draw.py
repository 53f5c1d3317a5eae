"""The script that redraws the committed figures says in a sentence what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


def test_unknown_figure_is_a_sentence():
    script = ROOT / "experiments" / "draw.py"
    done = subprocess.run(
        [sys.executable, script, "nosuch"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""  # nothing was drawn before
    assert done.stderr.startswith("draw.py: Unknown figure 'nosuch'.")
    assert done.stderr.count("\n") == 1
