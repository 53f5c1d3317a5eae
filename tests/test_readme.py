"""The README's code runs as it stands, one block after the other."""

import re
from pathlib import Path

import pytest
import torch

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_every_python_block_runs_in_order(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one block writes a page
    monkeypatch.setenv("MPLBACKEND", "agg")
    torch.manual_seed(0)  # one network in 200 starts with logits like probabilities
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(block, names)  # what the README shows
    shown = capsys.readouterr().out
    assert "'sex=f', 'sex=m', 'race=1', 'race=2', 'age<30'" in shown
    assert "Projection(status=CONVERGED" in shown
    assert "share of people who get a yes is 50.0% for sex=f" in shown
    assert (tmp_path / "report.html").exists()
    assert names["result"].f_star == pytest.approx([0.38, 0.62, 0.38, 0.62], abs=5e-3)


def test_every_name_in_the_tables_is_known():
    from fairret import loss, statistic

    for line in re.findall(r"^\| .*\|$", README, re.MULTILINE):
        for name in re.findall(r"`\"([\w+]+)\"`", line):
            assert statistic.get_statistic(name)
        for name in re.findall(r"`([A-Z]\w+)", line):
            assert hasattr(statistic, name) or hasattr(loss, name), name


def test_every_python_block_about_scale_runs_in_order():
    text = (Path(__file__).parent.parent / "docs" / "scale.md").read_text()
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    assert names["loss"].isfinite()
    assert len(names["w"]) == 32
