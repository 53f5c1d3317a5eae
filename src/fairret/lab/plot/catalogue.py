"""The figures by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fairret.errors import NameNotFoundError, did_you_mean
from fairret.lab.experiment import (
    Experiment,
    Store,
    StoreError,
    list_runs,
    read_experiment,
)
from fairret.lab.experiment.export import frame
from fairret.lab.experiment.trade_off import View
from fairret.lab.plot import trade_offs
from fairret.lab.plot.architectures import draw_architectures
from fairret.lab.plot.batches import draw_batches
from fairret.lab.plot.scores import draw_gradients, draw_projections
from fairret.lab.plot.style import NoResultsError, read_caption, save
from fairret.lab.plot.times import draw_iterations, draw_run_times
from fairret.lab.plot.unfair import unfair_scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

OnEpoch: TypeAlias = Callable[[int], object]
ACS = ("trade_offs_acs",)  # the largest dataset has a file of its own
BATCHES = ("batches_stratified", "batches_medium", "batches_large")
DECISIONS: dict[str, Any] = {"utility": "accuracy", "channel": "decisions"}


class Entry(NamedTuple):
    """A figure of stored runs, or of one unfair model's scores."""

    about: str
    experiment: str  # the file that it shows
    draw: Callable[..., Figure]
    also: tuple[str, ...] = ()  # further files, where they have results
    from_scores: bool = False


class Drawn(NamedTuple):
    """A figure that was written."""

    files: list[Path]
    caption: str


def _trade_offs(
    about: str,
    experiment: str = "trade_offs",
    also: tuple[str, ...] = (),
    methods: tuple[str, ...] = trade_offs.MAIN,
    **view: Any,
) -> Entry:
    draw = partial(trade_offs.draw_trade_offs, view=View(**view), methods=methods)
    return Entry(about, experiment, draw, also)


def _from_scores(about: str, draw: Callable[..., Figure]) -> Entry:
    return Entry(about, "unfair", draw, from_scores=True)


FIGURES = {
    "trade_offs": _trade_offs(
        "AUROC against the violation of scores, test rows (Section 4.2)", also=ACS
    ),
    "trade_offs_beyond": _trade_offs(
        "the same for the violation beyond chance",
        also=ACS,
        measure="violation_beyond_chance",
    ),
    "trade_offs_train": _trade_offs(
        "the same on the training rows (App. C.5)", also=ACS, part="train"
    ),
    "trade_offs_other": _trade_offs(
        "the same for Norm, JS and SED (App. C.4)",
        *("trade_offs_other", ("trade_offs_other_acs",), trade_offs.OTHER),
    ),
    "trade_offs_single": _trade_offs(
        "the same for a single trait (App. C.6)",
        *("single_trait", ("single_trait_acs",)),
        traits="single",
    ),
    "trade_offs_decisions": _trade_offs(
        "accuracy against the violation of decisions", also=ACS, **DECISIONS
    ),
    "trade_offs_log_loss": _trade_offs(
        "log-loss against the violation of decisions",
        also=ACS,
        utility="log_loss",
        channel="decisions",
    ),
    "trade_offs_base_rate": _trade_offs(
        "accuracy against the violation of decisions at the base rate",
        also=ACS,
        utility="accuracy_at_base_rate",
        channel="decisions at the base rate",
    ),
    "trade_offs_released": _trade_offs(
        "ours beside fairret 0.1.3", "released", methods=trade_offs.RELEASED
    ),
    "trade_offs_released_log_loss": _trade_offs(
        "the same, log-loss against the violation of scores",
        "released",
        methods=trade_offs.RELEASED,
        utility="log_loss",
    ),
    "trade_offs_peers": _trade_offs(
        "accuracy against the violation of decisions, beside other packages",
        "peers",
        methods=trade_offs.PEERS,
        traits="single",
        **DECISIONS,
    ),
    "trade_offs_axes": _trade_offs(
        "sharper scores and the exact gradient, accuracy against decisions",
        "axes",
        methods=trade_offs.FAIRRETS,
        **DECISIONS,
    ),
    "trade_offs_batches": _trade_offs(
        "log-loss against the violation of scores, by batch size",
        *("batches", BATCHES, trade_offs.FAIRRETS),
        utility="log_loss",
    ),
    "trade_offs_batches_decisions": _trade_offs(
        "the same, accuracy against the violation of decisions",
        *("batches", BATCHES, trade_offs.FAIRRETS),
        **DECISIONS,
    ),
    "gradients": _from_scores(
        "gradients of every fairret over the scores (Fig. 1)", draw_gradients
    ),
    "projections": _from_scores(
        "densities of scores and projections (App. C.2)", draw_projections
    ),
    "iterations": Entry(
        "violation and time by the limit of iterations (App. C.1)",
        *("iterations", draw_iterations),
    ),
    "batches": _from_scores(
        "SmoothMax and KL over batches of several sizes (App. C.3)", draw_batches
    ),
    "architectures": Entry(
        "AUROC by network and learning rate (App. D.2)",
        *("architectures", draw_architectures),
    ),
    "run_times": Entry(
        "seconds of training by method (App. D.5)", "run_times", draw_run_times
    ),
}


