"""Bars have the stored seconds and violations."""

import numpy as np
import pytest

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import frame
from fairret.lab.plot import NoResultsError
from fairret.lab.plot.style import read_caption
from fairret.lab.plot.times import draw_iterations, draw_run_times
from stored_runs import fill, write_file

pytestmark = pytest.mark.slow  # draws figures


def results(tmp_path, change=lambda run, result: result, **of):
    tmp_path.mkdir(exist_ok=True)
    file = write_file(tmp_path, **of)
    store = fill(tmp_path / "made_up.sqlite", file, change)
    return frame(store, list_runs(read_experiment(file)))


def test_run_times_are_means_over_seeds(tmp_path):
    ax = draw_run_times(results(tmp_path), ["bank"], ["pr"]).axes[0]
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == [
        "Unfair",
        "Norm, λ = 3",  # a little nearer to 1 than 0.3
        "SmoothMax, λ = 1",
        "KL, λ = 1",
        "HSIC, λ = 30",
    ]
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, [10, 8, 13, 6, 8])  # 3 + letters + mean seed
    assert [text.get_text() for text in ax.texts][:3] == [
        "10.0 s, 1.00 ×",
        "8.00 s, 0.80 ×",
        "13.0 s, 1.30 ×",
    ]


def test_run_times_far_apart_are_on_a_log_scale(tmp_path):
    data = results(tmp_path)
    figure = draw_run_times(data, ["bank"], ["pr"])
    assert figure.axes[0].get_xscale() == "linear"
    assert figure.axes[0].get_xlim()[0] == 0
    assert "log scale" not in read_caption(figure)
    data.loc[data["method"] == "KL", "seconds"] *= 20
    figure = draw_run_times(data, ["bank"], ["pr"])
    assert figure.axes[0].get_xscale() == "log"
    assert "on a log scale" in read_caption(figure)


def test_captions_say_how_many_epochs(tmp_path):
    for draw in (draw_run_times, draw_iterations):
        figure = draw(results(tmp_path / draw.__name__), ["bank"], ["pr"])
        assert "for 100 epochs" in read_caption(figure)


def test_run_times_of_one_seed_have_no_error_bars(tmp_path):
    figure = draw_run_times(results(tmp_path, seeds=[4]), ["bank"], ["pr"])
    assert not figure.axes[0].collections
    assert "standard error" not in read_caption(figure)


def test_captions_say_how_many_rows(tmp_path):
    data = results(tmp_path, datasets=["lawschool", "acsincome"])
    for draw in (draw_run_times, draw_iterations):
        figure = draw(data, ["lawschool", "acsincome"], ["pr"])
        text = read_caption(figure).replace("\N{THIN SPACE}", " ")
        assert "LawSchool 22 712 to train on, 5 678 to test on" in text
        assert "ACSIncome 71 968 to train on, 17 992 to test on" in text
        assert any("(46 % sample)" in ax.get_title() for ax in figure.axes)


def test_method_of_ones_own_has_a_bar(tmp_path):
    data = results(tmp_path).replace({"method": {"HSIC": "Mine", "Norm": "Yours"}})
    ax = draw_run_times(data, ["bank"], ["pr"]).axes[0]
    names = [text.get_text().split(",")[0] for text in ax.get_yticklabels()]
    assert names[-2:] == ["Mine", "Yours"]
    assert ax.patches[-1].get_facecolor() != ax.patches[-2].get_facecolor()


def test_iterations_rise_and_the_usual_limit_is_last(tmp_path):
    data = results(tmp_path, limits=[0, 20, 3])
    figure = draw_iterations(data, ["bank", "lawschool"], ["pr"])
    names = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert names == ["3", "20", "usual"]
    assert "usual: the solver's own limit" in read_caption(figure)
    without = draw_iterations(results(tmp_path / "b", limits=[3]), ["bank"], ["pr"])
    assert "usual" not in read_caption(without)


def test_iterations_of_several_strengths_have_bars_of_their_own(tmp_path):
    data = results(tmp_path, limits=[20, 3])
    figure = draw_iterations(data, ["bank", "lawschool"], ["pr"])
    own = data[(data.dataset == "bank") & (data.method == "KL")]
    own = own[own.statistic == "pr"]
    limit = own.options.str.extract(r"(\d+)")[0].astype(int)
    groups = own.groupby([own.strength, limit])  # λ 1, 10, then 3, 20 iterations
    for ax, column in zip(
        figure.axes, ("test/violation/pr/scores/all", "seconds"), strict=False
    ):
        heights = [bar.get_height() for bar in ax.patches]
        np.testing.assert_allclose(heights, groups[column].mean())
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["λ = 1", "λ = 10"]
    assert "Mean over 3 seeds" in read_caption(figure)


def test_failed_runs_of_the_iterations_are_counted(tmp_path):
    def change(run, result):
        return None if dict(run.options).get("max_iter") == 3 else result

    data = results(tmp_path, change, limits=[3, 20])
    figure = draw_iterations(data, ["bank"], ["pr"])
    assert "Left out: 12 failed runs." in read_caption(
        figure
    )  # 2 datasets, 2 strengths
    assert len(figure.axes[0].patches) == 2  # one for each strength


@pytest.mark.parametrize("draw", [draw_run_times, draw_iterations])
def test_nothing_but_failures_is_said(tmp_path, draw):
    data = results(tmp_path, lambda run, result: None)
    with pytest.raises(NoResultsError, match=r"runs failed\. .*--retry"):
        draw(data, ["bank"], ["pr"])


def test_iterations_of_another_statistic_say_what_there_is(tmp_path):
    data = results(tmp_path, statistics=["tpr"], datasets=["bank"], seeds=[0])
    said = "KL for pr.*got 10 runs of Unfair, SmoothMax, KL, HSIC, Norm for tpr"
    with pytest.raises(NoResultsError, match=said) as caught:
        draw_iterations(data, ["bank"], ["tpr"])
    assert "fairret run" not in str(caught.value)  # it has been run
