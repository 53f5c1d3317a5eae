"""Peak memory of one forward and backward pass, in a process of its own.

Called as `memory_worker.py LOSS N D_S`; prints two numbers in bytes as JSON: the
resident size before the call, and the peak after it.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path


def measure(loss: str, n: int, d_s: int) -> tuple[int, int]:
    """Make the data, warm up on a few rows, and look at the peak around the call."""
    import torch
    from samples import many_groups

    import fairret.loss

    torch.set_num_threads(1)
    fairness = getattr(fairret.loss, loss)("pr")
    for size in (256, n):
        logit, sens = (torch.from_numpy(x) for x in many_groups(size, d_s))
        logit.requires_grad_()
        before = resident()
        torch.autograd.backward(fairness(logit, sens))
    return before, peak()


def peak() -> int:
    """Largest resident size so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def resident() -> int:
    """Resident size now; where the system does not tell, the largest so far."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return peak()
    return int(status.read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    """Start once more: Linux hands the peak of a parent on to its child's program."""
    *arguments, last = sys.argv[1:]
    if last == "measure":
        loss, n, d_s = arguments
        print(json.dumps(measure(loss, int(n), int(d_s))))
    else:
        subprocess.run([sys.executable, *sys.argv, "measure"], check=True)


if __name__ == "__main__":
    main()
