"""The area is exact, and its scale goes from nothing gained to all."""

import math

import numpy as np
import pytest

from fairret.experiment import read_experiment, runs_of
from fairret.experiment.hypervolume import hypervolume, volumes, worst_utility
from fairret.experiment.summary import frame
from stored_runs import fill, write_file

CELLS = 400


@pytest.mark.parametrize("seed", range(8))
def test_area_equals_that_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    points = rng.random((rng.integers(1, 9), 2)) * [1.4, 1.3] - [0.2, 0.1]
    r_x, r_y = 0.1, 0.9
    x, y = np.meshgrid(
        r_x + 1.3 * (np.arange(CELLS) + 0.5) / CELLS,
        r_y - 1.2 * (np.arange(CELLS) + 0.5) / CELLS,
    )
    covered = np.zeros_like(x, dtype=bool)
    for a, b in points:
        covered |= (x <= a) & (y >= b)
    area = covered.mean() * 1.3 * 1.2
    found = hypervolume(map(tuple, points), (r_x, r_y))
    assert found == pytest.approx(area, abs=0.01)  # cells along the border


def test_points_beyond_the_reference_and_dominated_ones_add_nothing():
    best = [(0.8, 0.1)]
    area = hypervolume(best, (0.5, 0.4))
    assert area == pytest.approx(0.09)
    others = [(0.8, 0.1), (0.7, 0.2), (0.8, 0.3), (0.4, 0.0), (0.9, 0.5)]
    assert hypervolume(best + others, (0.5, 0.4)) == pytest.approx(area)
    assert hypervolume([], (0.5, 0.4)) == 0


def test_worst_utilities_are_those_of_a_blind_model():
    assert worst_utility("auroc", 0.2) == 0.5
    assert worst_utility("accuracy", 0.2) == pytest.approx(0.8)
    entropy = -(0.2 * math.log(0.2) + 0.8 * math.log(0.8))
    assert worst_utility("log_loss", 0.2) == pytest.approx(-entropy)


FIRST = ("bank", "", "pr", "all", "AUROC, scores", "SmoothMax")


def stored(tmp_path, results, floor=0.05):
    """Volumes of runs whose columns are given by method."""

    def change(run, result):
        own = results[run.method]
        return {
            name: next((own[k] for k in own if k in name), value)
            if "floor" not in name
            else floor
            for name, value in result.items()
        }

    file = write_file(tmp_path)
    wanted = list(results)
    store = fill(tmp_path / "x.sqlite", file, change, lambda r: r.method in wanted)
    return volumes(frame(store, runs_of(read_experiment(file))))


def test_scale_goes_from_unfair_to_fair_at_no_cost(tmp_path):
    unfair = {"auroc": 0.9, "accuracy": 0.85, "log_loss": 0.3, "violation": 0.4}
    fair = unfair | {"violation": 0.0}
    half = unfair | {"auroc": 0.8, "violation": 0.2}
    all_of = {"Unfair": unfair, "KL": fair, "SmoothMax": unfair, "HSIC": half}
    found = stored(tmp_path, all_of)
    assert len(found) == 2 * 4 * 4 * 3  # datasets, notions, pairs, methods
    for one in found:
        want = {"KL": 1.0, "SmoothMax": 0.0, "HSIC": 0.5}[one.label]
        if one.label == "HSIC" and "AUROC" in one.view:
            want = 0.375  # half of the way, at three quarters of the utility
        assert one.value == pytest.approx(want)
        assert not one.chance


def test_error_is_that_of_the_mean_over_seeds(tmp_path):
    store = fill(tmp_path / "x.sqlite", write_file(tmp_path, seeds=(0, 1, 2)))
    data = frame(store, runs_of(read_experiment(tmp_path / "made_up.toml")))
    (whole,) = (v for v in volumes(data) if v[:6] == FIRST)
    by_seed = [
        next(v.value for v in volumes(data[data["seed"] == k]) if v[:6] == FIRST)
        for k in (0, 1, 2)
    ]
    assert whole.error == pytest.approx(np.std(by_seed, ddof=1) / 3**0.5)
    alone = volumes(data[data["seed"] == 0])
    assert all(math.isnan(one.error) for one in alone)


def test_unfair_within_chance_is_marked(tmp_path):
    own = {"auroc": 0.9, "violation": 0.04}
    found = stored(tmp_path, {"Unfair": own, "KL": own})
    assert all(one.chance for one in found)


def test_volume_needs_the_unfair_model(tmp_path):
    found = stored(tmp_path, {"KL": {"auroc": 0.9}})
    assert found
    assert all(math.isnan(one.value) for one in found)


def test_empty_store_has_no_volumes(tmp_path):
    assert stored(tmp_path, {}) == []
