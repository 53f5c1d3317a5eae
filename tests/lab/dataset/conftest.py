"""A home folder with small tables, and no cache."""

from dataclasses import replace

import pytest

from fairret.lab.dataset import files


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Put a table in the home folder, to be taken although it is not the published."""
    monkeypatch.setenv(files.HOME, str(tmp_path))
    monkeypatch.setattr(files, "cache_folder", lambda: None)

    def write(module, constant, text, encoding="utf-8"):
        table = replace(getattr(module, constant), sha256=None)
        monkeypatch.setattr(module, constant, table)
        path = tmp_path / table.path
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding=encoding)

    return write
