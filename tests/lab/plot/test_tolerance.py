"""The figures of a stated tolerance: who is where, and what is said below them."""

import math

import pandas as pd
import pytest

from fairret.lab.plot.style import WIDTH, NoResultsError, read_caption
from fairret.lab.plot.tolerance import draw, draw_one


def row(method, tolerance, violation, accuracy, seed=0, **other):
    return {
        "dataset": "lawschool",
        "traits": "race",
        "notion": "pr",
        "seed": seed,
        "method": method,
        "tolerance": tolerance,
        "test/violation": violation,
        "test/accuracy": accuracy,
        **other,
    }


DATA = pd.DataFrame(
    [
        row("exact blind boosting", 0.1, 0.1, 0.80),
        row("exact blind boosting", 0.1, 0.3, 0.82, seed=1),
        row("exact blind boosting", 0.2, 0.4, 0.85),
        row("boosting", math.inf, 0.8, 0.9),
        row("ThresholdOptimizer", 0.1, 0.06, 0.88),
        row("exact informed boosting", 0.1, 0.5, 0.99, traits="sex"),
        row("blind boosting", 0.1, 0.5, 0.99),  # not the stated tolerance
        row("grid", 0.1, 7.0, 0.7, traits="all", notion="fn_fp"),
        row("exact blind network", 0.1, 0.2, 0.7, traits="all", notion="fn_fp"),
    ]
)


def test_marks_are_means_over_the_seeds():
    (ax,) = [ax for ax in draw_one(DATA, "one").axes if ax.axison]
    lines = {line.get_color(): line.get_xydata().tolist() for line in ax.lines}
    assert lines["#0072B2"] == [
        [pytest.approx(0.81), pytest.approx(0.2)],
        [0.85, 0.4],
    ]
    assert lines["#000000"] == [[0.9, 0.8]]
    assert lines["#CC79A7"] == [[0.88, 0.06]]
    assert ax.get_ylim()[0] == 0


def test_small_gains_are_not_magnified():
    points = ((0.1, 0.879), (0.2, 0.881))
    few = pd.DataFrame([row("OxonFair", t, t, accuracy) for t, accuracy in points])
    low, high = draw_one(few, "one").axes[0].get_xlim()
    assert (low, high) == (pytest.approx(0.86), pytest.approx(0.90))


def test_violations_far_apart_are_on_a_log_scale():
    (ax,) = draw_one(DATA, "all").axes
    assert ax.get_yscale() == "log"
    assert "log scale" in [text.get_text() for text in ax.texts]
    assert ax.get_ylabel() == "TE violation"


def test_text_has_eight_points_at_the_width_of_a_page():
    traits = {"lawschool": "race", "bank": "marital", "acsincome": "sex"}
    people = [{"dataset": key, "traits": value} for key, value in traits.items()]
    rows = [row("OxonFair", 0.1, 0.1, 0.8) | one for one in people]
    figure = draw_one(pd.DataFrame(rows), "one")
    assert figure.get_figwidth() <= WIDTH
    texts = [text for ax in figure.axes for text in ax.texts]
    assert [text.get_text() for text in texts] == ["race", "marital status", "sex"]
    assert min(text.get_fontsize() for text in texts) >= 8


def test_caption_and_legend_say_what_is_shown():
    figure = draw_one(DATA, "one")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["trees, no tolerance", "blind boosting", "ThresholdOptimizer"]
    assert "one trait, named in each panel" in read_caption(figure)
    assert "mean over 1 to 2 seeds" in read_caption(figure)
    assert "0.2, 0.1, joined in their order" in read_caption(figure)


@pytest.mark.slow
def test_both_figures_are_written(tmp_path):
    names = [path.name for path in draw(DATA, tmp_path)]
    assert names == [
        *("tolerance_peers.png", "tolerance_peers.pdf"),
        *("tolerance.png", "tolerance.pdf"),
    ]


def test_nothing_to_draw_is_said(tmp_path):
    with pytest.raises(NoResultsError, match="Run `fairret tolerance` first"):
        draw(DATA[DATA["method"] == "blind boosting"], tmp_path)
