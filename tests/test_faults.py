"""Jobs of several processes end with an error, and soon, when one of them fails."""

import os
import signal
import time

import psutil
import pytest

from torchrun import EXAMPLES, TIMEOUT, end_pair, launch

pytestmark = pytest.mark.process

NAN_IN_ONE = """
import torch, torch.distributed as dist
from fairret.loss import KLProjectionLoss
from batches import sample

dist.init_process_group("gloo")
batch, fairret = sample(40), KLProjectionLoss("tpr")
for step in range(9):
    logit = batch.logit
    if step == 3 and dist.get_rank() == 1:
        logit = logit / 0 * 0  # a model that has diverged
    print("step", step, fairret(logit, *batch[1:]).isfinite().item(), flush=True)
"""


def workers_of(job):
    """The processes that train, of which torchrun's own is the parent."""
    return [
        child
        for child in psutil.Process(job.pid).children(recursive=True)
        if any("many_processes.py" in part for part in child.cmdline())
    ]


def test_killed_worker_ends_the_job_with_an_error(tmp_path):
    checkpoint = tmp_path / "last.pt"
    script = EXAMPLES / "many_processes.py"
    job = launch(script, "--epochs", 10**6, "--rows", 400, "--checkpoint", checkpoint)
    try:
        deadline = time.monotonic() + TIMEOUT
        while not checkpoint.exists():  # it trains
            assert job.poll() is None, job.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.2)
        workers = workers_of(job)
        assert len(workers) == 2
        os.kill(workers[1].pid, signal.SIGKILL)
        _, err = job.communicate(timeout=TIMEOUT)
        assert job.returncode != 0
        assert "SIGKILL" in err or "Signal 9" in err
        assert not any(worker.is_running() for worker in workers)
    finally:
        job.kill()


def test_nan_of_one_process_is_named_on_its_step(tmp_path):
    script = tmp_path / "nan_in_one.py"
    script.write_text(NAN_IN_ONE)
    (_, first, _), (code, second, err) = end_pair(script)
    assert code != 0
    assert "`logit` must not contain NaN; got it in 40 of 40 rows." in err
    for out in (first, second):
        assert "step 2 True" in out
        assert "step 3" not in out  # nobody goes on without the others
