"""Panels have the right marks in the right places."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from fairret.lab.plot import NoResultsError
from fairret.lab.plot.style import LOOKS, read_caption
from fairret.lab.plot.trade_offs import MAIN, OTHER
from made_up_panels import (
    DATASETS,
    STATISTICS,
    curves,
    drawn,
    ellipses,
    one_panel,
    results,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_layout")]  # draws


@pytest.mark.parametrize("part", ["train", "test"])
def test_marks_are_the_means_over_seeds(tmp_path, part):
    data = results(tmp_path)
    figure = drawn(data, part=part)
    axes = np.array(figure.axes).reshape(4, 2)
    for j, dataset in enumerate(DATASETS):
        for i, name in enumerate(STATISTICS):
            own = data[(data.dataset == dataset) & (data.method == "SmoothMax")]
            own = own[own.statistic == name].groupby("strength")
            line = curves(axes[i, j])["SmoothMax"]
            y = f"{part}/violation/{name}/scores/all"
            np.testing.assert_allclose(line.get_xdata(), own[f"{part}/auroc"].mean())
            np.testing.assert_allclose(line.get_ydata(), own[y].mean())


def test_methods_have_colours_and_markers_of_their_own(tmp_path):
    assert len({look.colour for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.marker for look in LOOKS.values()}) == len(LOOKS)
    found = curves(one_panel(results(tmp_path)).axes[0])
    assert list(found) == ["Unfair", "SmoothMax", "KL", "HSIC"]
    for name, line in found.items():
        assert to_hex(line.get_color()) == LOOKS[name].colour.lower()
        assert line.get_marker() == LOOKS[name].marker


def test_each_mark_of_several_seeds_has_an_ellipse_around_it(tmp_path):
    figure = drawn(results(tmp_path))
    for ax in figure.axes:
        marks = [point for line in curves(ax).values() for point in line.get_xydata()]
        found = ellipses(ax)
        assert len(found) == len(marks) == 1 + 3 + 2 + 2
        for patch, mark in zip(found, marks, strict=True):
            outline = patch.get_xy()[:-1]  # the last point closes it
            np.testing.assert_allclose(outline.mean(0), mark)
    assert "mean over 3 seeds; ellipses" in read_caption(figure)


def test_one_seed_has_marks_without_ellipses(tmp_path):
    figure = drawn(results(tmp_path, seeds=[5]))
    assert all(not ellipses(ax) and len(curves(ax)) == 4 for ax in figure.axes)
    assert "mean over 1 seed." in read_caption(figure)


def test_two_seeds_make_lines_that_are_drawn(tmp_path):
    figure = drawn(results(tmp_path, seeds=[5, 6]))
    for patch in (patch for ax in figure.axes for patch in ellipses(ax)):
        assert patch.get_linewidth() > 0
        assert 0 < patch.get_edgecolor()[3] < 1
    assert "lines through them: one standard error" in read_caption(figure)


def test_methods_of_ones_own_are_drawn_and_told_apart(tmp_path):
    names = {"Norm": "Mine", "HSIC": "Yours"}
    data = results(tmp_path).replace({"method": names})
    for methods in (MAIN, OTHER):
        figure = one_panel(data, methods)
        found = curves(figure.axes[0])
        mine, yours = found["Mine"], found["Yours"]
        assert mine.get_color() != yours.get_color()
        assert mine.get_marker() != yours.get_marker()
        known = {look.marker for look in LOOKS.values()}
        assert not known & {mine.get_marker(), yours.get_marker()}
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert {"Mine", "Yours"} < {*labels}


def test_reduction_that_draws_decisions_is_only_in_figures_of_decisions(tmp_path):
    name = "ExponentiatedGradient"
    data = results(tmp_path).replace({"method": {"HSIC": name}})
    data.loc[data["method"] == name, "test/auroc"] = 0.5  # it means nothing
    decisions = {"utility": "accuracy", "channel": "decisions"}
    at_rate = {"utility": "accuracy_at_base_rate", "channel": "decisions"}
    for view in ({}, decisions, decisions | {"utility": "log_loss"}, at_rate):
        figure = one_panel(data, ("Unfair", "KL", name), **view)
        assert (name in curves(figure.axes[0])) == (view == decisions)
        words = f"{name} draws its decisions at random"
        assert words in read_caption(figure)
        assert ("no scores to show" in read_caption(figure)) == (view != decisions)
        assert "Not in the store" not in read_caption(figure)


def test_marks_within_chance_are_hollow(tmp_path):
    """In one panel no seed, one of three, two, or all are beyond chance."""
    wanted = {0: 0, 0.1: 1, 1: 2, 10: 3}  # seeds by strength

    def change(run, result):
        own = {k: float(run.seed < wanted.get(run.strength, 0)) for k in result}
        return result | {k: v for k, v in own.items() if "beyond_chance" in k}

    figure = drawn(results(tmp_path, change))
    for ax in figure.axes:
        hollow = np.concatenate(
            [line.get_xydata() for line in ax.lines if line.get_label() == "_within"]
        )
        marks = curves(ax)["SmoothMax"].get_xydata()
        found = [bool((hollow == mark).all(1).any()) for mark in marks]
        assert found == [True, False, False]
    assert "A mark is filled if, in most seeds, at least one group" in read_caption(
        figure
    )
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"beyond chance", "not beyond chance"} < {*labels}


def test_marks_without_a_verdict_are_grey_beside_those_with_one(tmp_path):
    """As where a table of earlier runs is beside a new one."""
    data = results(tmp_path)
    verdicts = [name for name in data if "beyond_chance" in name]
    data.loc[data["dataset"] == "bank", verdicts] = np.nan
    figure = drawn(data)
    for ax in figure.axes:
        grey = [x for x in ax.lines if x.get_label() == "_not_judged"]
        bank = ax.get_subplotspec().colspan.start == 0
        assert len(grey) == (len(curves(ax)) if bank else 0)
    assert "Pale grey marks are not judged" in read_caption(figure)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"beyond chance", "not beyond chance", "not judged"} < {*labels}


def test_baselines_are_in_every_row(tmp_path):
    data = results(tmp_path)
    hsic = data[(data.dataset == "bank") & (data.method == "HSIC")]
    axes = drawn(data).axes
    for i, name in enumerate(STATISTICS):
        line = curves(axes[2 * i])["HSIC"]
        want = hsic.groupby("strength")[f"test/violation/{name}/scores/all"].mean()
        np.testing.assert_allclose(line.get_ydata(), want)


def test_figure_without_the_unfair_model_is_drawn(tmp_path):
    data = results(tmp_path, wanted=lambda run: run.method == "KL")
    assert list(curves(one_panel(data).axes[0])) == ["KL"]


def test_violation_beyond_chance_has_a_figure(tmp_path):
    data = results(tmp_path)
    usual, beyond = drawn(data), drawn(data, measure="violation_beyond_chance")
    for one, other in zip(usual.axes, beyond.axes, strict=True):
        want = 0.5 * curves(one)["KL"].get_ydata()
        np.testing.assert_allclose(curves(other)["KL"].get_ydata(), want)
    assert beyond.axes[0].get_ylabel() == "DP beyond chance"
    assert "Violation beyond chance of scores, for all traits" in read_caption(beyond)


def test_other_fairrets_have_a_figure_of_their_own(tmp_path):
    figure = one_panel(results(tmp_path), OTHER)
    assert list(curves(figure.axes[0])) == ["Unfair", "Norm"]


def test_single_trait_shows_runs_and_columns_of_the_single_trait(tmp_path):
    data = results(tmp_path, traits=["single"])
    figure = one_panel(data, traits="single")
    own = data[(data.dataset == "bank") & (data.method == "KL")]
    own = own[own.statistic == "pr"].groupby("strength")
    line = curves(figure.axes[0])["KL"]
    want = own["test/violation/pr/scores/single"].mean()
    np.testing.assert_allclose(line.get_ydata(), want)
    said = "with `traits` all; got .*with `traits` single"
    with pytest.raises(NoResultsError, match=said):
        drawn(data[data.method == "KL"])  # none was trained for all traits


def test_options_that_differ_are_curves_of_their_own(tmp_path):
    figure = one_panel(results(tmp_path, limits=[3, 20]))
    found = curves(figure.axes[0])
    lines = [found[f"KL (at most {steps} steps)"] for steps in (3, 20)]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert lines[0].get_marker() != lines[1].get_marker()
