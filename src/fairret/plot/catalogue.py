"""The figures by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fairret.checks import nearest
from fairret.errors import NameNotFoundError
from fairret.experiment import Experiment, Store, StoreError, read_experiment, runs_of
from fairret.experiment.frames import frame
from fairret.experiment.trade_off import View
from fairret.plot.batches import draw_batches
from fairret.plot.scores import draw_gradients, draw_projections
from fairret.plot.style import NoResultsError, caption_of, save
from fairret.plot.times import draw_iterations, draw_run_times
from fairret.plot.trade_offs import (
    AXES,
    OTHER,
    PEERS,
    RELEASED,
    Layout,
    draw_trade_offs,
)
from fairret.plot.unfair import UnfairScores, unfair_scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

OnEpoch: TypeAlias = Callable[[int], object]
ACS = ("trade_offs_acs",)  # the largest dataset has a file of its own
BATCHES = ("batches_stratified", "batches_medium", "batches_large")


class FromResults(NamedTuple):
    """A figure of stored runs."""

    about: str
    experiment: str  # the file that feeds it
    draw: Callable[..., Figure]
    also: tuple[str, ...] = ()  # further files, where they have results


class FromScores(NamedTuple):
    """A figure of one unfair model's scores."""

    about: str
    experiment: str
    draw: Callable[[UnfairScores], Figure]


class Drawn(NamedTuple):
    """A figure that was written."""

    files: list[Path]
    caption: str


def _trade_offs(
    layout: Layout,
    data: pd.DataFrame,
    datasets: tuple[str, ...],
    statistics: tuple[str, ...],
) -> Figure:
    return draw_trade_offs(data, layout, datasets, statistics)


def _layout(*methods: str, **view: Any) -> Callable[..., Figure]:
    layout = Layout(View(**view), methods) if methods else Layout(View(**view))
    return partial(_trade_offs, layout)


FIGURES: dict[str, FromResults | FromScores] = {
    "trade_offs": FromResults(
        "AUROC against the violation of scores, test rows (Section 4.2)",
        "trade_offs",
        _layout(),
        ACS,
    ),
    "trade_offs_train": FromResults(
        "the same on the train rows (App. C.5)",
        "trade_offs",
        _layout(part="train"),
        ACS,
    ),
    "trade_offs_other": FromResults(
        "the same of Norm, JS and SED (App. C.4)", "trade_offs", _layout(*OTHER)
    ),
    "trade_offs_single": FromResults(
        "the same for a single trait (App. C.6)",
        "single_trait",
        _layout(traits="single"),
    ),
    "trade_offs_decisions": FromResults(
        "accuracy against the violation of decisions",
        "trade_offs",
        _layout(utility="accuracy", channel="decisions"),
        ACS,
    ),
    "trade_offs_log_loss": FromResults(
        "log-loss against the violation of decisions",
        "trade_offs",
        _layout(utility="log_loss", channel="decisions"),
        ACS,
    ),
    "trade_offs_base_rate": FromResults(
        "accuracy against the violation of decisions at the base rate",
        "trade_offs",
        _layout(utility="accuracy_at_base_rate", channel="decisions at the base rate"),
        ACS,
    ),
    "trade_offs_released": FromResults(
        "ours beside fairret 0.1.3", "released", _layout(*RELEASED)
    ),
    "trade_offs_released_log_loss": FromResults(
        "the same, log-loss against the violation of scores",
        "released",
        _layout(*RELEASED, utility="log_loss"),
    ),
    "trade_offs_peers": FromResults(
        "accuracy against the violation of decisions, beside other packages",
        "peers",
        _layout(*PEERS, utility="accuracy", channel="decisions", traits="single"),
    ),
    "trade_offs_axes": FromResults(
        "sharper scores and the exact gradient, accuracy against decisions",
        "axes",
        _layout(*AXES, utility="accuracy", channel="decisions"),
    ),
    "trade_offs_batches": FromResults(
        "log-loss against the violation of scores, by the size of the batches",
        "batches",
        _layout(*AXES, utility="log_loss"),
        BATCHES,
    ),
    "trade_offs_batches_decisions": FromResults(
        "the same, accuracy against the violation of decisions",
        "batches",
        _layout(*AXES, utility="accuracy", channel="decisions"),
        BATCHES,
    ),
    "gradients": FromScores(
        "gradients of every fairret over the scores (Fig. 1)", "unfair", draw_gradients
    ),
    "projections": FromScores(
        "densities of scores and projections (App. C.2)", "unfair", draw_projections
    ),
    "iterations": FromResults(
        "violation and time by the limit of iterations (App. C.1)",
        "iterations",
        draw_iterations,
    ),
    "batches": FromScores(
        "SmoothMax over batches of several sizes (App. C.3)", "unfair", draw_batches
    ),
    "run_times": FromResults(
        "seconds of training by method (App. D.5)", "run_times", draw_run_times
    ),
}


def find_figure(name: str) -> FromResults | FromScores:
    """Look a figure up.

    Raises:
        NameNotFoundError: If there is none of that name.
    """
    known = FIGURES.get(name.replace("-", "_"))
    if known is None:
        raise NameNotFoundError(
            f"`name` must be a figure's name; got {name!r}."
            f"{nearest(name, FIGURES)} Known are {', '.join(FIGURES)}."
        )
    return known


def files_of(name: str, file: Path) -> list[Path]:
    """List the experiments of a figure: one's own file, or all of the figure's files.

    Args:
        name: A key of :data:`FIGURES`.
        file: If it is the figure's first file, the further ones beside it belong to it.
    """
    figure = find_figure(name)
    if isinstance(figure, FromScores) or file.stem != figure.experiment:
        return [file]
    further = [file.with_name(f"{other}.toml") for other in figure.also]
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
        file: The experiment that it shows, with what :func:`files_of` adds to it; or
            exactly these experiments.
        store: The results; not looked at by figures of one model's scores.
        folder: Where it is written.
        on_epoch: Is called after every epoch, if a model has to be trained.

    Raises:
        NameNotFoundError: If there is no such figure.
        StoreError: If there are no results yet.
        NoResultsError: If the results have nothing of what it shows.
        MixedRowsError: If runs of a dataset are not of the same rows.
        MissingExtraError: If matplotlib or pandas is not installed.
    """
    figure = find_figure(name)
    files = files_of(name, file) if isinstance(file, Path) else file
    experiments = [read_experiment(path) for path in files]
    if isinstance(figure, FromScores):
        drawn = figure.draw(unfair_scores(experiments[0], folder, on_epoch))
    else:
        data = _results(experiments, store)
        datasets = _joined(one.datasets for one in experiments)
        statistics = _joined(one.statistics for one in experiments)
        drawn = figure.draw(data, datasets, statistics)
    written = save(drawn, folder, name.replace("-", "_"))
    return Drawn(written, caption_of(drawn))


def _joined(names: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for some in names for name in some))


def _results(experiments: Sequence[Experiment], store: Path) -> pd.DataFrame:
    if not store.is_file():
        raise StoreError(
            f"`store` must be a file of results; {store} does not exist. Run the "
            "experiment first with `fairret run`, or say where with `--store`."
        )
    runs = dict.fromkeys(run for one in experiments for run in runs_of(one))
    data = frame(Store(store), runs)
    if data.empty:
        raise NoResultsError(
            f"`store` must hold finished runs of {experiments[0].name}; {store} holds "
            "none. Run the experiment first with `fairret run`."
        )
    return data
