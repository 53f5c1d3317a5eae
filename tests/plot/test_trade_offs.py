"""Panels have the right marks in the right places."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from fairret.experiment import read_experiment, runs_of
from fairret.experiment.frames import frame
from fairret.experiment.trade_off import View
from fairret.plot import NoResultsError
from fairret.plot.style import LOOKS, caption_of
from fairret.plot.trade_offs import MAIN, OTHER, Layout, draw_trade_offs
from stored_runs import fill, write_file

DATASETS, STATISTICS = ("bank", "lawschool"), ("pr", "tpr", "ppv", "fn_fp")


def results(tmp_path, change=lambda run, result: result, wanted=lambda run: True, **of):
    file = write_file(tmp_path, **of)
    store = fill(tmp_path / "made_up.sqlite", file, change, wanted)
    return frame(store, runs_of(read_experiment(file)))


def drawn(data, methods=MAIN, **view):
    return draw_trade_offs(data, Layout(View(**view), methods), DATASETS, STATISTICS)


def curves(ax):
    return {line.get_label(): line for line in ax.lines if line.get_label()[0] != "_"}


def ellipses(ax):
    return [patch for patch in ax.patches if patch.get_gid() == "ellipse"]


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
    found = curves(drawn(results(tmp_path)).axes[0])
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
    assert "mean over 3 seeds; ellipses" in caption_of(figure)


def test_one_seed_has_marks_without_ellipses(tmp_path):
    figure = drawn(results(tmp_path, seeds=[5]))
    assert all(not ellipses(ax) and len(curves(ax)) == 4 for ax in figure.axes)
    assert "mean over 1 seed." in caption_of(figure)


def test_two_seeds_make_lines_that_are_drawn(tmp_path):
    figure = drawn(results(tmp_path, seeds=[5, 6]))
    for patch in (patch for ax in figure.axes for patch in ellipses(ax)):
        assert patch.get_linewidth() > 0
        assert 0 < patch.get_edgecolor()[3] < 1
    assert "lines through them: one standard error" in caption_of(figure)


def test_methods_of_ones_own_are_drawn_and_told_apart(tmp_path):
    names = {"Norm": "Mine", "HSIC": "Yours"}
    data = results(tmp_path).replace({"method": names})
    for methods in (MAIN, OTHER):
        figure = drawn(data, methods)
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
        figure = drawn(data, ("Unfair", "KL", name), **view)
        assert (name in curves(figure.axes[0])) == (view == decisions)
        words = f"{name} draws its decisions at random"
        assert words in caption_of(figure)
        assert ("no scores to show" in caption_of(figure)) == (view != decisions)
        assert "Not in the store" not in caption_of(figure)


def test_floor_is_explained_only_where_there_is_one(tmp_path):
    data = results(tmp_path)
    figure = drawn(data[data["method"] != "Unfair"])
    assert "noise floor" not in caption_of(figure)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "fair by chance" not in labels


def test_caption_tells_of_a_logarithmic_scale(tmp_path):
    data, words = results(tmp_path), "far apart have a logarithmic scale"
    near = data.copy()
    columns = [name for name in data if "/violation/" in name or "/floor/" in name]
    near[columns] = 0.5
    far = data.copy()
    far.loc[far["method"] == "KL", columns] *= 1e-4
    for own, told in ((near, False), (far, True)):
        figure = drawn(own)
        scales = {ax.get_yscale() for ax in figure.axes}
        assert (words in caption_of(figure)) == told == (scales != {"linear"})


def test_caption_says_who_is_told_the_groups(tmp_path):
    data = results(tmp_path)
    words = "OxonFair is told a person's group when it decides."
    assert words not in caption_of(drawn(data, ("Unfair", "KL", "OxonFair")))
    data = data.replace({"method": {"HSIC": "OxonFair"}})
    assert words in caption_of(drawn(data, ("Unfair", "KL", "OxonFair")))
    assert words not in caption_of(drawn(data, ("Unfair", "KL")))


def test_baselines_are_in_every_row(tmp_path):
    data = results(tmp_path)
    hsic = data[(data.dataset == "bank") & (data.method == "HSIC")]
    axes = drawn(data).axes
    for i, name in enumerate(STATISTICS):
        line = curves(axes[2 * i])["HSIC"]
        want = hsic.groupby("strength")[f"test/violation/{name}/scores/all"].mean()
        np.testing.assert_allclose(line.get_ydata(), want)


def test_failed_runs_are_left_out_and_counted(tmp_path):
    def change(run, result):
        return None if run.method == "HSIC" and run.seed == 1 else result

    figure = drawn(results(tmp_path, change))
    text = caption_of(figure)
    assert "Left out: 4 failed runs." in text  # two datasets, two strengths
    assert "mean over 2 to 3 seeds" in text
    assert len(curves(figure.axes[0])["HSIC"].get_xdata()) == 2


def test_marks_with_an_auroc_far_worse_are_left_out_and_named(tmp_path):
    def change(run, result):
        bad = run.method == "HSIC" and run.strength == 300
        return result | {"test/auroc": 0.6} if bad else result

    figure = drawn(results(tmp_path, change))
    assert len(curves(figure.axes[0])["HSIC"].get_xdata()) == 1
    assert "far worse than the rest, marks: HSIC 8." in caption_of(figure)


def test_missing_methods_are_named(tmp_path):
    figure = drawn(results(tmp_path))
    assert caption_of(figure).endswith("Not in the store: PRemover, AdvDebias.")


def test_figure_without_the_unfair_model_is_drawn(tmp_path):
    data = results(tmp_path, wanted=lambda run: run.method == "KL")
    assert list(curves(drawn(data).axes[0])) == ["KL"]


def test_undefined_violations_are_left_out_and_counted(tmp_path):
    def change(run, result):
        column = "test/violation/ppv/scores/all"
        return result | {column: np.nan} if run.method == "Unfair" else result

    figure = drawn(results(tmp_path, change))
    assert "Unfair" not in curves(figure.axes[4])
    assert "6 runs with an undefined violation" in caption_of(figure)


@pytest.mark.parametrize("methods", [MAIN, OTHER])
@pytest.mark.parametrize("part", ["train", "test"])
def test_noise_floor_is_that_of_unfair_whatever_is_drawn(tmp_path, methods, part):
    def change(run, result):
        floor = 0.06 + 0.01 * run.seed if run.method == "Unfair" else 0.3 + run.strength
        own = {k: floor for k in result if k.startswith(f"{part}/floor")}
        return result | own

    figure = drawn(results(tmp_path, change), methods, part=part)
    for ax in figure.axes:
        dashed = [x for x in ax.lines if x.get_label()[0] == "_"]
        np.testing.assert_allclose(dashed[0].get_ydata(), 0.07)
    assert "the noise floor of Unfair" in caption_of(figure)


def test_panels_within_chance_are_named(tmp_path):
    def change(run, result):
        names = ["test/floor/tpr/scores/all", "train/floor/tpr/scores/all"]
        names = names[: 2 if run.dataset == "bank" else 1]
        return result | dict.fromkeys(names, 9.0)

    text = caption_of(drawn(results(tmp_path, change)))
    assert "below it on training and test rows: Bank EO." in text


def test_other_fairrets_have_a_figure_of_their_own(tmp_path):
    figure = drawn(results(tmp_path), OTHER)
    assert list(curves(figure.axes[0])) == ["Unfair", "Norm"]


def test_single_trait_shows_runs_and_columns_of_the_single_trait(tmp_path):
    data = results(tmp_path, traits=["single"])
    figure = drawn(data, traits="single")
    own = data[(data.dataset == "bank") & (data.method == "KL")]
    own = own[own.statistic == "pr"].groupby("strength")
    line = curves(figure.axes[0])["KL"]
    want = own["test/violation/pr/scores/single"].mean()
    np.testing.assert_allclose(line.get_ydata(), want)
    said = "with `traits` all; got .*with `traits` single"
    with pytest.raises(NoResultsError, match=said):
        drawn(data[data.method == "KL"])  # none was trained for all traits


def test_log_loss_falls_to_the_right(tmp_path):
    data = results(tmp_path)
    figure = drawn(data, utility="log_loss", channel="decisions")
    for ax in figure.axes:
        left, right = ax.get_xlim()
        assert left > right
    assert not drawn(data).axes[0].xaxis_inverted()


def test_wide_spread_gets_a_log_scale_and_zeros_a_symlog_one(tmp_path):
    def change(run, result):
        zero = {"test/violation/tpr/scores/all": 0.0 if run.strength == 10 else 1.0}
        even = {"test/violation/pr/scores/all": 0.3 + 0.1 * run.seed}
        return result | zero | even

    axes = drawn(results(tmp_path, change)).axes
    assert [axes[k].get_yscale() for k in (0, 2, 4)] == ["linear", "symlog", "log"]


def test_options_that_differ_are_curves_of_their_own(tmp_path):
    figure = drawn(results(tmp_path, limits=[3, 20]))
    found = curves(figure.axes[0])
    assert {"KL (max_iter=3)", "KL (max_iter=20)"} < set(found)
    lines = [found["KL (max_iter=3)"], found["KL (max_iter=20)"]]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


def test_all_runs_failed_is_said(tmp_path):
    data = results(tmp_path, lambda run, result: None)
    with pytest.raises(NoResultsError, match=r"runs failed\. .*fairret run --retry"):
        drawn(data)


def test_other_statistics_than_the_papers_say_what_there_is(tmp_path):
    data = results(tmp_path, statistics=["fpr"], datasets=["bank"], seeds=[0])
    with pytest.raises(NoResultsError, match=r"got 10 runs of .* for fpr"):
        draw_trade_offs(data, Layout(View()), ["bank"], ["fpr"])
