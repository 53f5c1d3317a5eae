"""Python in processes of their own, with the package and the helpers of these tests."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import fairret

PATHS = [str(Path(fairret.__file__).parents[1]), str(Path(__file__).parent)]


def start(code, *arguments, **environment):
    """Start Python; the caller waits for it."""
    path = os.pathsep.join([*PATHS, os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
        start_new_session=True,
    )


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
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err
