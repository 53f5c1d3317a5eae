"""The scale of a volume goes from nothing gained to all."""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from rich.console import Console

from fairret.lab.commands.tables import volume_table
from fairret.lab.experiment import Store, list_runs, read_experiment
from fairret.lab.experiment.export import frame
from fairret.lab.experiment.hypervolume import volumes, worst_utility
from fairret.lab.experiment.trade_off import MixedRowsError
from stored_runs import fill, write_file

pytestmark = pytest.mark.slow  # adds up many boxes


def test_worst_utilities_are_those_of_a_blind_model():
    assert worst_utility("auroc", 0.2) == 0.5
    assert worst_utility("accuracy", 0.2) == pytest.approx(0.8)
    assert worst_utility("accuracy_at_base_rate", 0.2) == pytest.approx(0.68)
    entropy = -(0.2 * math.log(0.2) + 0.8 * math.log(0.8))
    assert worst_utility("log_loss", 0.2) == pytest.approx(-entropy)


FIRST = ("bank", "", "pr", "all", "AUROC, scores", "SmoothMax")


def collected(tmp_path, results, floor=0.05, change=lambda run, result: result):
    """Runs whose columns are given by method, and may be changed run by run."""

    def numbers(run, result):
        own = results[run.method]
        found = {
            name: next((own[k] for k in own if k in name), value)
            if "floor" not in name
            else floor
            for name, value in result.items()
        }
        return change(run, found)

    file = write_file(tmp_path)
    wanted = list(results)
    store = fill(tmp_path / "x.sqlite", file, numbers, lambda r: r.method in wanted)
    return frame(store, list_runs(read_experiment(file)))


def stored(*arguments, **options):
    """Volumes of such runs."""
    return volumes(collected(*arguments, **options))


def printed(found):
    console = Console(width=200, record=True)
    console.print(volume_table(found))
    return console.export_text()


@pytest.mark.slow
def test_scale_goes_from_unfair_to_fair_at_no_cost(tmp_path):
    unfair = {"auroc": 0.9, "accuracy": 0.85, "log_loss": 0.3, "violation": 0.4}
    fair = unfair | {"violation": 0.0}
    half = unfair | {"auroc": 0.8, "violation": 0.225}  # of the way to the floor
    all_of = {"Unfair": unfair, "KL": fair, "SmoothMax": unfair, "HSIC": half}
    found = stored(tmp_path, all_of)
    assert len(found) == 2 * 4 * 4 * 3  # datasets, notions, pairs, methods
    for one in found:
        want = {"KL": 1.0, "SmoothMax": 0.0, "HSIC": 0.5}[one.label]
        if one.label == "HSIC" and "AUROC" in one.view:
            want = 0.375  # half of the way, at three quarters of the utility
        assert one.value == pytest.approx(want)
        assert not one.chance


def test_going_below_the_noise_floor_gains_nothing(tmp_path):
    unfair = {"auroc": 0.9, "violation": 0.4}
    low, lower = ({"auroc": 0.9, "violation": v} for v in (0.05, 0.004))
    found = stored(tmp_path, {"Unfair": unfair, "KL": low, "HSIC": lower})
    values = [one.value for one in found if one.view == "AUROC, scores"]
    np.testing.assert_allclose(values, 1)


@pytest.mark.slow
def test_value_and_error_are_those_of_the_seeds(tmp_path):
    store = fill(tmp_path / "x.sqlite", write_file(tmp_path, seeds=(0, 1, 2)))
    data = frame(store, list_runs(read_experiment(tmp_path / "made_up.toml")))
    (whole,) = (v for v in volumes(data) if v[:6] == FIRST)
    by_seed = [
        next(v.value for v in volumes(data[data["seed"] == k]) if v[:6] == FIRST)
        for k in (0, 1, 2)
    ]
    assert len(set(by_seed)) == 3
    possible = np.array([whole.gains[seed].possible for seed in (0, 1, 2)])
    weight = possible / possible.sum()
    assert len({*possible}) == 3  # seeds with more to gain count more
    share = weight @ by_seed
    assert whole.value == pytest.approx(share)
    without = [np.delete(weight, k) @ np.delete(by_seed, k) for k in range(3)]
    spread = 2 * np.array(without) / (1 - weight)  # jackknife: the ratio without a seed
    assert whole.error == pytest.approx(np.std(spread, ddof=1) / 3**0.5)
    assert whole.seeds == 3
    alone = volumes(data[data["seed"] == 0])
    assert all(math.isnan(one.error) for one in alone)


