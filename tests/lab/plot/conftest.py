"""What tests of figures share."""

import pytest

from fairret.lab.plot import style


@pytest.fixture
def without_layout(monkeypatch):
    """Leave the axes where they are: to lay them out takes half of the time."""
    monkeypatch.setattr(style, "set_height", lambda figure, height: None)
