"""One thread per worker, and a marker for every test that `make quick` leaves out."""

import gc
import multiprocessing.process
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from fairret import checks

torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """Give tests of other processes, which a busy machine may starve, a second try."""
    for item in items:
        if item.get_closest_marker("process") or item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish():
    """Spare the garbage collector what stays: that saves a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


@pytest.fixture(autouse=True)
def draws_the_same():
    """Draw the same numbers in every test, whatever ran before it in its process."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def warns_anew():
    """Show a warning that is shown once per process to every test that earns it."""
    checks._warned.clear()


def marker_of(command):
    """Name the marker of tests that start this command; None for tools of libraries."""
    words = [command] if isinstance(command, str | bytes | os.PathLike) else command
    text = " ".join(map(str, words))
    if "--headless" in text:
        return "browser"
    return "process" if sys.executable in text else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Stop a test that compiles or starts a process without the marker for it."""
    marked = {mark.name for mark in item.iter_markers()}
    if "compile" in marked:
        marked.add("process")  # inductor compiles in processes of its own

    def require(marker):
        if marker and marker not in marked:
            pytest.fail(f"Mark this test with @pytest.mark.{marker}.", pytrace=False)

    def checked(function, marker):
        def call(*arguments, **options):
            require(marker(*arguments) if callable(marker) else marker)
            return function(*arguments, **options)

        return call

    process = multiprocessing.process.BaseProcess
    popen = checked(subprocess.Popen.__init__, lambda self, args, *_: marker_of(args))
    with pytest.MonkeyPatch.context() as patch:  # fixtures of a module are in it too
        patch.setattr(torch, "compile", checked(torch.compile, "compile"))
        patch.setattr(process, "start", checked(process.start, "process"))
        patch.setattr(subprocess.Popen, "__init__", popen)
        return (yield)
