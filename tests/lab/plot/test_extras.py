"""What the figures need, and what they do not."""

import pytest

from processes import finish, start_anew

pytestmark = pytest.mark.process

WITHOUT_EXTRAS = """
import sys
for name in ("rich", "typer", "pandas", "matplotlib", "joblib", "pooch"):
    sys.modules[name] = None
import fairret.lab.plot
print("imported")
"""


def test_figures_are_imported_without_what_prints_tables():
    code, out, err = finish(start_anew(WITHOUT_EXTRAS))
    assert (code, out.strip(), err) == (0, "imported", "")
