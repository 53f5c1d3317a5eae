"""Panels are large enough, in order, and named after the rows they are of."""

import json

import numpy as np
import pytest
from matplotlib.text import Text

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import frame
from fairret.lab.experiment.trade_off import (
    Curve,
    MixedRowsError,
    View,
    name_variants,
)
from fairret.lab.plot import style
from fairret.lab.plot.looks import styled
from fairret.lab.plot.style import (
    LOOKS,
    SPARE,
    WIDTH,
    canvas,
    dataset_title,
    read_caption,
    set_legend,
)
from fairret.lab.plot.trade_offs import draw_trade_offs
from stored_runs import fill, write_file

pytestmark = pytest.mark.slow  # draws figures


def results(tmp_path, change=lambda run, result: result, **of):
    file = write_file(tmp_path, **of)
    store = fill(tmp_path / "made_up.sqlite", file, change)
    return frame(store, list_runs(read_experiment(file)))


def drawn(data, datasets=("bank",), statistics=("pr",), **view):
    return draw_trade_offs(data, datasets, statistics, View(**view))


def even(level, spread=0.0):
    """Give all marks one violation, up to what its seeds differ by."""

    def change(run, result):
        y = level + spread * (run.seed - 1)
        return result | {k: y for k in result if "violation" in k}

    return change


def test_ellipses_are_within_their_panel(tmp_path):
    figure = drawn(results(tmp_path, even(1.0, 0.4)))
    (ax,) = figure.axes
    low, high = ax.get_ylim()
    reach = [patch.get_xy()[:, 1] for patch in ax.patches if patch.get_gid()]
    assert max(y.max() for y in reach) == pytest.approx(1 + 0.4 / 3**0.5)
    assert all(low < y.min() and y.max() < high for y in reach)


def test_wild_ellipse_does_not_squeeze_the_marks(tmp_path):
    figure = drawn(results(tmp_path, even(1.0, 9.0)))
    assert figure.axes[0].get_ylim()[1] < 1.6


def test_text_has_eight_points_at_the_width_of_a_page(tmp_path):
    data = results(tmp_path, datasets=["bank", "lawschool", "acsincome"], seeds=[0])
    figure = drawn(data, ("bank", "lawschool", "acsincome"), ("pr", "tpr"))
    assert figure.get_figwidth() <= WIDTH
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 8


def test_options_and_settings_are_named_in_words():
    sets = [
        {"gradient": "exact", "sharpness": 5.0, "memory": 0, "hidden": [8, 4]},
        {"gradient": "paper", "sharpness": 1.0, "memory": 9, "hidden": []},
        {"bandwidth": 2**-0.5, "power": 3, "learning_rate": 0.0005},
        {"patience": 0, "validation": 0.0},
        {"patience": 10, "validation": 0.2},
    ]
    assert [*name_variants([*map(json.dumps, sets)]).values()] == [
        "exact gradient, sharpness 5, no memory, 8-4",
        "paper gradient, sharpness 1, memory, no hidden layer",
        "FFB's bandwidth, power 3, learning rate 0.0005",
        "no early stopping, no validation rows",
        "patience of 10, validation share 0.2",
    ]


def test_variants_of_a_method_differ_in_colour_marker_and_line():
    one = Curve("HSIC", "", ())
    looks = [(own, line) for _, own, line in styled([one] * 4, LOOKS)]
    assert looks[0] == (LOOKS["HSIC"], "-")
    assert [own.colour for own, _ in looks] == [
        *("#CC79A7", "#854F6D"),
        *("#563347", "#38212E"),
    ]
    assert len({own.marker for own, _ in looks}) == 4
    assert len({line for _, line in looks}) == 4


def test_ways_to_train_are_rows_and_datasets_columns(tmp_path):
    data = results(tmp_path, batches=[32, 128, 4096], seeds=[0])
    figure = drawn(data, ("bank", "lawschool"))
    axes = np.array(figure.axes).reshape(3, 2)
    assert [ax.get_title() for ax in axes[0]] == ["Bank", "LawSchool"]
    words = [ax.get_ylabel() for ax in axes[:, 0]]
    assert words == [f"DP violation\nbatches of {n}" for n in (32, 128, 4096)]
    for k, (name, size) in enumerate(
        (name, size) for size in (32, 128, 4096) for name in ("bank", "lawschool")
    ):
        own = data[(data.dataset == name) & (data.method == "SmoothMax")]
        own = own[(own.statistic == "pr") & own.training.str.contains(f": {size},")]
        line = next(x for x in figure.axes[k].lines if x.get_label() == "SmoothMax")
        want = own.sort_values("strength")["test/violation/pr/scores/all"]
        np.testing.assert_allclose(line.get_ydata(), want)


def test_datasets_that_were_trained_in_other_ways_share_their_rows(tmp_path):
    data = results(tmp_path, datasets=["bank", "acsincome"], seeds=[0])
    fewer = data["training"].str.replace('"epochs": 100', '"epochs": 40')
    acs = data["dataset"] == "acsincome"
    data["training"] = data["training"].where(~acs, fewer)
    figure = drawn(data, ("bank", "acsincome"), ("pr", "tpr"))
    assert len(figure.axes) == 2 * 2
    words = "Training: Bank: 100 epochs; ACSIncome (46 % sample): 40 epochs."
    assert words in read_caption(figure)


def test_sample_is_called_one(tmp_path):
    (ax,) = drawn(results(tmp_path, datasets=["acsincome"]), ["acsincome"]).axes
    assert ax.get_title() == "ACSIncome (46 % sample)"
    assert dataset_title("acsincome", 39_133) == "ACSIncome"
    assert dataset_title("bank", 10) == "Bank"


def test_runs_of_a_sample_and_of_the_whole_table_are_not_mixed(tmp_path):
    data = results(tmp_path, datasets=["acsincome"])
    data.loc[data["method"] == "KL", "test/rows"] = 39_133
    with pytest.raises(MixedRowsError, match="17992 and 39133"):
        drawn(data, ["acsincome"])


@pytest.mark.parametrize("letters", [3, 12, 40])
def test_legend_is_as_wide_as_the_figure_at_most(letters):
    with canvas(1, 1, (7.0, 3.0)) as (figure, grid):
        handles = [
            grid[0, 0].plot([0, 1], label=f"{k}{'m' * letters}")[0] for k in range(7)
        ]
        set_legend(figure, handles)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


def test_spare_looks_are_nobodys():
    used = [*LOOKS.values(), *SPARE]
    assert len({look.colour for look in used}) == len(used)
    assert len({look.marker for look in used}) == len(used)


@pytest.mark.parametrize("height", [1.2, 1.5, 1.8, 2.1])
def test_ticks_are_those_of_the_layout_when_a_figure_is_saved(height):
    with style.canvas(1, 6, (9, height)) as (figure, grid):
        for k, ax in enumerate(grid[0]):
            ax.set_ylim(0.052, 0.16 + 0.01 * k)
        style.set_height(figure, height)
        before = [x.get_text() for ax in grid[0] for x in ax.get_yticklabels()]
    figure.canvas.draw()
    assert [x.get_text() for ax in grid[0] for x in ax.get_yticklabels()] == before
