"""Every example for several processes runs on two."""

import re

import pytest
import torch

from processes import finish, start
from torchrun import EXAMPLES, SCRIPT, run_pair

pytestmark = pytest.mark.process

RESULT = re.compile(r"^2 processes, .*: the largest violation is (0\.\d{6})$", re.M)
EXAMPLE = EXAMPLES / "many_processes.py"


def test_accelerate_trains_on_two_processes():
    example = EXAMPLES / "accelerate_training.py"
    assert_one_result(run_pair(example, "--rows", 600, "--epochs", 3))


def test_lightning_starts_two_processes_by_itself():
    example = EXAMPLES / "lightning_training.py"
    code, out, err = finish(start(SCRIPT, example, "--rows", 600, "--epochs", 3))
    assert code == 0, err
    assert_one_result(out)


def assert_one_result(out):
    (violation,) = RESULT.findall(out)  # from one process alone
    assert 0 < float(violation) < 1


def test_two_halves_of_a_training_are_the_whole_to_the_bit(tmp_path):
    halves, whole = tmp_path / "halves.pt", tmp_path / "whole.pt"

    def train(epochs, checkpoint):
        options = ("--rows", 400, "--epochs", epochs, "--checkpoint", checkpoint)
        return run_pair(EXAMPLE, *options)

    first, then, straight = train(4, halves), train(8, halves), train(8, whole)
    assert_one_result(straight)
    assert "epochs 0 to 4" in first
    assert "epochs 4 to 8" in then
    assert RESULT.findall(then) == RESULT.findall(straight) != RESULT.findall(first)
    one, other = torch.load(halves), torch.load(whole)
    assert one["epoch"] == other["epoch"] == 8
    assert_equal(one, other)


def assert_equal(one, other):
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    elif isinstance(one, list | tuple):
        for mine, its in zip(one, other, strict=True):
            assert_equal(mine, its)
    else:
        assert one == other
