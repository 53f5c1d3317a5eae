"""Put trained runs into `results`, for docs/reproduction.md.

    python experiments/collect.py STORE

If three seeds of a file are complete, or all that it has, the complete seeds replace
`results/NAME.parquet`. Runs that no table has go to `results/partial`. Afterwards,
`make figures` and `python experiments/claims.py --write` follow.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from train import FIRST_SEEDS, ORDER, PARTIAL, TABLES, read_runs, restore

from fairret.errors import FairretError
from fairret.lab.experiment import Run, Store
from fairret.lab.experiment.export import export


def main(arguments: list[str]) -> int:
    """Write the tables of all files, and say what they have."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path, help="SQLite file of the results")
    path: Path = parser.parse_args(arguments).store
    if not path.is_file():
        parser.error(f"`store` must be a file of results; {path} does not exist.")
    store = Store(path)
    files = {name: read_runs(name) for name in ORDER}
    for name, runs in files.items():
        restore(name, runs, store)  # so that nothing committed is lost
    finished = {key for key, _ in store.finished()}
    written: set[str] = set()  # files share runs: a second copy is of no use
    for name, runs in files.items():
        found = [run for run in runs if run.key in finished]
        whole, rest = divide(runs, found)
        rest = [run for run in rest if run.key not in written]
        written |= {run.key for run in (*whole, *rest)}
        for folder, own in ((TABLES, whole), (PARTIAL, rest)):
            if own:
                folder.mkdir(parents=True, exist_ok=True)
                export(store, own, folder / f"{name}.parquet")
        if not rest:
            (PARTIAL / f"{name}.parquet").unlink(missing_ok=True)
        print(f"{name}: {len(whole)} and {len(rest)} of {len(runs)} runs")
    return 0


def divide(runs: Iterable[Run], found: list[Run]) -> tuple[list[Run], list[Run]]:
    """Divide what was found into runs of complete seeds, if enough, and others."""
    missing = {run.seed for run in {*runs} - {*found}}
    planned = {run.seed for run in runs}
    complete = planned - missing
    if len(complete) < min(len(planned), len(FIRST_SEEDS)):
        complete = set()
    whole = [run for run in found if run.seed in complete]
    return whole, [run for run in found if run.seed not in complete]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except FairretError as error:
        print(f"collect.py: {error}", file=sys.stderr)
        sys.exit(2)
