"""Python in processes of their own, with the package and the helpers of these tests."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import fairret

PATHS = [str(Path(fairret.__file__).parents[1]), str(Path(__file__).parent)]

# To import torch and torchmetrics takes seconds. Where there are forks, a server
# imports them once and is forked for every process.
FORKS = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if FORKS else "spawn")
if FORKS:
    CONTEXT.set_forkserver_preload(["torchmetrics", "fairret.metric.metrics"])


def start(code, *arguments, **environment):
    """Start Python that has imported torch already; the caller waits for it.

    Not for code that starts a pool of processes, which would wait for ever at its end.
    """
    return Warm(code, ["-c", *map(str, arguments)], environment)


def start_anew(code, *arguments, **environment):
    """Start Python that has imported nothing; the caller waits for it."""
    path = os.pathsep.join([*PATHS, os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
        start_new_session=True,
    )


class Warm:
    """What the tests use of `subprocess.Popen`."""

    def __init__(self, code, words, environment):
        self._folder = tempfile.TemporaryDirectory()
        self._files = [Path(self._folder.name, name) for name in ("out", "err")]
        environment = {**os.environ, **environment}
        arguments = (code, words, environment, Path.cwd(), self._files)
        self._process = CONTEXT.Process(target=_run, args=arguments)
        self._process.start()
        self.pid, self.kill = self._process.pid, self._process.kill

    @property
    def returncode(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("python", timeout)

    def communicate(self, timeout=None):
        self.wait(timeout)
        with self._folder:
            return [file.read_text() for file in self._files]


def _run(code, words, environment, folder, files):
    if hasattr(os, "setsid"):
        os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for stream, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream)
    sys.argv = words
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


def kill(process):
    """Kill it at once (-9), and then those that it has started and that outlive it."""
    process.kill()
    process.wait()
    if os.name != "nt":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)


def finish(process):
    """Wait for what was started; give its code, output and messages."""
    out, err = process.communicate(timeout=240)  # the machine may do other things too
    return process.returncode, out, err
