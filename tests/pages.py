"""Reads pages strictly, and opens them in a browser without a window."""

import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser

import pytest

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = {
    "m": '<script>document.title="taken"</script>',
    "f": "<img src=x onerror=\"document.title='taken'\">",
    "d": "\"' onload='document.title=1' </svg></style>&lt;b&gt;",
}


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


def read_strictly(text):
    """Parse a page; fail if it is not well-formed."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def browser(profile):
    """Open pages without a window; give the document as it ends up, and the log."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("needs Chromium")

    def run(page, width):
        return subprocess.run(
            [
                *(program, "--headless", "--no-sandbox", "--disable-gpu"),
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


def assert_fits(width, text, browse, folder):
    """Check that nothing of a page is wider than a window of this width."""
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
    page = folder / "probe.html"
    inner = escape(text.replace("</body>", probe))
    page.write_text(
        "<!DOCTYPE html><body><script>onmessage = e => "
        "{ document.body.dataset.width = e.data; };</script>"
        f'<iframe style="border:0;width:{width}px;height:700px" srcdoc="{inner}">',
        encoding="utf-8",
    )
    result = browse(page, 1100)
    found = re.search('data-width="(.*?),(.*?),(.*?)"', result.stdout)
    assert found[1] == found[2], found[0][:600]
    assert width - 20 < int(found[1]) <= width  # the scroll bar takes some
    assert found[3] == ""
