"""Gradients, projections and batches show what the losses say."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fairret.lab.experiment import ConfigError, read_experiment
from fairret.lab.plot import NoResultsError
from fairret.lab.plot.batches import (
    chunked_losses,
    draw_batches,
    tabulate_losses,
    whole_loss,
)
from fairret.lab.plot.scores import density, draw_gradients, draw_projections
from fairret.lab.plot.unfair import UnfairScores, unfair_scores
from fairret.loss import KLProjectionLoss, SmoothMaxLoss

N = 700
FILE = """
datasets = ["synthetic"]
statistics = ["pr"]
seeds = [3]
[training]
epochs = 2
warm_up = 1
[[method]]
name = "Unfair"
"""


@pytest.fixture(scope="module")
def unfair():
    rng = np.random.default_rng(1)
    woman = rng.random(N) < 0.4
    h = rng.beta(0.6 + 0.6 * ~woman, 1.0)
    s = np.stack([woman, ~woman, rng.random(N)], axis=1)
    y = rng.random(N) < h
    tensors = (torch.tensor(np.asarray(x, float)) for x in (h, s, y))
    return UnfairScores("People", "pr", *tensors, (0, 1), ("woman", "man", "age"))


def test_gradients_lower_the_favoured_group_and_raise_the_other(unfair):
    axes = draw_gradients(unfair).axes
    assert [ax.get_title().split(":")[0] for ax in axes[:2]] == ["man", "woman"]
    for ax, sign in zip(axes[2:], (1, -1), strict=True):
        lines = {x.get_label(): x for x in ax.lines if x.get_label()[0] != "_"}
        assert list(lines) == ["SmoothMax", "Norm", "KL", "JS", "SED"]
        for line in lines.values():
            y = sign * line.get_ydata()
            assert y.min() >= 0
            assert y.max() == pytest.approx(1)
        norm, largest = lines["Norm"].get_ydata(), lines["SmoothMax"].get_ydata()
        np.testing.assert_allclose(norm, largest)  # as the paper says


def test_projections_show_h_and_three_densities_for_each_group(unfair):
    axes = draw_projections(unfair).axes
    assert len(axes) == 2
    for ax in axes:
        names = [line.get_label() for line in ax.lines]
        assert names == ["h", "f* of KL", "f* of JS", "f* of SED"]


def test_density_integrates_to_one_up_to_the_borders():
    rng = np.random.default_rng(2)
    values = np.concatenate([np.zeros(40), np.ones(10), rng.random(50)])
    curve = density(values)
    area = (curve[1:] + curve[:-1]).sum() / 800
    assert area == pytest.approx(1, abs=1e-3)  # spacing of the grid
    assert curve[0] > 2 * curve[-1]


def test_batches_of_all_rows_have_the_loss_of_all_rows(unfair):
    found = chunked_losses(unfair, SmoothMaxLoss)
    whole = whole_loss(unfair, SmoothMaxLoss)
    loss = SmoothMaxLoss("pr")(unfair.h, unfair.s, unfair.y, pred_as_logit=False)
    assert whole == pytest.approx(float(loss))
    assert [one.size for one in found] == [16, 32, 64, 128, 256, 512]
    assert [one.batches for one in found] == [44, 22, 11, 5, 3, 1]
    assert found[-1].mean == pytest.approx(whole)
    assert found[0].mean > whole
    (line,) = (x for x in draw_batches(unfair).axes[0].lines if x.get_marker() == "o")
    np.testing.assert_allclose(line.get_ydata(), [one.mean for one in found])


@pytest.mark.parametrize("kind", [SmoothMaxLoss, KLProjectionLoss])
def test_memory_brings_small_batches_closer_to_all_rows(unfair, kind):
    whole = whole_loss(unfair, kind)
    plain, kept = (chunked_losses(unfair, kind, rows)[0].mean for rows in (0, 4096))
    assert abs(kept - whole) < 0.5 * abs(plain - whole)


def test_table_of_batches_has_a_row_per_loss_and_size(unfair):
    table = tabulate_losses(unfair).set_index(["loss", "size"])
    assert len(table) == 12
    for name, kind in (("SmoothMax", SmoothMaxLoss), ("KL", KLProjectionLoss)):
        plain, kept = (chunked_losses(unfair, kind, rows) for rows in (0, 4096))
        assert [*table.loc[name]["mean"]] == [one.mean for one in plain]
        assert [*table.loc[name]["mean_with_memory"]] == [one.mean for one in kept]
        assert {*table.loc[name]["whole"]} == {whole_loss(unfair, kind)}


def test_one_group_has_nothing_to_compare(unfair):
    alone = unfair._replace(single=(0,))
    with pytest.raises(NoResultsError, match="two groups"):
        draw_gradients(alone)


def test_model_is_trained_once_and_kept(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(FILE)
    epochs = []
    first = unfair_scores(read_experiment(file), tmp_path / "out", epochs.append)
    assert epochs == [0, 1]
    second = unfair_scores(read_experiment(file), tmp_path / "out", epochs.append)
    assert epochs == [0, 1]
    torch.testing.assert_close(first.h, second.h)
    assert (first.title, first.names) == (second.title, second.names)
    (kept,) = (tmp_path / "out").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])  # a copy that was cut off
    third = unfair_scores(read_experiment(file), tmp_path / "out", epochs.append)
    torch.testing.assert_close(first.h, third.h)


def test_two_datasets_are_refused(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(FILE)
    experiment = replace(read_experiment(file), datasets=("bank", "synthetic"))
    with pytest.raises(ConfigError, match="must be one for this figure"):
        unfair_scores(experiment, tmp_path)