def test_curve_from_unfair_counts_what_lies_between_two_strengths(tmp_path):
    """A fair mark at five eighths of the utility: a rectangle, and a triangle."""
    unfair = {"auroc": 0.9, "violation": 0.45}
    half = {"auroc": 0.75, "violation": 0.05}  # the floor
    found = stored(tmp_path, {"Unfair": unfair, "HSIC": half})
    own = [one for one in found if one.view == "AUROC, scores"]
    assert len(own) == 8
    np.testing.assert_allclose([one.value for one in own], 0.625)
    np.testing.assert_allclose([one.curve for one in own], 0.625 + 0.375 / 2)
    np.testing.assert_allclose([one.curve_error for one in own], 0, atol=1e-12)


def test_models_that_refuse_everyone_do_not_count_for_decisions(tmp_path):
    def change(run, result):
        refuses = run.method == "KL" and run.strength == 10 and run.seed == 1
        fair = {k: 0.0 for k in result if "violation" in k and run.strength == 10}
        return result | fair | {"test/positive_rate": 0.0 if refuses else 0.2}

    unfair = {"auroc": 0.9, "accuracy": 0.85, "log_loss": 0.3, "violation": 0.4}
    found = stored(tmp_path, {"Unfair": unfair, "KL": unfair}, change=change)
    for one in found:
        left = 0.0 if one.view.endswith("decisions") else 1.0
        gains = [one.gains[seed] for seed in (0, 1, 2)]
        shares = [gain.steps / gain.possible for gain in gains]
        assert shares == pytest.approx([1.0, left, 1.0])


def test_undefined_violation_gains_nothing_in_its_seed(tmp_path):
    """The other strengths of the seed still count: it is not left out."""

    def change(run, result):
        undefined = run.method == "KL" and run.strength == 10 and run.seed == 1
        level = math.nan if undefined else 0.0 if run.strength == 10 else None
        if level is None:
            return result
        return result | {k: level for k in result if "violation" in k}

    unfair = {"auroc": 0.9, "accuracy": 0.85, "log_loss": 0.3, "violation": 0.4}
    found = stored(tmp_path, {"Unfair": unfair, "KL": unfair}, change=change)
    assert found
    for one in found:
        shares = [one.gains[seed].steps / one.gains[seed].possible for seed in range(3)]
        assert shares == pytest.approx([1.0, 0.0, 1.0])
        assert (one.seeds, one.value) == (3, pytest.approx(2 / 3))


def test_volumes_beyond_chance_have_no_floor_and_need_their_column(tmp_path):
    def change(run, result):
        level = 0.3 if run.method == "Unfair" else 0.06
        return result | {k: level for k in result if "violation_beyond" in k}

    own = {"auroc": 0.9, "accuracy": 0.85, "log_loss": 0.3, "violation": 0.04}
    data = collected(tmp_path, {"Unfair": own, "KL": own}, change=change)
    found = volumes(data, measure="violation_beyond_chance")
    np.testing.assert_allclose([one.value for one in found], 1 - 0.06 / 0.3)
    old = data[[name for name in data if "beyond" not in name]]
    assert volumes(old, measure="violation_beyond_chance") == []


def test_only_seeds_that_unfair_and_all_marks_have_count(tmp_path):
    def change(run, result):
        if run.method == "KL" and run.strength == 10 and run.seed == 1:
            return None
        good = run.method == "KL" and run.seed == 1  # would raise the mean
        result |= {k: 0.05 if good else 0.1 for k in result if "violation" in k}
        if run.method == "Unfair":
            result |= {k: 0.4 + 0.1 * run.seed for k in result if "violation" in k}
        return result

    all_of = {name: {"auroc": 0.9} for name in ("Unfair", "KL", "HSIC")}
    found = stored(tmp_path, all_of, change=change)
    own = [one for one in found if one[:5] == FIRST[:5]]
    kl, hsic = sorted(own, key=lambda one: one.label == "HSIC")
    assert (kl.seeds, hsic.seeds) == (2, 3)
    assert kl.value == pytest.approx(1 - 0.05 / 0.45)  # of 0.35 and 0.55 above 0.05
    assert hsic.value == pytest.approx(1 - 0.05 / 0.45)
    only = [1 - 0.05 / (0.35 + 0.1 * seed) for seed in (0, 2)]
    own = [gain.steps / gain.possible for gain in kl.gains.values()]
    assert own == pytest.approx(only)
    rows = [line.split() for line in printed(found).splitlines() if "bank" in line]
    assert [row[3:5] for row in rows[:2]] == [["2", "2"], ["2", "3"]]


@pytest.mark.parametrize("blind", [(1,), (1, 2)])  # as good as no features
def test_seeds_without_anything_to_gain_do_not_count(tmp_path, blind):
    def change(run, result):
        nothing = run.method == "Unfair" and run.seed in blind
        return result | {"test/accuracy": 0.75} if nothing else result

    own = {"accuracy": 0.8, "violation": 0.4}
    half = own | {"violation": 0.225}
    found = stored(tmp_path, {"Unfair": own, "KL": half}, change=change)
    for one in found:
        lost = one.view == "accuracy, decisions" and len(blind) > 1  # of three
        assert math.isnan(one.value) == math.isnan(one.error) == lost
        if one.view == "accuracy, decisions" and not lost:
            assert one.value == pytest.approx(0.5)
            assert one.error == pytest.approx(0, abs=1e-12)
            assert one.seeds == 3
    assert (" – " in printed(found)) == (len(blind) > 1)


