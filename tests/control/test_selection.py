"""The best checkpoint within a tolerance is chosen, or the closest one."""

import pytest
import torch

from control.conftest import draw_population
from fairret.control import select_checkpoint
from fairret.errors import ArgumentError, NameNotFoundError, ShapeError


@pytest.fixture(scope="module")
def people():
    return draw_population(3000, 2, seed=8)


@pytest.fixture(scope="module")
def scores(people):
    """Strengths: the stronger, the lower the scores of the larger group."""
    group = people.sens[:, 1]
    return {
        str(x): torch.sigmoid(torch.logit(people.informed) - x * (group - 0.5))
        for x in (0.0, 0.8, 1.6)
    }


def test_most_accurate_candidate_within_the_tolerance_is_chosen(people, scores):
    found = select_checkpoint(scores, people.sens, people.label, max_violation=0.15)
    by_name = {c.name: c for c in found.candidates}
    inside = [c for c in found.candidates if c.within]
    assert found.within
    assert found.chosen.score == max(c.score for c in inside)
    assert not by_name["0.0"].within
    assert by_name["0.0"].score > found.chosen.score  # unfair, and more accurate
    assert "within the tolerance (max_violation 0.15)" in str(found)


def test_closest_candidate_is_chosen_and_said_where_none_is_within(people, scores):
    found = select_checkpoint(scores, people.sens, people.label, max_violation=0.0001)
    smallest = min(found.candidates, key=lambda c: c.certificate.estimate)
    assert not found.within
    assert found.name == smallest.name
    assert str(found).startswith("No candidate is within the tolerance")


def test_bound_is_stricter_than_the_estimate_and_counts_the_candidates(people, scores):
    one = select_checkpoint(scores, people.sens, people.label, max_difference=0.2)
    limit = one.chosen.certificate.estimate + 0.001
    options = {"max_difference": limit, "confidence": 0.94}
    estimate = select_checkpoint(scores, people.sens, people.label, **options)
    bound = select_checkpoint(scores, people.sens, people.label, by="bound", **options)
    assert sum(c.within for c in bound.candidates) < sum(
        c.within for c in estimate.candidates
    )
    assert bound.chosen.certificate.confidence == pytest.approx(1 - 0.06 / 3)


def test_metric_may_be_a_function_of_scores_and_labels(people, scores):
    found = select_checkpoint(
        scores,
        people.sens,
        people.label,
        min_ratio=0.01,
        metric=lambda h, y: -float((h - y).square().mean()),
    )
    assert found.name == "0.0"
    balanced = select_checkpoint(
        scores, people.sens, people.label, min_ratio=0.01, metric="balanced_accuracy"
    )
    f = (scores[balanced.name] > 0.5).double()
    right = (f == people.label).double()
    rates = [float(right[people.label == y].mean()) for y in (0, 1)]
    assert balanced.chosen.score == pytest.approx(sum(rates) / 2)


def test_wrong_input_is_refused_with_one_sentence(people, scores):
    options = {"sens": people.sens, "label": people.label, "max_violation": 0.1}
    with pytest.raises(ArgumentError, match="`candidates` must have at least one"):
        select_checkpoint({}, **options)
    with pytest.raises(ArgumentError, match="`by` must be 'estimate' or 'bound'"):
        select_checkpoint(scores, by="upper", **options)
    with pytest.raises(ArgumentError, match="`metric` must be 'accuracy' or"):
        select_checkpoint(scores, metric="auroc", **options)
    limits = options | {"max_violation": {"group 2": 0.1}}
    with pytest.raises(NameNotFoundError, match="'group 2', which does not exist"):
        select_checkpoint(scores, **limits)
    with pytest.raises(ShapeError, match=r"`candidates\['a'\]` must have shape"):
        select_checkpoint({"a": people.eta[:5]}, **options)
