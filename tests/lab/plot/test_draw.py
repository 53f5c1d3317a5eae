"""The script that redraws the committed figures says in a sentence what is wrong."""

from pathlib import Path

import pytest

from processes import finish, start
from torchrun import SCRIPT

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


def test_unknown_figure_is_a_sentence():
    script = ROOT / "experiments" / "draw.py"
    code, out, err = finish(start(SCRIPT, script, "nosuch"))
    assert code == 2
    assert out == ""  # nothing was drawn before
    assert err.startswith("draw.py: Unknown figure 'nosuch'.")
    assert err.count("\n") == 1
