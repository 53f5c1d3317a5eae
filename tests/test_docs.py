"""All pages are easy to read as text, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (".", "docs", "benchmarks")
    for path in (ROOT / folder).glob("*.md")
)
WIDTH, COLUMNS = 100, 7


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_wrapped_except_in_tables(page):
    lines = [line for line in read(page).splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_narrow(page):
    for line in re.findall(r"^\|.*\|$", read(page), re.MULTILINE):
        cells = re.sub(r"\\\|", "", line).count("|") - 1
        assert cells <= COLUMNS, line


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", read(page)):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / page).parent / file if file else ROOT / page
        assert path.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            plain = [re.sub(r"[^\w\s-]", "", x.lower()) for x in heads]  # as on GitHub
            assert anchor in [x.replace(" ", "-") for x in plain], target
