"""Every name and test in docs/paper-map.md exists."""

import importlib
import re
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "paper-map.md").read_text()
NAMES = sorted(set(re.findall(r"`(fairret[\w.]*)`", PAGE)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))


def resolve(name):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[cut:], module)
    raise AssertionError(name)


def test_names_in_the_map_import():
    assert len(NAMES) > 40
    for name in NAMES:
        assert resolve(name) is not None, name


def test_tests_in_the_map_exist():
    assert len(TESTS) > 40
    for test in TESTS:
        path, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / path).read_text(), test


def test_map_covers_every_numbered_item():
    for kind, count in (("Def.", 11), ("Prop.", 2), ("Remark", 4), ("row", 8)):
        for number in range(1, count + 1):
            assert re.search(rf"{re.escape(kind)} {number}\b", PAGE), (kind, number)
    listed = set()
    for first, last in re.findall(r"(?:Eq\. |, )(\d+)(?: to (\d+))?", PAGE):
        listed.update(range(int(first), int(last or first) + 1))
    assert set(range(1, 17)) <= listed
