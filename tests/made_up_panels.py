"""Trade-off figures of made-up results."""

import tempfile
from functools import cache
from pathlib import Path

from fairret.lab.experiment import list_runs, read_experiment
from fairret.lab.experiment.export import frame
from fairret.lab.experiment.trade_off import View
from fairret.lab.plot.trade_offs import MAIN, draw_trade_offs
from stored_runs import fill, write_file

DATASETS, STATISTICS = ("bank", "lawschool"), ("pr", "tpr", "ppv", "fn_fp")


def results(tmp_path, *changes, **of):
    """Give a row per made-up run; those that most tests use are stored once."""
    return stored(tmp_path, *changes, **of) if changes or of else usual().copy()


@cache
def usual():
    with tempfile.TemporaryDirectory() as folder:
        return stored(Path(folder))


def stored(folder, change=lambda run, result: result, wanted=lambda run: True, **of):
    file = write_file(folder, **of)
    store = fill(folder / "made_up.sqlite", file, change, wanted)
    return frame(store, list_runs(read_experiment(file)))


def drawn(data, methods=MAIN, **view):
    return draw_trade_offs(data, DATASETS, STATISTICS, View(**view), methods)


def one_panel(data, methods=MAIN, **view):
    """As `drawn`, where a panel is enough: they take most of the time."""
    return draw_trade_offs(data, ("bank",), ("pr",), View(**view), methods)


def curves(ax):
    return {line.get_label(): line for line in ax.lines if line.get_label()[0] != "_"}


def ellipses(ax):
    return [patch for patch in ax.patches if patch.get_gid() == "ellipse"]
