"""docs/tolerance.md: its code runs in order, and says what the page says."""

import re
from pathlib import Path

import pytest

TEXT = Path(__file__).parent.parent.joinpath("docs", "tolerance.md").read_text("utf-8")


@pytest.mark.slow
def test_every_python_block_runs_in_order(capsys):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(block, names)  # what the page shows
    shown = capsys.readouterr().out
    assert "The tolerance (max_violation 0.1) is met on the fit rows" in shown
    assert "With 95% confidence, the largest violation (pr)" in shown
    assert names["solution"].status == "met"
    assert set(names["decision"].tolist()) == {0.0, 1.0}
    assert names["within"].status.name == "CONVERGED"
    assert names["loss"].isfinite()
