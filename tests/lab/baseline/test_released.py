"""How fairret 0.1.3 is installed: announced, pinned, and nothing else in its place."""

import logging
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from fairret.errors import MissingExtraError
from fairret.lab.baseline import released

METADATA = "Metadata-Version: 2.1\nName: fairret\nVersion: 0.1.3\n"
WHEEL = (
    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRRET_PEERS", str(tmp_path / "peers"))
    return tmp_path / "peers" / "fairret-0.1.3"


def test_install_is_announced_before_pip_starts(home, monkeypatch, caplog):
    commands = []

    def run(command, **options):
        assert f"installing them with pip into {home}" in caplog.text
        assert {record.levelno for record in caplog.records} == {logging.WARNING}
        home.mkdir(parents=True, exist_ok=True)
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(released.subprocess, "run", run)
    released.install()
    first, second = commands
    assert {"--require-hashes", "--no-deps", released.REQUIREMENTS} < {*first}
    assert second[-3:] == ["-c", released.CONSTRAINTS, "cvxpy>=1.5"]
    for command in commands:
        assert command[command.index("--only-binary") + 1] == ":all:"
    caplog.clear()
    released.install()  # it is there
    assert (len(commands), caplog.text) == (2, "")


def test_versions_are_those_in_its_folder(home):
    assert released.packages() == {}
    for name, version in (("scs", "3.9"), ("cvxpy", "0.1"), ("other", "7")):
        info = home / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(text)
    assert released.packages() == {"cvxpy": "0.1", "scs": "3.9"}


def test_all_that_is_installed_is_pinned():
    def lines(path):
        text = Path(path).read_text()
        return [line for line in text.splitlines() if not line.startswith("#")]

    (own,) = lines(released.REQUIREMENTS)
    pin = rf"fairret=={re.escape(released.VERSION)} --hash=sha256:[0-9a-f]{{64}}"
    assert re.fullmatch(pin, own)
    for line in lines(released.CONSTRAINTS):
        assert re.fullmatch(r'[a-z0-9-]+==[\w.]+; python_version >= "3\.11"', line)


@pytest.mark.process
def test_another_package_of_the_same_name_is_not_installed(home, tmp_path, monkeypatch):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "fairret-0.1.3-py3-none-any.whl", "w") as wheel:
        wheel.writestr("fairret/__init__.py", "raise SystemExit('not the real one')")
        for name, text in (("METADATA", METADATA), ("WHEEL", WHEEL), ("RECORD", "")):
            wheel.writestr(f"fairret-0.1.3.dist-info/{name}", text)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.setenv(name, "" if name.endswith("URL") else "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    with pytest.raises(
        MissingExtraError, match=r"the package index offers another one"
    ):
        released.install()
    assert not (home / "fairret").exists()
    assert not (home / ".installed").exists()
