"""What the page draws: thresholds, calibration and base rates."""

import math
import re

import numpy as np
import pytest

import fairret
from fairret.auditing.curves import LEAST_ROWS, MOST_POINTS
from people import people

N = 1300
OPTIONS = {"score": "p", "label": "y", "sensitive": ["sex", "race"]}
NOTIONS = ["pr", "tpr+fpr", "ppv"]


@pytest.fixture(scope="module")
def frame():
    return people(N)


@pytest.fixture(scope="module")
def audit(frame):
    return fairret.audit(frame, notions=NOTIONS, threshold=0.45, **OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threshold", "weight"), [(0.3, "w"), (0.45, None), (0.45, "w"), (0.62, None)]
)
def test_curve_equals_auditing_again_with_that_threshold(frame, threshold, weight):
    audit = fairret.audit(frame, notions=NOTIONS, weight=weight, **OPTIONS)
    again = fairret.audit(
        frame,
        notions=[*NOTIONS, "accuracy"],
        threshold=threshold,
        weight=weight,
        **OPTIONS,
    )
    accuracy = again.results["accuracy"].decisions.everybody
    for name in NOTIONS:
        curve = audit.curves.curve(name, 0)
        # the threshold of the audit itself is always on the grid
        other = fairret.audit(
            frame, notions=[name], threshold=threshold, weight=weight, **OPTIONS
        ).curves.curve(name, 0)
        at = other.thresholds.index(threshold)
        bounds = again.results[name].decisions.largest_violation
        for line, expected in (
            (other.violation, bounds),
            (other.accuracy, (accuracy.statistic, accuracy.low, accuracy.high)),
        ):
            for values, value in zip(line, expected, strict=True):
                # sums in another order
                assert values[at] == pytest.approx(float(value), rel=1e-9, abs=1e-12)
        assert (threshold in curve.thresholds) == (threshold != 0.45)
        if threshold != 0.45:
            there = curve.thresholds.index(threshold)
            assert curve.violation.value[there] == pytest.approx(
                other.violation.value[at], rel=1e-9
            )


def test_curve_has_no_accuracy_without_labels_and_gaps_where_nobody_counts(frame):
    audit = fairret.audit(frame, score="p", sensitive="sex")
    curve = audit.curves.curve("pr", 0)
    assert curve.accuracy is None
    highest = [t for t in curve.thresholds if t >= frame["p"].max()]
    for t in highest:
        assert math.isnan(curve.violation.value[curve.thresholds.index(t)])
    assert "accuracy</figcaption>" not in audit._repr_html_()
    assert "nan" not in audit._repr_html_()


@pytest.mark.slow
def test_page_draws_violation_and_accuracy_against_the_threshold(audit):
    page = audit._repr_html_()
    assert page.count("What another threshold would change") == len(NOTIONS)
    for title in ("largest violation of a judged group", "accuracy"):
        assert page.count(f"<figcaption>{title}</figcaption>") == len(NOTIONS)
    assert page.count('class="at now"') == 2 * len(NOTIONS)
    assert 'd="M45.00 0.00 L45.00 100.00"' in page  # the current threshold


def plain_calibration(p, y, edges):
    """Join bins from the left until each has a share of the rows, one by one."""
    target = max(LEAST_ROWS, len(p) / MOST_POINTS)
    points, scores, positives = [], [], []
    bounds = [-1.0, *edges, 2.0]
    for j in range(len(bounds) - 1):
        for score, label in zip(p, y, strict=True):
            if bounds[j] < score <= bounds[j + 1]:
                scores.append(score)
                positives.append(label)
        last = j == len(bounds) - 2
        if len(scores) >= (LEAST_ROWS if last else target):
            points.append((sum(scores) / len(scores), sum(positives) / len(scores)))
            scores, positives = [], []
    return points


def test_calibration_equals_a_plain_loop(audit, frame):
    edges = audit.curves.curve("pr", 0).thresholds
    found = audit.curves.calibration(0)
    names = ["everybody", *audit.results["pr"].decisions.names]
    assert [x.group for x in found] == names
    for own in found:
        rows = frame
        if own.group != "everybody":
            trait, value = own.group.split("=")
            rows = frame[frame[trait] == value]
        expected = plain_calibration(rows["p"], rows["y"], edges)
        assert 2 <= len(expected) <= MOST_POINTS + 1
        # sums in another order
        assert [x[:2] for x in own.points] == [
            pytest.approx(x, rel=1e-9) for x in expected
        ]
        for _, share, low, high in own.points:
            assert 0 <= low <= share <= high <= 1


def test_calibration_of_probabilities_is_on_the_line():
    rng = np.random.default_rng(5)
    p = rng.beta(2, 3, 20_000)
    frame = {"p": p, "y": rng.random(len(p)) < p, "g": rng.integers(0, 2, len(p))}
    audit = fairret.audit(frame, score="p", label="y", sensitive="g", notions=["pr"])
    inside = [
        low <= score <= high
        for own in audit.curves.calibration(0)
        for score, _, low, high in own.points
    ]
    assert np.mean(inside) > 0.85  # 24 intervals of 95 %


@pytest.mark.slow
def test_base_rates_are_shares_of_positive_labels(audit, frame):
    plain = audit.to_dict()["base_rates"]
    page = audit._repr_html_()
    assert plain[0]["name"] == "everybody"
    for row in plain:
        rows = frame
        if row["name"] != "everybody":
            trait, value = row["name"].split("=")
            rows = frame[frame[trait] == value]
        assert row["statistic"] == pytest.approx(rows["y"].mean(), rel=1e-12)
        assert row["count"] == len(rows)
        shown = f'{row["statistic"]:.1%} <span class="quiet">[{row["low"]:.1%}, '
        assert shown in page
    assert fairret.audit(frame, score="p", sensitive="sex").base_rates is None


@pytest.mark.slow
def test_page_states_what_was_audited(frame, tmp_path):
    frame.to_csv(tmp_path / "people.csv", index=False)
    audit = fairret.audit(tmp_path / "people.csv", name="loans <v2>", **OPTIONS)
    page = audit.to_html(tmp_path / "a.html").read_text(encoding="utf-8")
    settings = audit.settings
    assert "<title>Fairness audit of loans &lt;v2&gt;</title>" in page
    assert "<h1>Fairness audit of loans &lt;v2&gt;</h1>" in page
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", settings.date)
    assert settings.date.replace("+", "&#43;") in page or settings.date in page
    for words in (
        audit.sha256["people.csv"],
        f"fairret {fairret.__version__}",
        "base rate",
        "Calibration",
    ):
        assert words in page
