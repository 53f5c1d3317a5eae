"""People who do not exist, split."""

import pytest

from fairret.lab.dataset import load
from fairret.training import TrainingSettings, split_rows


@pytest.fixture(scope="session")
def people():
    return load("synthetic", n=1700, seed=3)


@pytest.fixture
def split(people):
    return split_rows(people.feat, people.sens, people.label, seed=1)


@pytest.fixture
def quick():
    return TrainingSettings(epochs=5, warm_up=2, batch=400, hidden=(9, 5))
