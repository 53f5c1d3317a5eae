"""Every example for several processes runs on two."""

import re

import pytest
import torch

from torchrun import EXAMPLES, TORCHRUN, run, run_pair

pytestmark = pytest.mark.process

RESULT = re.compile(r"^2 processes, .*: the largest violation is (0\.\d{6})$", re.M)
EXAMPLE = EXAMPLES / "many_processes.py"


@pytest.mark.parametrize(
    ("name", "launcher"),
    [
        ("accelerate_training.py", TORCHRUN),
        ("lightning_training.py", ()),  # which starts the processes by itself
    ],
)
def test_example_trains_on_two_processes(name, launcher, tmp_path):
    out = run(EXAMPLES / name, "--rows", 600, "--epochs", 3, launcher=launcher)
    assert_one_result(out)


def assert_one_result(out):
    (violation,) = RESULT.findall(out)  # from one process alone
    assert 0 < float(violation) < 1


def test_two_halves_of_a_training_are_the_whole_to_the_bit(tmp_path):
    rows = ("--rows", 400)
    halves, whole = tmp_path / "halves.pt", tmp_path / "whole.pt"
    first = run_pair(EXAMPLE, *rows, "--epochs", 4, "--checkpoint", halves)
    then = run_pair(EXAMPLE, *rows, "--epochs", 8, "--checkpoint", halves)
    straight = run_pair(EXAMPLE, *rows, "--epochs", 8, "--checkpoint", whole)
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
