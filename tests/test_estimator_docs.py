"""docs/estimator.md: its code runs in order, and says what the page says."""

import re
from pathlib import Path

import pytest

TEXT = Path(__file__).parent.parent.joinpath("docs", "estimator.md").read_text("utf-8")


@pytest.mark.slow
def test_every_python_block_runs_in_order(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(block, names)  # what the page shows
    assert capsys.readouterr().out.startswith("met\nThe tolerance (max_violation 0.1)")
    assert (names["again"].predict(names["people"]) == names["decisions"]).all()
    assert names["search"].best_params_["max_violation"] == 0.05
    assert len(names["rule"].estimators_) == 1


def test_attributes_of_the_page_exist():
    from fairret.estimator import ToleranceClassifier

    table = re.search(r"After `fit`:\n\n(.*?)\n\n", TEXT, re.DOTALL)[1]
    first = [row.split("|")[1] for row in table.splitlines()[2:]]
    named = set(re.findall(r"`(\w+)", " ".join(first)))
    known = set(dir(ToleranceClassifier)) | set(ToleranceClassifier.__annotations__)
    for cls in ToleranceClassifier.__mro__:
        known |= set(getattr(cls, "__annotations__", {}))
    assert len(named) > 9
    assert named <= known
