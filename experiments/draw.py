"""Draw every figure of stored results from the committed tables.

    python experiments/draw.py [FIGURE ...]

`results/NAME.parquet` has the runs of `experiments/NAME.toml`; the figures go to
`results/figures`, as PNG and PDF. Figures of one model's scores, which are trained
first, are drawn if they are named, or missing.
"""

import sys
import tempfile
from pathlib import Path

from fairret.experiment import Store
from fairret.experiment.summary import restore
from fairret.plot import FIGURES
from fairret.plot.catalogue import FromScores, draw_figure

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "results" / "figures"


def main(names: list[str]) -> None:
    """Draw those named, or all."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "results.sqlite"
        store = Store(path)
        for table in sorted((ROOT / "results").glob("*.parquet")):
            print(f"{table.name}: {restore(store, table)} runs")
        for name in names or FIGURES:
            figure = FIGURES[name]
            source = ROOT / "results" / f"{figure.experiment}.parquet"
            if isinstance(figure, FromScores):
                wanted = name in names or not (FOLDER / f"{name}.png").exists()
            else:
                wanted = source.exists()
            if wanted:
                file = ROOT / "experiments" / f"{figure.experiment}.toml"
                draw_figure(name, file, path, FOLDER)
                print(f"{name}: drawn")
            else:
                print(f"{name}: left as it is")


if __name__ == "__main__":
    main(sys.argv[1:])
