"""Panels have scales and labels that show what matters."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.text import Text

from fairret.lab.plot.scale import _farthest
from fairret.lab.plot.style import read_caption
from made_up_panels import drawn, one_panel, results

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_layout")]  # draws


@pytest.mark.parametrize("refuses", [True, False])
def test_a_model_that_refuses_everyone_does_not_set_the_width(tmp_path, refuses):
    """It is the fairest: a model with as little violation that accepts some does."""

    def change(run, result):
        if (run.method, run.strength) != ("KL", 10):
            return result | {"test/positive_rate": 0.3}
        level = {key: 0.0 for key in result if "/violation/" in key}
        return (
            result
            | level
            | {
                "test/accuracy": 0.8,
                "test/positive_rate": 0.0 if refuses else 0.3,
            }
        )

    data = results(tmp_path, change)
    figure = one_panel(data, utility="accuracy", channel="decisions")
    low, _ = figure.axes[0].get_xlim()
    assert (low > 0.81) == refuses
    assert (
        "crosses at an edge: 1 mark outside the axes." in read_caption(figure)
    ) == refuses
    crosses = [x for x in figure.axes[0].lines if x.get_label() == "_beyond"]
    assert [x.get_marker() for x in crosses] == ["x"] * refuses


def test_ends_of_curves_have_their_strengths(tmp_path):
    for ax in drawn(results(tmp_path)).axes:
        texts = [text.get_text() for text in ax.texts if text.get_text() != "log scale"]
        assert sorted(texts) == sorted(["0.1", "10", "1", "10", "30", "300"])


def test_logarithmic_scales_are_marked(tmp_path):
    data = results(tmp_path)
    near = data.copy()
    columns = [name for name in data if "/violation/" in name]
    near[columns] = 0.5
    far = data.copy()
    far.loc[far["method"] == "KL", columns] *= 1e-4
    for own, scale in ((near, "linear"), (far, "log")):
        for ax in drawn(own).axes:
            marked = "log scale" in [text.get_text() for text in ax.texts]
            assert ax.get_yscale() == scale
            assert marked == (scale == "log")


def test_only_the_farthest_mark_is_left_out_where_many_are_far():
    """Of six poor marks among twenty, one is far enough to squash the others."""
    loss = np.array([*[0.0] * 14, 0.01, 0.011, 0.5, 0.012, 0.013, 0.014])
    far = _farthest(0.9 - loss, loss > 0, loss)
    assert [*np.flatnonzero(far)] == [16]
    assert not _farthest(0.9 - loss, loss == 0.011, loss).any()  # it squashes nothing
    loss[16] = 0.015
    assert not _farthest(0.9 - loss, loss > 0, loss).any()


@pytest.mark.parametrize("worse", ["violation", "auroc"])
def test_a_single_far_curve_does_not_squash_a_panel(tmp_path, worse):
    def change(run, result):
        if run.method != "HSIC" or run.strength != 300:
            return result
        far = {"test/auroc": 0.75} if worse == "auroc" else {}
        level = 0.35 if worse == "auroc" else 30.0
        return result | far | {k: level for k in result if "/violation/" in k}

    figure = drawn(results(tmp_path, change))
    for ax in figure.axes:
        (arrow,) = (x for x in ax.lines if x.get_label() == "_beyond")
        points = "up" if worse == "violation" else "left"
        assert arrow.get_marker() == rf"$\{points}arrow$"
        assert ax.get_ylim()[1] < 5
        assert ax.get_xlim()[0] > 0.8
    assert "crosses at an edge: 8 marks outside the axes." in read_caption(figure)


def test_a_costly_mark_that_is_fairer_than_all_others_is_inside(tmp_path):
    def change(run, result):
        if run.method != "KL" or run.strength != 10:
            return result
        lower = {k: 1e-4 for k in result if "/violation/" in k}
        return result | {"test/auroc": 0.75} | lower

    figure = drawn(results(tmp_path, change))
    for ax in figure.axes:
        assert not [x for x in ax.lines if x.get_label() == "_beyond"]
        assert ax.get_xlim()[0] < 0.75
    assert "Arrows" not in read_caption(figure)


def test_log_loss_falls_to_the_right(tmp_path):
    data = results(tmp_path)
    figure = one_panel(data, utility="log_loss", channel="decisions")
    for ax in figure.axes:
        left, right = ax.get_xlim()
        assert left > right
    assert not one_panel(data).axes[0].xaxis_inverted()


def test_wide_spread_gets_a_log_scale_and_zeros_a_symlog_one(tmp_path):
    def change(run, result):
        level = {0: 1.0, 10: 0.0}.get(run.strength, 0.02)
        zero = {"test/violation/tpr/scores/all": level}
        even = {"test/violation/pr/scores/all": 0.3 + 0.1 * run.seed}
        return result | zero | even

    axes = drawn(results(tmp_path, change)).axes
    assert [axes[k].get_yscale() for k in (0, 2, 4)] == ["linear", "symlog", "log"]


def test_labels_of_curves_that_end_at_the_same_mark_do_not_touch(tmp_path):
    def change(run, result):
        same = {key: 0.3 for key in result if "/violation/" in key}
        return result | same | {"test/auroc": 0.9 if run.strength < 3 else 0.8}

    figure = drawn(results(tmp_path, change, datasets=["bank"]))
    figure.draw_without_rendering()
    for ax in figure.axes:
        own = [x for x in ax.texts if x.get_text() != "log scale"]
        boxes = [Text.get_window_extent(text) for text in own]  # without their lines
        assert len(boxes) == 6
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
