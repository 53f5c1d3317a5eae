"""The page: well-formed, alone in the world, and harmless in a browser."""

import re
from html import escape, unescape

import markupsafe
import pytest

import fairret
from fairret.auditing.wording import p_value
from pages import HOSTILE, assert_fits, browser, read_strictly
from people import people


@pytest.fixture(scope="module")
def audit():
    """Hostile names everywhere: of groups, of columns, of labels."""
    frame = people(1300).rename(columns={"race": "race <b>&amp;</b>"})
    frame["sex"] = frame["sex"].map(HOSTILE)
    frame.loc[:40, "sex"] = HOSTILE["d"]
    frame["y"] = frame["y"].map({1: "<i>yes</i>", 0: "no"})
    return fairret.audit(
        frame,
        score="p",
        label="y",
        positive="<i>yes</i>",
        sensitive=["sex", "race <b>&amp;</b>", "age"],
        intersections=[("sex", "age")],
        min_size=25,
        notions=["pr", "tpr+fpr", "fn_fp"],
    )


@pytest.fixture(scope="module")
def path(audit, tmp_path_factory):
    return audit.to_html(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def text(path):
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def read(text):
    return read_strictly(text)


def numbers(audit):
    """What the tables of decisions must show."""
    for section in audit.sections:
        for part in section.parts:
            for group in part.decisions.groups.values():
                yield f"{group.count:,.0f}"
                if not group.estimable:
                    yield "not estimable"
                    continue
                yield f"{group.violation:.1%}"
                if group.judged:
                    low = f"{group.violation_low:.0%}"
                    if low == "0%" and group.beyond_chance:
                        low = ">0%"
                    yield f"[{low}, {group.violation_high:.0%}]"
                else:
                    yield f"{group.violation:.1%} too few to judge"
                if part.notion.unit == "share":
                    yield f"{group.statistic:.1%}"
                    yield f"[{group.low:.1%}, {group.high:.1%}]"
                else:
                    yield f"{group.statistic:.3g}"


@pytest.mark.slow
def test_names_stay_text(read, audit):
    known = {
        *("html", "head", "meta", "link", "title", "style", "body", "main", "header"),
        *(
            "section",
            "h1",
            "h2",
            "h3",
            "p",
            "a",
            "strong",
            "span",
            "details",
            "summary",
        ),
        *("table", "caption", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd"),
        *("svg", "g", "path", "rect", "line", "circle", "text"),
        *("div", "figure", "figcaption"),
    }
    assert {tag for tag, _ in read.seen} <= known
    words = "".join(read.words)
    for name in (*audit.results["pr"].decisions.names, *HOSTILE.values()):
        assert name in words
    assert not [x for _, attrs in read.seen for x in attrs if x.startswith("on")]


def test_page_asks_for_nothing_outside(text, read):
    page = text  # without the text of a name, in both spellings of a quote
    for quoted in (escape(HOSTILE["f"]), str(markupsafe.escape(HOSTILE["f"]))):
        page = page.replace(quoted, "")
    for forbidden in ("http:", "https:", "src=", "<script", "@import", "url("):
        assert forbidden not in page
    links = [attrs["href"] for _, attrs in read.seen if "href" in attrs]
    anchors = {f"#{attrs['id']}" for _, attrs in read.seen if "id" in attrs}
    assert set(links) <= anchors | {"data:,"}


def test_anchors_are_unique(read):
    ids = [attrs["id"] for _, attrs in read.seen if "id" in attrs]
    assert len(set(ids)) == len(ids)


def test_tables_hold_the_numbers(read, audit):
    words = "".join(read.words)
    for number in numbers(audit):
        assert number in words
    for section in audit.sections:
        assert audit.verdict(section) in words


def test_summary_names_both_groups_of_a_notion(text, audit):
    table = text.split('<h2 id="summary">In short</h2>')[1].split("</table>")[0]
    summary = read_strictly(f"{table}</table>")
    words = " ".join("".join(summary.words).split())
    for section in audit.sections:
        strongest, worst = section.strongest.group, section.worst.group
        largest = float(section.decisions.largest_violation.estimate)
        assert worst.violation == pytest.approx(largest, rel=1e-12)
        assert f"{strongest.name} p {p_value(strongest.p_value)}" in words
        assert f"%] for {worst.name}" in words


def test_charts_have_words(read, audit):
    drawn = [attrs for tag, attrs in read.seen if tag == "svg" and "role" in attrs]
    charts = [x for x in drawn if x["class"] != "calibration"]
    small = [x for x in drawn if x["class"] == "calibration"]
    known = [x for x in audit.curves.calibration(0) if x.points]
    assert len(small) == len(known) > 1
    assert all("score" in x["aria-label"] for x in small)
    hidden = [attrs for tag, attrs in read.seen if tag == "svg" and "role" not in attrs]
    rows = [1 + len(p.decisions.names) for s in audit.sections for p in s.parts]
    assert len(charts) == 2 * sum(rows)  # decisions, and scores
    assert {attrs["role"] for attrs in charts} == {"img"}
    for attrs in charts:
        assert re.search(
            r": .*, interval .* to .*, overall |nobody counts", attrs["aria-label"]
        )
    # the rest are axes, keys, curves and, within these, marks and plots
    within = [x for x in hidden if x.get("aria-hidden") != "true"]
    assert all(x.get("class") == "plot" or x["width"] == "1" for x in within)


def test_marks_differ_in_shape_and_in_words(text):
    off = re.findall(r'<svg class="off".*?</td>', text)
    few = re.findall(r'<svg class="few".*?</td>', text)
    rest = re.findall(r'<svg class="" height="26".*?</td>', text)
    assert off
    assert few
    assert rest
    assert all("<path" in x and "beyond chance" in x for x in off)
    assert all("<path" not in x and "beyond chance" not in x for x in few + rest)
    assert all("too few to judge" in x or "nobody counts" in x for x in few)
    assert not [x for x in off + rest if "too few" in x]
    assert all('r="3"' in x for x in few if "<circle" in x)
    assert all('r="5"' in x for x in rest)


@pytest.mark.slow
def test_notebook_shows_the_same_without_a_page_around(audit, text):
    fragment = audit._repr_html_()
    assert fragment in text
    assert "<html" not in fragment
    for line in re.findall(r"^([^@{}]+)\{", fragment.split("</style>")[0], re.M):
        if line.startswith((".", " ")):
            assert ".fairret-audit" in line  # it leaves the notebook's own style alone


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    return browser(tmp_path_factory.mktemp("profile"))


@pytest.mark.browser
def test_browser_shows_the_page_and_says_nothing(browse, path, audit):
    result = browse(path, 1000)
    assert "CONSOLE" not in result.stderr
    title = re.search("<title>(.*?)</title>", result.stdout, re.S)[1]
    assert title == "Fairness audit of `data`"
    assert not re.search("<(script|img|i|b)[ >]", result.stdout)
    words = unescape(re.sub("<[^>]*>", "", result.stdout))
    for found in (*numbers(audit), *HOSTILE.values()):
        assert found in words


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 660, 800, 1000])
def test_page_is_not_wider_than_the_window(width, browse, text, tmp_path):
    assert_fits(width, text, browse, tmp_path)
