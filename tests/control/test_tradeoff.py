"""The curve has the rules of single fits, and shows what they cost."""

import json
from dataclasses import replace

import pytest
import torch

from control.conftest import draw_population
from fairret.control import find_rule, solve, tradeoff
from fairret.control.solve import SAMPLE
from fairret.errors import ArgumentError, RangeError

TOLERANCES = [0.1, 0.4, 0.2]


@pytest.fixture(scope="module")
def people():
    return draw_population(4000, 3, seed=2)


@pytest.fixture(scope="module")
def curve(people):
    return tradeoff(
        people.eta,
        people.sens,
        people.label,
        q=people.q,
        tolerances=TOLERANCES,
        names=["a", "b", "c"],
    )


def test_curve_goes_from_loose_to_strict_blind_and_informed(curve):
    assert [(p.mode, p.tolerance) for p in curve.points] == [
        ("plain", None),
        *(("blind", x) for x in (0.4, 0.2, 0.1)),
        *(("informed", x) for x in (0.4, 0.2, 0.1)),
    ]
    for point in curve.points[1:]:
        assert point.status == "met"
        assert point.low <= point.value <= point.high
        assert point.value <= point.tolerance or point.relaxed
    blind, informed = curve.points[1:4], curve.points[4:]
    assert blind[0].accuracy > blind[1].accuracy > blind[2].accuracy
    assert informed[2].accuracy > blind[2].accuracy  # what blindness costs


@pytest.mark.parametrize("notion", ["tpr", "ppv"])
def test_path_is_as_good_as_single_fits(people, notion):
    own = tradeoff(
        people.informed,
        people.sens,
        people.label,
        notion=notion,
        tolerances=TOLERANCES,
        adapt=False,
    )
    for value in TOLERANCES:
        single = find_rule(
            people.informed,
            people.sens,
            people.label,
            notion=notion,
            max_violation=value,
            adapt=False,
        )
        found = own.at(value)
        assert found.status == single.status == "met"
        assert found.found.objective >= single.found.objective - 1e-3


def test_rule_of_a_stricter_tolerance_is_taken_over_where_it_is_better(
    people, monkeypatch
):
    def fit(value):
        return find_rule(
            people.eta, people.sens, people.label, max_violation=value, adapt=False
        )

    loose, strict = fit(0.2), fit(0.1)
    best, missed = strict.found, fit(0.4).found
    missed = replace(missed, excess=loose.task.excess(missed.statistics))
    assert not missed.met
    monkeypatch.setattr(solve, "_solve_each", lambda tasks: [missed, best])
    first, second = solve.solve_path([loose.task, strict.task])
    assert first.met
    assert torch.equal(first.price, best.price)
    assert first.excess == pytest.approx(best.excess - 0.1, abs=0.02)
    assert second.excess == best.excess


def test_path_of_many_rows_starts_from_a_sample():
    many = draw_population(2 * SAMPLE + 1000, 3, seed=5)
    own = tradeoff(many.informed, many.sens, many.label, tolerances=[0.3, 0.1, 0.03])
    for value in (0.3, 0.1, 0.03):
        single = find_rule(many.informed, many.sens, many.label, max_violation=value)
        found = own.at(value)
        assert found.status == "met"
        assert found.found.objective >= single.found.objective - 1e-3
        assert len(found.decisions) == len(many.eta)


def test_curve_gives_rules_that_decide(curve, people):
    blind = curve.at(0.1)
    f = blind.rule.decide(people.eta, q=people.q)
    torch.testing.assert_close(f, blind.decisions)
    informed = curve.at(0.2, "informed")
    eta = curve.recalibration(people.eta, people.sens)
    f = informed.rule.decide(eta, sens=people.sens)
    torch.testing.assert_close(f, informed.decisions)


def test_scores_that_have_seen_the_groups_are_not_recalibrated(people):
    own = tradeoff(
        people.eta,
        people.sens,
        people.label,
        q=people.q,
        informed=people.informed,
        tolerances=[0.2],
    )
    f = own.at(0.2, "informed").rule.decide(people.informed, sens=people.sens)
    assert own.recalibration is None
    torch.testing.assert_close(f, own.at(0.2, "informed").decisions)


def test_ratios_go_from_loose_to_strict_too(people):
    own = tradeoff(
        people.informed,
        people.sens,
        people.label,
        kind="min_ratio",
        tolerances=[0.8, 0.6],
    )
    assert [p.tolerance for p in own.points] == [None, 0.6, 0.8]
    assert own.at(0.8).status == "met"


@pytest.mark.slow
def test_infeasible_tolerances_are_marked():
    people = draw_population(800, 3, seed=2)
    own = tradeoff(
        people.eta,
        people.sens,
        people.label,
        q=people.q,
        notion="ppv",
        tolerances=[0.2, 0.001],
        adapt=False,
    )
    blind = [p for p in own.points if p.mode == "blind"]
    assert blind[0].status == "met"
    assert all(p.status in ("missed", "infeasible") for p in blind[1:])
    assert str(own).count(f"({blind[1].status})") >= 1


def test_curve_is_a_table_a_frame_and_json(curve):
    pytest.importorskip("pandas")
    lines = str(curve).splitlines()
    assert lines[0].split()[:3] == ["rule", "tolerance", "accuracy"]
    assert len({line.rindex(" ") for line in lines[1:-1]}) == 1  # aligned
    assert "largest violation (pr) of 4,000 rows" in lines[-1]
    frame = curve.to_frame()
    assert len(frame) == len(curve.points) == 7
    assert frame["accuracy"].tolist() == [p.accuracy for p in curve.points]
    read = json.loads(curve.to_json())
    assert read["points"][0]["tolerance"] is None
    assert read["points"][3]["value"] == curve.points[3].value


def test_tolerances_that_change_nothing_share_a_line():
    g = torch.Generator().manual_seed(0)
    eta, luck = torch.rand(2, 2000, generator=g).double()
    sens = torch.nn.functional.one_hot(torch.arange(2000) % 2, 2)  # of no importance
    label = (luck < eta).double()
    own = tradeoff(eta, sens, label, tolerances=[0.5, 0.4, 0.3], names=["a", "b"])
    assert len(own.points) == 4
    rows = [line.split() for line in str(own).splitlines()]
    assert [row[:4] for row in rows if row[0] == "informed"] == [
        ["informed", "0.3", "to", "0.5"]
    ]


def test_figure_has_a_line_per_kind_of_rule(curve):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = curve.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == ["blind", "informed", "no tolerance"]
    assert "largest violation (pr)" in ax.get_xlabel()
    plt.close(figure)


def test_wrong_questions_are_refused(curve, people):
    with pytest.raises(RangeError, match=r"one of 0.4, 0.2, 0.1; got 0.3"):
        curve.at(0.3)
    with pytest.raises(ArgumentError, match="`mode` must be 'blind' or 'informed'"):
        curve.at(0.1, "plain")
    with pytest.raises(ArgumentError, match="`tolerances` must have at least one"):
        tradeoff(people.eta, people.sens, people.label, tolerances=[])
    with pytest.raises(RangeError, match=r"got 10. Did you mean 0.10\?"):
        tradeoff(people.eta, people.sens, people.label, tolerances=[10])
    with pytest.raises(RangeError, match="No group has the 30 counted rows"):
        tradeoff(people.eta[:40], people.sens[:40], people.label[:40])
