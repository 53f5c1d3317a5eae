"""Draw every figure of stored results from the committed tables.

    python experiments/draw.py [FIGURE ...]

`results/NAME.parquet` has the runs of `experiments/NAME.toml`, except that
`results/tolerance.parquet` is what `fairret tolerance` wrote; the figures go to
`results/figures`, as PNG and PDF. A figure of several experiments shows those that have
a table. Figures of one model's scores, which are trained first, are drawn if they are
named, or missing; the values of `batches` go to `results/batch_losses.csv`.
"""

import sys
from functools import cache
from pathlib import Path

import pandas as pd

from fairret.errors import FairretError
from fairret.lab.experiment import read_experiment
from fairret.lab.experiment.export import read_frame
from fairret.lab.plot import FIGURES, NoResultsError, draw_figure, find_figure
from fairret.lab.plot.batches import tabulate_losses
from fairret.lab.plot.catalogue import draw_results, experiment_files
from fairret.lab.plot.tolerance import draw as draw_tolerance
from fairret.lab.plot.unfair import unfair_scores
from fairret.lab.tolerance.table import read

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "results"
FOLDER = TABLES / "figures"
BATCHES = TABLES / "batch_losses.csv"  # the values of the figure "batches"
TOLERANCE = TABLES / "tolerance.parquet"  # that `fairret tolerance` wrote


def main(names: list[str]) -> None:
    """Draw those named, or all."""
    for name in names:
        find_figure(name)  # before anything is drawn
    for name in names or FIGURES:
        print(f"{name}: {_draw(name, wanted=name in names)}")
    if not names and TOLERANCE.exists():
        draw_tolerance(read(TOLERANCE), FOLDER)
        print("tolerance: drawn")


def _draw(name: str, wanted: bool) -> str:
    figure = find_figure(name)
    file = ROOT / "experiments" / f"{figure.experiment}.toml"
    files = experiment_files(name, file)
    if figure.from_scores:
        if not wanted and (FOLDER / f"{name}.png").exists():
            return "left as it is"
        draw_figure(name, files, TABLES, FOLDER)  # needs no results
        if name == "batches":
            scores = unfair_scores(read_experiment(file), FOLDER)  # kept by now
            tabulate_losses(scores).to_csv(BATCHES, index=False)
        return "drawn"
    tables = [path for path in files if _table(path.stem) is not None]
    if file not in tables:
        return "left out, for it has no results"
    data = pd.concat([_table(path.stem) for path in tables]).drop_duplicates("key")
    try:
        draw_results(name, [*map(read_experiment, tables)], data, FOLDER)
    except NoResultsError:
        return "left out, for its results lack what it shows"
    return "drawn"


@cache
def _table(name: str) -> pd.DataFrame | None:
    path = TABLES / f"{name}.parquet"
    return read_frame(path) if path.exists() else None


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FairretError as error:
        print(f"draw.py: {error}", file=sys.stderr)
        sys.exit(2)
