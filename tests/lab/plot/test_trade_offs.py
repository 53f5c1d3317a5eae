"""Panels have the right marks in the right places."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import frame
from fairret.lab.experiment.trade_off import View
from fairret.lab.plot import NoResultsError, style
from fairret.lab.plot.style import LOOKS, read_caption
from fairret.lab.plot.trade_offs import MAIN, OTHER, draw_trade_offs
from stored_runs import fill, write_file

pytestmark = pytest.mark.slow  # draws figures

DATASETS, STATISTICS = ("bank", "lawschool"), ("pr", "tpr", "ppv", "fn_fp")


@pytest.fixture(scope="module", autouse=True)
def usual(tmp_path_factory):
    """Results as they are in most tests, stored once."""
    USUAL["data"] = stored(tmp_path_factory.mktemp("usual"))


@pytest.fixture(autouse=True)
def without_layout(monkeypatch):
    """Leave the axes where they are: to lay them out takes half of the time."""
    monkeypatch.setattr(style, "set_height", lambda figure, height: None)


USUAL = {}


def results(tmp_path, *changes, **of):
    return stored(tmp_path, *changes, **of) if changes or of else USUAL["data"].copy()


def stored(folder, change=lambda run, result: result, wanted=lambda run: True, **of):
    file = write_file(folder, **of)
    store = fill(folder / "made_up.sqlite", file, change, wanted)
    return frame(store, list_runs(read_experiment(file)))


def drawn(data, methods=MAIN, **view):
    return draw_trade_offs(data, DATASETS, STATISTICS, View(**view), methods)


def one_panel(data, methods=MAIN, **view):
    """As `drawn`, where a panel is enough: they take most of the time."""
    return draw_trade_offs(data, ("bank",), ("pr",), View(**view), methods)


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
    assert "Filled marks are beyond chance in most seeds" in read_caption(figure)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"beyond chance", "within chance"} < {*labels}


def test_runs_without_verdicts_say_so(tmp_path):
    data = results(tmp_path)
    old = data[[name for name in data if "beyond_chance" not in name]]
    figure = drawn(old)
    assert "did not record whether a violation is beyond" in read_caption(figure)
    assert not [x for ax in figure.axes for x in ax.lines if x.get_label() == "_within"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "within chance" not in labels
    assert "not judged" not in labels


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
    assert "Grey marks are not judged" in read_caption(figure)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"beyond chance", "within chance", "not judged"} < {*labels}


def test_models_that_refuse_everyone_are_crossed_in_figures_of_decisions(tmp_path):
    def change(run, result):
        nobody = run.method == "KL" and run.strength == 10 and run.seed == 2
        return result | {"test/positive_rate": 0.0 if nobody else 0.3}

    data = results(tmp_path, change)
    for channel in ("scores", "decisions"):
        figure = drawn(data, channel=channel)
        for ax in figure.axes:
            crosses = [x for x in ax.lines if x.get_label() == "_refuses"]
            assert len(crosses) == (channel == "decisions")
            for line in crosses:
                assert len(line.get_xydata()) == 1
                joined = curves(ax)["KL"].get_xydata()
                assert len(joined) == 1  # the line skips the cross
                assert not np.array_equal(joined, line.get_xydata())
        told = (
            "Crosses, not joined: 8 models of a seed that refuse everyone."
            in read_caption(figure)
        )
        assert told == (channel == "decisions")


def test_marks_that_are_undefined_in_half_of_the_seeds_are_left_out(tmp_path):
    data = results(tmp_path)
    column = "test/violation/pr/decisions/all"
    own = (data.method == "KL") & (data.dataset == "bank")
    data.loc[own & (data.strength == 10) & (data.seed > 0), column] = np.nan
    data.loc[own & (data.strength == 1) & (data.seed > 1), column] = np.nan
    figure = one_panel(data, channel="decisions")
    assert len(curves(figure.axes[0])["KL"].get_xydata()) == 1  # two seeds of three
    words = read_caption(figure)
    assert "Left out: 3 runs with an undefined violation." in words
    assert "Left out: 1 mark with a violation in few seeds." in words
    assert "few seeds" not in read_caption(one_panel(data))


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
    assert ("Arrows at an edge: 1 mark" in read_caption(figure)) == refuses
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
    assert "Arrows at an edge: 8 marks beyond." in read_caption(figure)


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


def test_caption_says_who_is_told_the_groups(tmp_path):
    data = results(tmp_path)
    words = "OxonFair is told a person's group when it decides."
    assert words not in read_caption(one_panel(data, ("Unfair", "KL", "OxonFair")))
    data = data.replace({"method": {"HSIC": "OxonFair"}})
    assert words in read_caption(one_panel(data, ("Unfair", "KL", "OxonFair")))
    assert words not in read_caption(one_panel(data, ("Unfair", "KL")))


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
    text = read_caption(figure)
    assert "Left out: 4 failed runs." in text  # two datasets, two strengths
    assert "mean over 2 to 3 seeds" in text
    assert len(curves(figure.axes[0])["HSIC"].get_xdata()) == 2


def test_marks_with_an_auroc_far_worse_are_left_out_and_named(tmp_path):
    def change(run, result):
        bad = run.method == "HSIC" and run.strength == 300
        return result | {"test/auroc": 0.6} if bad else result

    figure = drawn(results(tmp_path, change))
    assert len(curves(figure.axes[0])["HSIC"].get_xdata()) == 1
    assert "far worse than the rest, marks: HSIC 8." in read_caption(figure)


def test_missing_methods_are_named(tmp_path):
    figure = drawn(results(tmp_path))
    assert "Not in the store: PRemover, AdvDebias." in read_caption(figure)


def test_figure_without_the_unfair_model_is_drawn(tmp_path):
    data = results(tmp_path, wanted=lambda run: run.method == "KL")
    assert list(curves(one_panel(data).axes[0])) == ["KL"]


def test_undefined_violations_are_left_out_and_counted(tmp_path):
    def change(run, result):
        column = "test/violation/ppv/scores/all"
        return result | {column: np.nan} if run.method == "Unfair" else result

    figure = drawn(results(tmp_path, change))
    assert "Unfair" not in curves(figure.axes[4])
    assert "6 runs with an undefined violation" in read_caption(figure)


def test_panels_within_chance_are_named(tmp_path):
    def change(run, result):
        names = [f"{part}/beyond_chance/tpr/scores/all" for part in ("test", "train")]
        names = names[: 2 if run.dataset == "bank" else 1]
        return result | dict.fromkeys(names, 0.0)

    text = read_caption(drawn(results(tmp_path, change)))
    assert "within chance on training and test rows: Bank EO." in text


def test_violation_beyond_chance_has_a_figure(tmp_path):
    data = results(tmp_path)
    usual, beyond = drawn(data), drawn(data, measure="violation_beyond_chance")
    for one, other in zip(usual.axes, beyond.axes, strict=True):
        want = 0.5 * curves(one)["KL"].get_ydata()
        np.testing.assert_allclose(curves(other)["KL"].get_ydata(), want)
    assert beyond.axes[0].get_ylabel() == "DP beyond chance"
    assert "of a typical group beyond chance of scores" in read_caption(beyond)


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


def test_options_that_differ_are_curves_of_their_own(tmp_path):
    figure = one_panel(results(tmp_path, limits=[3, 20]))
    found = curves(figure.axes[0])
    lines = [found[f"KL (at most {steps} steps)"] for steps in (3, 20)]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert lines[0].get_marker() != lines[1].get_marker()


def test_all_runs_failed_is_said(tmp_path):
    data = results(tmp_path, lambda run, result: None)
    with pytest.raises(NoResultsError, match=r"runs failed\. .*fairret run --retry"):
        drawn(data)


def test_other_statistics_than_the_papers_say_what_there_is(tmp_path):
    data = results(tmp_path, statistics=["fpr"], datasets=["bank"], seeds=[0])
    with pytest.raises(NoResultsError, match=r"got 10 runs of .* for fpr"):
        draw_trade_offs(data, ["bank"], ["fpr"])


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
