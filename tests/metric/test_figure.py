"""Figures of metrics show what was computed."""

import sys

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from batches import sample
from fairret.errors import ArgumentError, MissingExtraError
from fairret.metric import MaxViolation, Parity, ParityTable
from tables import trait

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
    metric = seen(Parity("tpr", names=NAMES, threshold=0.4, min_size=1))
    figure, ax = metric.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == NAMES
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() in "oD"]
    result = metric.compute().decisions
    assert marks == pytest.approx(result.statistic.tolist())
    overall = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert overall == pytest.approx([result.overall.item()])
    assert f"{result.max_violation:.1%}" in ax.get_title(loc="left")
    assert figure is ax.figure


def test_groups_beyond_chance_have_another_shape():
    metric = Parity("pr", names=["few", "less", "more", "same"], threshold=0.5)
    s = trait(20, 150, 150, 700)
    rate = s @ torch.tensor([0.5, 0.3, 0.7, 0.5]).double()
    metric.update((torch.linspace(0, 7, len(s)).double() % 1 < rate).double(), s)
    _, ax = metric.plot()
    marks = [line.get_marker() for line in ax.lines if line.get_marker() in "xoD"]
    assert marks == ["x", "D", "D", "o"]
    groups = metric.compute().decisions.groups.values()
    assert [group.beyond_chance for group in groups] == [False, True, True, False]
    bands = [(patch.get_x(), patch.get_width()) for patch in ax.patches]
    judged = [group for group in groups if group.judged]
    expected = [(g.chance_low, g.chance_high - g.chance_low) for g in judged]
    np.testing.assert_allclose(bands, expected)
    assert "beyond chance" in ax.get_title(loc="left")


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