def test_little_to_gain_in_a_seed_does_not_rule_the_volume(tmp_path):
    """Unfair is just above its floor in a seed, where nothing is gained."""

    def change(run, result):
        level = 0.0501 if run.seed == 1 else 0.45 if run.method == "Unfair" else 0.05
        return result | {k: level for k in result if "/violation/" in k}

    own = {"auroc": 0.9}
    found = stored(tmp_path, {"Unfair": own, "KL": own}, change=change)
    values = [one.value for one in found if one.view == "AUROC, scores"]
    np.testing.assert_allclose(values, 1, atol=2e-4)  # a mean of ratios has 2 / 3


def test_volume_beyond_chance_needs_unfair_to_be_beyond_chance(tmp_path):
    def change(run, result):
        judged = [name for name in result if "/beyond_chance/" in name]
        return result | dict.fromkeys(judged, float(run.seed == 0))

    own = {"auroc": 0.9, "accuracy": 0.85, "log_loss": 0.3, "violation": 0.4}
    data = collected(tmp_path, {"Unfair": own, "KL": own}, change=change)
    found = volumes(data, measure="violation_beyond_chance")
    assert found
    assert all(math.isnan(one.value) for one in found)
    assert all(math.isfinite(one.value) for one in volumes(data))


@pytest.mark.slow
@pytest.mark.parametrize("beyond", [(), ("train",), ("test",), ("train", "test")])
def test_chance_is_a_verdict_on_training_and_test_rows(tmp_path, beyond):
    def change(run, result):
        names = [name for name in result if "beyond_chance" in name]
        return result | {k: float(k.split("/")[0] in beyond) for k in names}

    own = {"auroc": 0.9, "violation": 0.04}  # below the floor
    found = stored(tmp_path, {"Unfair": own, "KL": own}, change=change)
    assert all(one.chance == (not beyond) for one in found)
    assert ("(–)" in printed(found)) == (not beyond)
    assert all(math.isnan(one.value) for one in found)


def test_reduction_that_draws_decisions_has_no_volume_of_scores(tmp_path):
    unfair, fair = {"accuracy": 0.85, "violation": 0.4}, {"violation": 0.04}
    data = collected(tmp_path, {"Unfair": unfair, "HSIC": unfair | fair})
    name = "ExponentiatedGradient"
    found = volumes(data.replace({"method": {"HSIC": name}}))
    assert {one.view for one in found} == {"accuracy, decisions"}
    row = next(line for line in printed(found).splitlines() if name in line)
    assert row.split()[-6:] == ["–", "–", "1.00", "±", "0.00", "–"]


def test_method_of_ones_own_has_a_volume(tmp_path):
    own = {"auroc": 0.9, "violation": 0.4}
    data = collected(tmp_path, {"Unfair": own, "HSIC": own | {"violation": 0.1}})
    found = volumes(data.replace({"method": {"HSIC": "Mine"}}))
    assert all(one.label == "Mine" and one.value > 0.5 for one in found)


def test_settings_younger_than_a_run_are_as_they_were(tmp_path):
    own = {"auroc": 0.9, "violation": 0.4}
    collected(tmp_path, {"Unfair": own, "KL": own | {"violation": 0.1}})
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as db:
        old = "UPDATE runs SET run = replace(run, ', \"stratified\": false', '') WHERE "
        assert db.execute(old + "run LIKE '%Unfair%'").rowcount > 0
        db.commit()
        text = "SELECT count(DISTINCT run LIKE '%stratified%') FROM runs"
        assert db.execute(text).fetchone() == (2,)
    data = frame(Store(tmp_path / "x.sqlite"))
    assert data["training"].nunique() == 1
    assert all(math.isfinite(one.value) for one in volumes(data))


def test_runs_of_a_sample_and_of_the_whole_table_are_not_mixed(tmp_path):
    own = {"auroc": 0.9, "violation": 0.4}
    data = collected(tmp_path, {"Unfair": own, "KL": own})
    data.loc[data["method"] == "KL", "test/rows"] += 7
    with pytest.raises(MixedRowsError, match=r"bank .*1234 and 1241"):
        volumes(data)


def test_volume_needs_the_unfair_model(tmp_path):
    found = stored(tmp_path, {"KL": {"auroc": 0.9}})
    assert found
    assert all(math.isnan(one.value) for one in found)


def test_empty_store_has_no_volumes(tmp_path):
    assert stored(tmp_path, {}) == []
