"""Figures of metrics show what was computed."""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pytest

from batches import sample
from fairret.errors import ArgumentError, MissingExtraError
from fairret.metric import MaxViolation, Parity, ParityTable

N = 83
NAMES = ["north", "south", "islands"]


@pytest.fixture(autouse=True)
def no_figures_left_open():
    yield
    plt.close("all")


def seen(metric):
    logit, sens, label = sample(N, seed=5)
    metric.update(logit.sigmoid(), sens, label)
    return metric


def test_every_group_has_its_mark_at_its_statistic():
    metric = seen(Parity("tpr", names=NAMES, threshold=0.4))
    figure, ax = metric.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == NAMES
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() in "oD"]
    result = metric.compute().decisions
    assert marks == pytest.approx(result.statistic.tolist())
    overall = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert overall == pytest.approx([result.overall.item()])
    assert f"{result.max_violation:.0%}" in ax.get_title(loc="left")
    assert figure is ax.figure


def test_groups_beyond_chance_have_another_shape():
    metric = seen(Parity("pr", names=NAMES))
    _, ax = metric.plot()
    marks = [line.get_marker() for line in ax.lines if line.get_marker() in "oD"]
    groups = metric.compute().scores.groups.values()
    assert marks == ["D" if group.beyond_chance else "o" for group in groups]
    assert "D" in marks
    assert "o" in marks


def test_table_has_a_panel_for_every_statistic():
    metric = seen(ParityTable(["pr", "tpr+fpr"], names=NAMES))
    _, panels = metric.plot()
    assert [ax.get_title(loc="left").split(":")[0] for ax in panels] == [
        "pr",
        "tpr",
        "fpr",
    ]


def test_axes_of_the_caller_are_used():
    metric = seen(Parity("pr", names=NAMES))
    figure, ax = plt.subplots()
    assert metric.plot(ax=ax) == (figure, ax)
    stack = seen(Parity("tpr+fpr", names=NAMES))
    with pytest.raises(ArgumentError, match="one pair of axes for each of the 2"):
        stack.plot(ax=ax)
    figure, both = plt.subplots(1, 2)
    assert stack.plot(ax=list(both))[0] is figure


def test_value_of_a_batch_can_be_drawn():
    logit, sens, _ = sample(N, seed=6)
    metric = Parity("pr", names=NAMES)
    value = metric(logit.sigmoid(), sens)
    _, ax = metric.plot(value)
    assert f"n = {N}" in ax.get_xlabel()


def test_single_number_is_drawn_as_torchmetrics_does():
    figure, ax = seen(MaxViolation("pr")).plot()
    assert "MaxViolation" in ax.get_ylabel()
    assert figure is ax.figure


def test_missing_matplotlib_is_named(monkeypatch):
    metric = seen(Parity("pr"))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"fairret\[plot\]"):
        metric.plot()
