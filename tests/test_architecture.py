"""docs/architecture.md names what exists, and its picture shows today's imports."""

import re
import runpy
from pathlib import Path
from pydoc import locate

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
NAMES = sorted(set(re.findall(r"`(fairret(?:\.\w+)+)`", TEXT)))
PATHS = sorted(
    set(re.findall(r"`((?:src|tests|docs|experiments)/[\w./]+)`", TEXT))
    | set(re.findall(r"(?:fairret run|python) ([\w./]+)`", TEXT))
)


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name):
    assert locate(name, forceload=False) is not None


@pytest.mark.parametrize("path", PATHS)
def test_path_exists(path):
    assert (ROOT / path).exists()


def test_picture_shows_the_imports_of_today():
    drawn = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == SCRIPT["draw"](), "run `python docs/draw_architecture.py`"


def test_an_arrow_that_follows_from_others_is_implied():
    edges = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("x", "d")}
    implied = {edge for edge in edges if SCRIPT["is_implied"](edge, edges)}
    assert implied == {("a", "c")}
    assert [SCRIPT["rank"](name, edges) for name in "abcdx"] == [3, 2, 1, 0, 1]
