"""Figures say what they leave out, and what cannot be judged."""

import numpy as np
import pytest

from fairret.lab.plot import NoResultsError
from fairret.lab.plot.style import read_caption
from fairret.lab.plot.trade_offs import draw_trade_offs
from made_up_panels import curves, drawn, one_panel, results

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("without_layout")]  # draws


def test_runs_without_verdicts_say_so(tmp_path):
    data = results(tmp_path)
    old = data[[name for name in data if "beyond_chance" not in name]]
    figure = drawn(old)
    assert "did not record whether a violation is beyond" in read_caption(figure)
    assert not [x for ax in figure.axes for x in ax.lines if x.get_label() == "_within"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "not beyond chance" not in labels
    assert "not judged" not in labels


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
        words = "a model that refuses everyone, in 8 runs."
        assert (words in read_caption(figure)) == (channel == "decisions")


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
    assert "Left out: 1 mark whose violation is undefined in half of" in words
    assert "half of" not in read_caption(one_panel(data))


def test_caption_says_who_is_told_the_groups(tmp_path):
    data = results(tmp_path)
    words = "OxonFair is told a person's group when it decides."
    assert words not in read_caption(one_panel(data, ("Unfair", "KL", "OxonFair")))
    data = data.replace({"method": {"HSIC": "OxonFair"}})
    assert words in read_caption(one_panel(data, ("Unfair", "KL", "OxonFair")))
    assert words not in read_caption(one_panel(data, ("Unfair", "KL")))


def test_failed_runs_are_left_out_and_counted(tmp_path):
    def change(run, result):
        return None if run.method == "HSIC" and run.seed == 1 else result

    figure = drawn(results(tmp_path, change))
    text = read_caption(figure)
    assert "Left out: 4 failed runs." in text  # two datasets, two strengths
    assert "mean over 3 seeds (2 for HSIC)" in text
    assert len(curves(figure.axes[0])["HSIC"].get_xdata()) == 2


def test_marks_with_an_auroc_far_worse_are_left_out_and_named(tmp_path):
    def change(run, result):
        bad = run.method == "HSIC" and run.strength == 300
        return result | {"test/auroc": 0.6} if bad else result

    figure = drawn(results(tmp_path, change))
    assert len(curves(figure.axes[0])["HSIC"].get_xdata()) == 1
    assert "far worse than the rest: 8 marks of HSIC." in read_caption(figure)


def test_missing_methods_are_named(tmp_path):
    figure = drawn(results(tmp_path))
    assert "Not in the store: PRemover, AdvDebias." in read_caption(figure)


def test_datasets_and_methods_with_fewer_seeds_are_named(tmp_path):
    data = results(tmp_path)
    fewer = data[(data.dataset != "bank") | (data.seed < 2)]
    assert "mean over 3 seeds (2 for Bank);" in read_caption(drawn(fewer))
    fewer = fewer[(fewer.method != "HSIC") | (fewer.seed < 1)]
    assert "mean over 3 seeds (2 for Bank, 1 for HSIC)" in read_caption(drawn(fewer))
    odd = fewer[(fewer.method != "KL") | (fewer.strength < 10) | (fewer.seed < 2)]
    assert "mean over 1 to 3 seeds" in read_caption(drawn(odd))


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
    words = "beyond chance in at most half of the seeds, on training and on test rows"
    assert f"{words}: Bank EO." in text


def test_all_runs_failed_is_said(tmp_path):
    data = results(tmp_path, lambda run, result: None)
    with pytest.raises(NoResultsError, match=r"runs failed\. .*fairret run --retry"):
        drawn(data)


def test_other_statistics_than_the_papers_say_what_there_is(tmp_path):
    data = results(tmp_path, statistics=["fpr"], datasets=["bank"], seeds=[0])
    with pytest.raises(NoResultsError, match=r"got 10 runs of .* for fpr"):
        draw_trade_offs(data, ["bank"], ["fpr"])
