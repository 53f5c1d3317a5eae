"""The page: well-formed, alone in the world, and harmless in a browser."""

import re
import shutil
import subprocess
from html import escape, unescape
from html.parser import HTMLParser

import pytest

import fairret
from people import people

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = {
    "m": '<script>document.title="taken"</script>',
    "f": "<img src=x onerror=\"document.title='taken'\">",
    "d": "\"' onload='document.title=1' </svg></style>&lt;b&gt;",
}
NARROW_NO_BREAK_SPACE = "\u202f"


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


class Reader(HTMLParser):
    """Reads a page strictly: every tag that opens is closed, in order."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), self.get_starttag_text()
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def numbers(audit):
    """What the tables of decisions must show."""
    for section in audit.sections:
        for part in section.parts:
            for group in part.decisions.groups.values():
                yield f"{group.count:,.0f}".replace(",", NARROW_NO_BREAK_SPACE)
                yield f"{group.violation:.1%}"
                if part.notion.unit == "share":
                    yield f"{group.statistic:.1%}"
                    yield f"[{group.low:.1%}, {group.high:.1%}]"
                else:
                    yield f"{group.statistic:.3g}"


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
    }
    assert {tag for tag, _ in read.seen} <= known
    words = "".join(read.words)
    for name in (*audit.results["pr"].decisions.names, *HOSTILE.values()):
        assert name in words
    assert not [x for _, attrs in read.seen for x in attrs if x.startswith("on")]


def test_page_asks_for_nothing_outside(text, read):
    page = text.replace(escape(HOSTILE["f"]), "")  # the text of a name
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


def test_charts_have_words(read, audit):
    charts = [attrs for tag, attrs in read.seen if tag == "svg" and "role" in attrs]
    hidden = [attrs for tag, attrs in read.seen if tag == "svg" and "role" not in attrs]
    rows = [1 + len(p.decisions.names) for s in audit.sections for p in s.parts]
    assert len(charts) == 2 * sum(rows)  # decisions, and scores
    assert {attrs["role"] for attrs in charts} == {"img"}
    for attrs in charts:
        assert re.search(
            r": .*, interval .* to .*, overall |nobody counts", attrs["aria-label"]
        )
    # the rest are axes, keys and, within a chart, marks
    assert all(x.get("aria-hidden") == "true" or x["width"] == "1" for x in hidden)


def test_marks_differ_in_shape_and_in_words(text):
    off = re.findall(r'<svg class="off".*?</td>', text)
    rest = re.findall(r'<svg height="26".*?</td>', text)
    assert off
    assert rest
    assert all("<path" in x and "beyond chance" in x for x in off)
    assert all("<path" not in x and "beyond chance" not in x for x in rest)


def test_notebook_shows_the_same_without_a_page_around(audit, text):
    fragment = audit._repr_html_()
    assert fragment in text
    assert "<html" not in fragment
    for line in re.findall(r"^([^@{}]+)\{", fragment.split("</style>")[0], re.M):
        if line.startswith((".", " ")):
            assert ".fairret-audit" in line  # it leaves the notebook's own style alone


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Open a page without a window; give the document as it ends up, and the log."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("needs Chromium")
    profile = tmp_path_factory.mktemp("profile")

    def run(page, width):
        return subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu"),
                *("--disable-background-networking", "--disable-component-update"),
                *("--disable-sync", "--no-first-run", f"--user-data-dir={profile}"),
                *("--virtual-time-budget=2000", f"--window-size={width},800"),
                *("--enable-logging=stderr", "--v=0", "--dump-dom", page.as_uri()),
            ],
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=True,
        )

    return run


def test_browser_shows_the_page_and_says_nothing(browse, path, audit):
    result = browse(path, 1000)
    assert "CONSOLE" not in result.stderr
    title = re.search("<title>(.*?)</title>", result.stdout, re.S)[1]
    assert title == "Fairness audit of `data`"
    assert not re.search("<(script|img|i|b)[ >]", result.stdout)
    words = unescape(re.sub("<[^>]*>", "", result.stdout))
    for found in (*numbers(audit), *HOSTILE.values()):
        assert found in words


@pytest.mark.parametrize("width", [320, 390, 660, 1000])
def test_page_is_not_wider_than_the_window(width, browse, text, tmp_path):
    # Headless Chromium has no window below 500 pixels: a frame makes the phone.
    probe = """<script>
      document.querySelectorAll("details").forEach(x => { x.open = true; });
      const html = document.documentElement;
      const width = html.clientWidth;
      const wide = [...document.querySelectorAll("main *:not(svg *)")]
        .filter(x => x.getBoundingClientRect().right > width + 1)
        .map(x => x.tagName);
      parent.postMessage([html.scrollWidth, width, wide.join(" ")].join(), "*");
    </script></body>"""
    page = tmp_path / "probe.html"
    inner = escape(text.replace("</body>", probe))
    page.write_text(
        "<!DOCTYPE html><body><script>onmessage = e => "
        "{ document.body.dataset.width = e.data; };</script>"
        f'<iframe style="border:0;width:{width}px;height:700px" srcdoc="{inner}">',
        encoding="utf-8",
    )
    result = browse(page, 1100)
    found = re.search('data-width="(.*?),(.*?),(.*?)"', result.stdout)
    assert found[1] == found[2]
    assert width - 20 < int(found[1]) <= width  # the scroll bar takes some
    assert found[3] == ""
