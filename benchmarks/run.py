"""Measure the speed targets in one run and print ratios.

python benchmarks/run.py [--quick]
"""

import argparse
import sys
import time

import experiments
import peer
import projection_speed
import scale
import scaling
import streaming
import torch
import training_step
from report import Row, machine, table


def say(what: str) -> None:
    """Tell the waiting user what is being measured."""
    print(f"{what} ...", file=sys.stderr)


def main() -> int:
    """Print the table; a missed target is a line of it, not a failure."""
    parser = argparse.ArgumentParser(description="Measure the speed targets.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and sizes")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    start = time.perf_counter()
    rows: list[Row] = []
    failed = 0
    try:
        say("1 projections against fairret 0.1.3")
        peer.install()
        rows += projection_speed.run(quick)
    except peer.PeerError as error:
        print(error, file=sys.stderr)
        failed = 1
    say("2 training steps")
    rows += training_step.run(quick)
    say("3 growth with n and d_s")
    rows += scaling.run(quick)
    say("4 metrics in a stream, and the audit of a file")
    rows += streaming.run(quick)
    say("5 whole trainings, and the runner")
    rows += experiments.run(quick)
    say("6 many groups, compiled steps, two processes")
    rows += scale.run(quick)
    print(machine(peer.FOLDER))
    print(f"{time.perf_counter() - start:.0f} s{', quick' if quick else ''}\n")
    print(table(rows))
    return failed


if __name__ == "__main__":
    sys.exit(main())
