"""The page of a fitted rule begins with what was asked and what was reached."""

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from jsonschema import validate

from estimator.conftest import quick
from fairret.auditing.plain import schema
from fairret.auditing.promise import Promise, Reached
from fairret.control import Tolerance
from fairret.metric.rounding import round_down, round_up
from pages import assert_fits, browser, read_strictly


def words(page):
    return " ".join(" ".join(read_strictly(page).words).split())


@pytest.fixture(scope="module")
def page(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    return fitted.audit_.to_html(path).read_text()


def test_page_begins_with_the_tolerance_the_certificate_and_the_accuracy(fitted, page):
    text = words(page)
    start = text.index("Tolerance: met")
    assert start < text.index("Before and after") < text.index("Who is in the data")
    promise, found = fitted.audit_.promise, fitted.certificate_
    assert "was to be at most 10%, and is" in promise.outcome
    assert promise.outcome in text
    assert promise.population in text
    low, high = round_down(found.low, 3), round_up(found.high, 3)
    assert f"between {low:.1%} and {high:.1%}" in text
    assert "900 rows that fitted the rule, scored by models that had not" in text
    solution = fitted.solution_
    assert promise.after.value == solution.value
    assert promise.after.accuracy == pytest.approx(solution.accuracy, abs=1e-12)
    assert f"{promise.before.accuracy:.1%}" in text
    assert f"{solution.accuracy:.1%}" in text


def test_notion_within_its_tolerance_is_no_alarm(fitted, page):
    """A gap of 10% of 900 rows is real, but it is what was asked for."""
    section = fitted.audit_.sections[0]
    assert section.name == "pr"
    said = fitted.audit_.verdict(section)
    assert said.startswith(
        "Demographic parity: within the tolerance; the remaining gap is "
    )
    assert "✓ within the tolerance" in words(page)
    others = [fitted.audit_.verdict(x) for x in fitted.audit_.sections[1:]]
    assert all("no tolerance was stated for it" in said for said in others)


def test_curve_is_drawn_and_listed(fitted, page):
    (chart,) = re.findall(r'<svg class="tradeoff".*?aria-label="(.*?)"', page)
    curve = fitted.tradeoff_
    assert len(chart.split("; ")) == len(curve.points) + 1  # and this rule
    assert "without the rule: largest violation" in chart
    table = page[page.index('class="tolerances"') :]
    rows = re.findall(r'<tr><th scope="row">(blind|informed)</th>', table)
    assert len(rows) == len(curve.points) - 1


def test_notion_that_is_no_default_comes_first(people):
    model = quick(notion="equalized_odds", min_ratio=0.5)
    audit = model.fit(people.X, people.y, sensitive_features=people.S).audit_
    assert audit.sections[0].title == "Equalized odds"
    promised = [x.name for x in audit.sections if audit.is_promised(x)]
    assert promised == ["tpr+fpr", "tpr", "fpr"]
    assert "at least 0.5" in audit.promise.outcome
    validate(json.loads(audit.to_json()), schema())


def test_missed_tolerance_is_an_alarm(fitted, people, new):
    """A rule for 10% on other people, who are judged by 2%."""
    model = quick().fit(people.X, people.y, sensitive_features=people.S)
    model._stated = model._stated._replace(tolerance=Tolerance(0.02))
    audit = model.audit(new.X, new.y, sensitive_features=new.S)
    assert not audit.promise.met
    assert audit.promise.curve is None
    assert "20,000 rows that are not in the fit" in audit.promise.outcome
    assert "tolerance not met" in audit.verdict(audit.sections[0])
    text = words(f"<main>{audit._repr_html_()}</main>")
    assert "Tolerance: not met ✗ The tolerance is not met" in text


def test_audit_can_be_copied_without_the_rows(fitted):
    again = pickle.loads(pickle.dumps(fitted.audit_.promise))
    assert again.curve.points == fitted.audit_.promise.curve.points
    assert set(vars(again.curve)) == {"points"}


def test_held_out_audit_of_a_saved_classifier_has_its_certificate(fitted, new):
    again = pickle.loads(pickle.dumps(fitted))
    audit = again.audit(new.X, new.y, sensitive_features=new.S)
    found = again.certify(new.X, new.y, sensitive_features=new.S)
    reached = audit.promise.after
    assert (reached.value, reached.low, reached.high) == (
        found.estimate,
        found.low,
        found.high,
    )
    decided = again.predict(new.X)
    assert reached.accuracy == pytest.approx(np.mean(decided == new.y), abs=1e-12)


def make(value, low, high, **options):
    reached = Reached(value, low, high, 0.8, 0.7, 0.3)
    given = {"kind": "max_violation", "limit": 0.1, "met": True, "assured": False}
    fixed = {"confidence": 0.9, "bound": high, "rows": "7 rows"}
    return Promise(
        ("pr",), **{**given, **fixed, **options}, before=reached, after=reached
    )


def test_bounds_are_rounded_outwards():
    """12.71% must not be "at most 12.7%", nor 0.7999 "at least 0.80"."""
    limited = make(0.05, 0.0196, 0.0912, assured=True)
    assert limited.ends(limited.after) == ("1.9%", "9.2%")
    assert "is between 1.9% and 9.2%. It is at most 9.2% with" in limited.population
    near = make(0.05, 0.0, 0.09996, assured=True)  # distinct from the limit of 10%
    assert "It is at most 9.996% with" in near.population
    ratio = make(0.85, 0.8249, 0.8751, kind="min_ratio", limit=0.8, assured=True)
    ratio = replace(ratio, bound=0.8249)
    assert "is between 0.82 and 0.88. It is at least 0.82 with" in ratio.population


@pytest.mark.parametrize(
    ("promise", "status", "outcome", "population"),
    [
        (make(0.05, 0.0, 0.2), "met", "at most 10%, and is 5.0%", "is not certain"),
        (
            make(0.05, 0.0, 0.095, assured=True),
            "met",
            "and is 5.0%",
            "It is at most 9.5% with the same confidence, so the tolerance holds",
        ),
        (
            make(0.05, 0.0, 0.12, required=True),
            "met on these rows, but not assured",
            "but not assured. The largest violation was to be at most 10%, and is 5.0%",
            "So it is not certain that the tolerance holds in the population.",
        ),
        (
            make(0.1003, 0.101, 0.2, met=False, broken=True),
            "not met",
            "and is 10.03%",
            "does not hold in the population",
        ),
        (
            make(0.7, 0.6, 0.9, kind="min_ratio", limit=0.8),
            "met, up to chance",
            "at least 0.8, and is 0.70 with the rule if small groups are counted",
            "with 90% confidence",
        ),
        (
            make(0.2, 0.1, 0.3, limit={"a": 0.25, "b": 0.5}),
            "met",
            "at most: a 25%, b 50%",
            "of the named groups in the population is between 10.0% and 30.0%",
        ),
        (
            make(0.2, 0.1, 0.3, limit={"a": 0.35, "b": 0.5}, assured=True),
            "met",
            "largest violation of the named groups was to be at most: a 35%, b 50%",
            "Each of them is within its own limit with the same confidence, so",
        ),
        (
            make(*[float("nan")] * 3, met=False, reasons=("nobody is refused",)),
            "not met",
            "and is –",
            "Nothing can be certified: nobody is refused.",
        ),
        (
            make(float("nan"), float("nan"), float("nan"), met=False),
            "not met",
            "and is –",
            "Nothing can be certified",
        ),
    ],
)
def test_words_of_a_promise(promise, status, outcome, population):
    assert promise.status == status
    assert outcome in promise.outcome
    assert population in promise.population


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1100])
def test_page_is_not_wider_than_the_window(width, page, tmp_path):
    assert_fits(width, page, browser(tmp_path / "profile"), tmp_path)
