"""What tests of the commands share."""

import pytest

from small_grid import FILE


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "grid.toml"
    path.write_text(FILE)
    return path
