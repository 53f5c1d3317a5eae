"""Peak memory of one forward and backward pass, in a process of its own.

Called as `memory_worker.py LOSS N D_S`; prints two numbers in bytes as JSON: the peak
before the call, and the peak after it.
"""

import json
import resource
import subprocess
import sys


def measure(loss: str, n: int, d_s: int) -> tuple[int, int]:
    """Make the data, warm up on a few rows, and look at the peak around the call."""
    import torch
    from batches import many_groups

    import fairret.loss

    torch.set_num_threads(1)
    fairness = getattr(fairret.loss, loss)("pr")
    for size in (256, n):
        logit, sens = (torch.from_numpy(x) for x in many_groups(size, d_s))
        logit.requires_grad_()
        before = peak()
        fairness(logit, sens).backward()
    return before, peak()


def peak() -> int:
    """Largest resident size so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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
