"""The table of networks has the means in the right cells."""

import pytest

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import frame
from fairret.lab.plot import NoResultsError
from fairret.lab.plot.architectures import auroc_table, draw_architectures
from fairret.lab.plot.style import read_caption
from stored_runs import fill

FILE = """
datasets = ["bank"]
statistics = ["pr"]
seeds = [0, 1]
[training]
hidden = [[], [7], [9, 4]]
learning_rate = [0.01, 0.5]
validation = 0.2
[[method]]
name = "Unfair"
"""


def test_cells_are_means_by_network_and_rate(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(FILE)

    def change(run, result):
        level = 0.1 * len(run.training.hidden) + run.training.learning_rate / 10
        return result | {"validation/auroc": 0.5 + level + 0.002 * run.seed}

    runs = list_runs(read_experiment(file))
    data = frame(fill(tmp_path / "x.sqlite", file, change), runs)
    means, counts = auroc_table(data)
    assert counts == [2] * 6
    assert (means.index.tolist(), means.columns.tolist()) == (
        ["none", "7", "9-4"],
        [0.5, 0.01],
    )
    assert means.loc["9-4", 0.01] == pytest.approx(0.702)
    figure = draw_architectures(data, ["bank"], ["pr"])
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[:3] == ["0.5510", "0.5020", "0.6510"]
    (bold,) = (x for x in figure.axes[0].texts if x.get_fontweight() == "bold")
    assert bold.get_text() == "0.7510"
    assert "mean over 2 seeds" in read_caption(figure)
    assert not figure.axes[0].patches  # the paper's network is not there
    with pytest.raises(NoResultsError, match="`validation` above 0"):
        draw_architectures(data.drop(columns="validation/auroc"), ["bank"], ["pr"])


def test_one_bad_network_does_not_take_the_colours_of_the_others(tmp_path):
    file = tmp_path / "x.toml"
    networks = "[[], [7], [9, 4], [256, 128, 32]]"
    file.write_text(
        FILE.replace("[[], [7], [9, 4]]", networks).replace("0.5]", "0.001]")
    )

    def change(run, result):
        bad = not run.training.hidden and run.training.learning_rate == 0.01
        level = 0.6 if bad else 0.91 + 0.01 * len(run.training.hidden)
        return result | {"validation/auroc": level}

    runs = list_runs(read_experiment(file))
    data = frame(fill(tmp_path / "x.sqlite", file, change), runs)
    (ax,) = draw_architectures(data, ["bank"], ["pr"]).axes
    low, high = ax.images[0].get_clim()
    assert 0.9 < low < high == pytest.approx(0.94)
    (box,) = ax.patches
    assert (box.get_x() + 0.5, box.get_y() + 0.5) == (1, 3)  # 0.001, last network
