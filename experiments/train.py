"""Train everything that docs/reproduction.md is about, the most important first.

    python experiments/train.py STORE [--jobs N]

Models without a fairness term come first, because they tell what is beyond chance.
Then the first three seeds of every file are trained, one file after the other, and
last the other seeds, so that what is there at any time is balanced. What `results` and
`results/partial` have is not trained again. Safe to interrupt: rerun the command to
resume. `collect.py` writes the tables.
"""

import argparse
import sys
import time
from pathlib import Path

from fairret.errors import FairretError
from fairret.lab.experiment import Progress, Run, Store, list_runs, read_experiment
from fairret.lab.experiment.export import read_export
from fairret.lab.experiment.runner import run_missing
from fairret.lab.experiment.trade_off import UNFAIR
from fairret.lab.experiment.work import Outcome

FOLDER = Path(__file__).parent
TABLES = FOLDER.parent / "results"
PARTIAL = TABLES / "partial"
ORDER = (
    *("trade_offs", "trade_offs_acs", "architectures", "axes", "single_trait"),
    *("peers", "trade_offs_other", "released"),
    *("trade_offs_other_acs", "single_trait_acs"),
)
FIRST_SEEDS = range(3)  # most files have no others


def tell(progress: Progress, last: Outcome | None) -> None:
    """Write a line per run, for a log."""
    if last is not None:
        ended = progress.done + progress.failed
        words = last.reason or f"{last.seconds:.0f} s"
        now = time.strftime("%H:%M:%S")
        print(f"{now} {ended}/{progress.total} {last.run}: {words}", flush=True)


def main() -> int:
    """Train all files; one that cannot be trained does not stop the others."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path, help="SQLite file of the results")
    parser.add_argument("--jobs", type=int, default=1, help="parallel trainings")
    given = parser.parse_args()
    files = {name: read_runs(name) for name in ORDER}
    first = [
        run
        for name, runs in files.items()
        for run in runs
        if run.method == UNFAIR and name != "architectures"
    ]
    stages = {UNFAIR: list(dict.fromkeys(first))}
    for name, runs in files.items():
        stages[name] = [run for run in runs if run.seed in FIRST_SEEDS]
    stages |= {f"{name}, all seeds": runs for name, runs in files.items()}
    store = Store(given.store)
    for name, runs in files.items():
        restore(name, runs, store)
    ended = [train(name, runs, store, given.jobs) for name, runs in stages.items()]
    return 0 if all(ended) else 2


def read_runs(name: str) -> list[Run]:
    """List the runs of a file."""
    return list_runs(read_experiment(FOLDER / f"{name}.toml"))


def restore(name: str, runs: list[Run], store: Store) -> None:
    """Add the committed runs of a file to a store, those of this revision only."""
    wanted = {run.key for run in runs}
    for folder in (TABLES, PARTIAL):
        path = folder / f"{name}.parquet"
        if path.exists():
            found = [(key, one) for key, one in read_export(path) if key in wanted]
            store.restore(found)


def train(name: str, runs: list[Run], store: Store, jobs: int) -> bool:
    """Train some runs; tell why if it is not possible."""
    try:
        run_missing(runs, store, jobs=jobs, on_progress=tell)
    except FairretError as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
