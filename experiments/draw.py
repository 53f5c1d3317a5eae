"""Draw every figure of stored results from the committed tables.

    python experiments/draw.py [FIGURE ...]

`results/NAME.parquet` has the runs of `experiments/NAME.toml`; the figures go to
`results/figures`, as PNG and PDF. A figure of several experiments shows those that have
a table. Figures of one model's scores, which are trained first, are drawn if they are
named, or missing.
"""

import sys
import tempfile
from pathlib import Path

from fairret.errors import FairretError
from fairret.experiment import Store
from fairret.experiment.frames import restore
from fairret.plot import FIGURES, draw_figure, find_figure
from fairret.plot.catalogue import FromScores, files_of

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "results"
FOLDER = TABLES / "figures"


def main(names: list[str]) -> None:
    """Draw those named, or all."""
    for name in names:
        find_figure(name)  # before anything is drawn
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "results.sqlite"
        store = Store(path)
        for table in sorted(TABLES.glob("*.parquet")):
            print(f"{table.name}: {restore(store, table)} runs")
        for name in names or FIGURES:
            figure = find_figure(name)
            files = files_of(name, ROOT / "experiments" / f"{figure.experiment}.toml")
            if isinstance(figure, FromScores):
                wanted = name in names or not (FOLDER / f"{name}.png").exists()
            else:
                wanted = _has_table(files[0])
                files = [file for file in files if _has_table(file)]
            if wanted:
                draw_figure(name, files, path, FOLDER)
                print(f"{name}: drawn")
            else:
                print(f"{name}: left as it is")


def _has_table(file: Path) -> bool:
    return (TABLES / f"{file.stem}.parquet").exists()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FairretError as error:
        print(f"draw.py: {error}", file=sys.stderr)
        sys.exit(2)
