"""Scripts on two processes, started by torchrun or in its place."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from processes import PATHS, finish, start

EXAMPLES = Path(__file__).parents[1] / "examples"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
SCRIPT = """
import os, runpy, sys
del sys.argv[0]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name='__main__')
"""
TIMEOUT = 240  # seconds, on a machine that does other things too


def launch(script, *options):
    """Start torchrun; the caller waits for it."""
    path = os.pathsep.join([*PATHS, os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, *TORCHRUN, str(script), *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def run_pair(script, *options):
    """Run a script on two processes to a good end; give what both have printed."""
    ended = end_pair(script, *options)
    for code, _, err in ended:
        assert code == 0, err
    return "".join(out for _, out, _ in ended)


def end_pair(script, *options):
    """Run a script on two processes, without the time that these take to start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    jobs = [
        start(SCRIPT, script, *options, RANK=rank, LOCAL_RANK=rank, **place)
        for rank in ("0", "1")
    ]
    return list(map(finish, jobs))
