"""Scripts on two processes, started by torchrun."""

import os
import subprocess
import sys
from pathlib import Path

from processes import PATHS

EXAMPLES = Path(__file__).parents[1] / "examples"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
TIMEOUT = 240  # seconds, on a machine that does other things too


def launch(script, *options, launcher=TORCHRUN):
    """Start a job; the caller waits for it."""
    path = os.pathsep.join([*PATHS, os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, *launcher, str(script), *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def run(script, *options, launcher=TORCHRUN):
    """Run a job to its end, which must be a good one; give its output."""
    job = launch(script, *options, launcher=launcher)
    out, err = job.communicate(timeout=TIMEOUT)
    assert job.returncode == 0, err
    return out
