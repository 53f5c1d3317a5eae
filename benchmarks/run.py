"""Measure the speed targets in one run and print ratios.

python benchmarks/run.py [--quick] [--rows 1 2 ...]
"""

import argparse
import sys
import time
from collections.abc import Callable

import experiments
import peer
import projection_speed
import scale
import scaling
import streaming
import torch
import training_step
from report import Row, machine, table

ROWS: dict[str, tuple[str, Callable[[bool], list[Row]]]] = {
    "1": ("projections against fairret 0.1.3", projection_speed.run),
    "2": ("training steps", training_step.run),
    "3": ("growth with n and d_s", scaling.run),
    "4": ("metrics in a stream, and the audit of a file", streaming.run),
    "5": ("whole trainings, and the runner", experiments.run),
    "6": ("many groups, compiled steps, two processes", scale.run),
}


def main() -> int:
    """Print the table; a missed target is a line of it, not a failure."""
    parser = argparse.ArgumentParser(description="Measure the speed targets.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and sizes")
    parser.add_argument(
        "--rows", nargs="+", choices=ROWS, default=list(ROWS), help="rows to measure"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.perf_counter()
    rows: list[Row] = []
    failed = 0
    for number in options.rows:
        what, run = ROWS[number]
        print(f"{number} {what} ...", file=sys.stderr)
        try:
            if number == "1":
                peer.install()
            rows += run(options.quick)
        except peer.PeerError as error:
            print(error, file=sys.stderr)
            failed = 1
    print(machine(peer.FOLDER))
    print(f"{time.perf_counter() - start:.0f} s{', quick' * options.quick}\n")
    print(table(rows))
    return failed


if __name__ == "__main__":
    sys.exit(main())