def find_figure(name: str) -> Entry:
    """Look a figure up.

    Raises:
        NameNotFoundError: If the name is unknown.
    """
    known = FIGURES.get(name.replace("-", "_"))
    if known is None:
        raise NameNotFoundError(
            f"Unknown figure {name!r}.{did_you_mean(name, FIGURES)} The figures are "
            f"{', '.join(FIGURES)}."
        )
    return known


def experiment_files(name: str, file: Path) -> list[Path]:
    """List the experiments of a figure: your own file, or all of the figure's files.

    Args:
        name: A key of :data:`FIGURES`.
        file: If it is the figure's first file, the further ones beside it are added.
    """
    figure = find_figure(name)
    also = figure.also if file.stem == figure.experiment else ()
    further = [file.with_name(f"{other}.toml") for other in also]
    return [file, *(path for path in further if path.is_file())]


def draw_figure(
    name: str,
    file: Path | Sequence[Path],
    store: Path,
    folder: Path,
    on_epoch: OnEpoch = lambda epoch: None,
) -> Drawn:
    """Draw a figure and write it as PNG and PDF.

    Args:
        name: A key of :data:`FIGURES`.
        file: The experiment that it shows, with those that :func:`experiment_files`
            adds; or a list of exactly the experiments to show.
        store: The results; figures of one model's scores do not use it.
        folder: Where it is written.
        on_epoch: Called after every epoch, if a model has to be trained.

    Raises:
        NameNotFoundError: If there is no such figure.
        StoreError: If there are no results yet.
        NoResultsError: If the results have nothing of what it shows.
        MixedRowsError: If runs of a dataset have different rows.
        MissingExtraError: If matplotlib or pandas is not installed.
    """
    figure = find_figure(name)
    files = experiment_files(name, file) if isinstance(file, Path) else file
    experiments = [read_experiment(path) for path in files]
    if not figure.from_scores:
        return draw_results(name, experiments, _results(experiments, store), folder)
    drawn = figure.draw(unfair_scores(experiments[0], folder, on_epoch))
    return _written(drawn, name, folder)


def draw_results(
    name: str, experiments: Sequence[Experiment], data: pd.DataFrame, folder: Path
) -> Drawn:
    """Draw a figure of some results, whatever version of the code they are of.

    Args:
        name: A key of :data:`FIGURES`, of a figure of stored runs.
        experiments: Those whose datasets and statistics it shows.
        data: A row per run.
        folder: Where it is written.

    Raises:
        NoResultsError: If the results have nothing of what it shows.
        MixedRowsError: If runs of a dataset have different rows.
    """
    datasets = dict.fromkeys(name for one in experiments for name in one.datasets)
    notions = dict.fromkeys(name for one in experiments for name in one.statistics)
    drawn = find_figure(name).draw(data, [*datasets], [*notions])
    return _written(drawn, name, folder)


def _written(drawn: Figure, name: str, folder: Path) -> Drawn:
    written = save(drawn, folder, name.replace("-", "_"))
    return Drawn(written, read_caption(drawn))


def _results(experiments: Sequence[Experiment], store: Path) -> pd.DataFrame:
    if not store.is_file():
        raise StoreError(
            f"`store` must be a file of results; {store} does not exist. Run the "
            "experiment first with `fairret run`, or pass another file with `--store`."
        )
    runs = dict.fromkeys(run for one in experiments for run in list_runs(one))
    data = frame(Store(store), runs)
    if data.empty:
        raise NoResultsError(
            f"`store` must hold finished runs of {experiments[0].name}; {store} holds "
            "none. Run the experiment first with `fairret run`."
        )
    return data
