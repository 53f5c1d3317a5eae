"""What all figures share: looks, captions and files."""

from __future__ import annotations

import importlib
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairret.errors import FairretError, missing_extra
from fairret.lab.dataset import TITLES
from fairret.lab.dataset.acs_income import CA_ROWS
from fairret.training.split import TEST_SHARE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DPI = 300
FONT = 8  # points, where a figure is shown at its own size: none is wider than WIDTH
WIDTH = 9.6  # inches: 920 pixels on a screen; on paper, the tallest need 80 %
SETTINGS = {
    "font.size": FONT,
    "axes.titlesize": FONT + 1,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.92",
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.axisbelow": True,
}
COMPLETE = {"acsincome": CA_ROWS}  # rows of tables that may be a sample
PER_INCH = 16.0  # letters of a caption
HANDLE, GAP = 3.4, 2.0  # widths of letters: of a legend's line, between its columns


class NoResultsError(FairretError, ValueError):
    """There is nothing to draw."""


class Look(NamedTuple):
    """Colour, marker and dashes of a method."""

    colour: str
    marker: str
    dashes: tuple[int, tuple[float, ...]] = (0, ())


# Colours of Okabe and Ito, and of Tol, that colour-blind people can distinguish.
LOOKS = {
    "Unfair": Look("#000000", "*"),
    "SmoothMax": Look("#0072B2", "o"),
    "KL": Look("#D55E00", "s"),
    "PRemover": Look("#009E73", "^"),
    "HSIC": Look("#CC79A7", "D"),
    "AdvDebias": Look("#E69F00", "v"),
    "Norm": Look("#56B4E9", "P", (0, (1.5, 1.5))),
    "JS": Look("#882255", "<", (0, (5, 1.5))),
    "SED": Look("#117733", "h", (0, (1.5, 1))),
    "SmoothMax 0.1.3": Look("#44AA99", ">"),
    "KL 0.1.3": Look("#661100", "p"),
    "ExponentiatedGradient": Look("#332288", "d"),
    "OxonFair": Look("#AA4499", "H"),
    "Unfair trees": Look("#8877BB", "$\\bigstar$"),
}
VARIANTS = (">", "d", "H", "^")  # markers of further variants of a method
DARKER = 0.65  # of the brightness of the variant before
SPARE = (
    Look("#999933", "$\\spadesuit$"),
    Look("#EE3377", "8"),
    Look("#6699CC", "$\\clubsuit$"),
)


def assign_looks(methods: Iterable[str]) -> dict[str, Look]:
    """Give each method its look; those of plugins get the spare ones in turn."""
    spare = cycle(SPARE)
    return {name: LOOKS.get(name) or next(spare) for name in dict.fromkeys(methods)}


def darker(colour: str, steps: int) -> str:
    """Darken a colour such as "#CC79A7"."""
    levels = [int(colour[i : i + 2], 16) * DARKER**steps for i in (1, 3, 5)]
    return "#" + "".join(f"{level:02X}" for level in map(round, levels))


def dataset_title(dataset: str, test_rows: int | None) -> str:
    """Name a dataset, and say if the runs used a sample of it."""
    title = TITLES.get(dataset, dataset)
    complete = round(TEST_SHARE * COMPLETE.get(dataset, 0))
    if test_rows is None or test_rows >= complete:
        return title
    return f"{title} ({100 * test_rows / complete:.0f} % sample)"


@contextmanager
def canvas(
    rows: int, columns: int, size: tuple[float, float], **options: object
) -> Iterator[tuple[Figure, Any]]:
    """Make a figure with a grid of axes, without changing global settings.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    try:
        mpl = importlib.import_module("matplotlib")
        kind = importlib.import_module("matplotlib.figure").Figure
    except ImportError:
        raise missing_extra("Figures need", "matplotlib", "experiment") from None
    with mpl.rc_context(SETTINGS):
        figure = kind(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, **options)
        for ax in grid.flat:  # saving, outside of the context, would change the ticks
            ax.tick_params(labelsize=FONT)
        yield figure, grid


def set_caption(figure: Figure, sentences: Sequence[str]) -> None:
    """Write sentences below the axes, in lines as wide as the figure."""
    width = int(PER_INCH * figure.get_figwidth())
    text = textwrap.fill(" ".join(filter(None, sentences)), width)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=FONT, color="0.25")


def set_height(figure: Figure, height: float) -> None:
    """Set the height of all axes together, and lay the figure out for good.

    Legend and caption need more.
    """
    above = sum(legend.get_window_extent().height for legend in figure.legends)
    below = len(figure.get_supxlabel().splitlines()) * 1.3 * FONT / 72
    figure.set_figheight(height + above / figure.dpi + below)
    engine: Any = figure.get_layout_engine()
    engine.execute(figure)
    figure.set_layout_engine("none")  # saving would lay it out again


def read_caption(figure: Figure) -> str:
    """Return the caption in one line."""
    return figure.get_supxlabel().replace("\n", " ")


def set_legend(figure: Figure, handles: Sequence[Any]) -> None:
    """Put the legend above the axes, in as many columns as fit."""
    path: Any = importlib.import_module("matplotlib.textpath").TextPath
    labels = [path((0, 0), one.get_label(), size=FONT) for one in handles]
    widths = [text.get_extents().width + HANDLE * FONT for text in labels]
    width = 72 * figure.get_figwidth()
    columns = 1
    for lines in range(1, len(widths) + 1):
        columns = -(-len(widths) // lines)  # lines of even length
        # as the legend does: one column after the other
        widest = [max(own) for own in np.array_split(widths, columns)]
        if sum(widest) + GAP * FONT * columns <= width:
            break
    figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def legend_line(label: str, **options: Any) -> Any:
    """Make an entry of a legend."""
    lines: Any = importlib.import_module("matplotlib.lines")
    return lines.Line2D([], [], label=label, **options)


def set_steps(axis: Any, low: float, high: float) -> None:
    """Label a log scale in plain numbers: 1, 2, 5 up to two decades, else powers."""
    ticker: Any = importlib.import_module("matplotlib.ticker")
    if high < 100 * low:
        steps = [m * 10.0**e for e in range(-8, 9) for m in (1, 2, 5)]
        axis.set_ticks([x for x in steps if low <= x <= high])
        axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(ticker.NullFormatter())


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and PDF."""
    rc_context = importlib.import_module("matplotlib").rc_context
    folder.mkdir(parents=True, exist_ok=True)
    png, pdf = folder / f"{name}.png", folder / f"{name}.pdf"
    figure.savefig(png, dpi=DPI)
    reduce_colours(png)
    with rc_context({"pdf.fonttype": 42}):  # text stays text
        figure.savefig(pdf, metadata={"CreationDate": None})  # the same file each time
    return [png, pdf]


def reduce_colours(png: Path) -> None:
    """Store a picture with 256 colours, in a third of the size."""
    image: Any = importlib.import_module("PIL.Image")  # matplotlib needs it as well
    with image.open(png) as opened:
        whole = opened.convert("RGB")
    few = whole.quantize(256, image.Quantize.MEDIANCUT, dither=image.Dither.NONE)
    few.save(png, optimize=True, dpi=(DPI, DPI))


def many(count: int, one: str) -> str:
    """Write a count with its noun."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def span(values: Sequence[int]) -> str:
    """Write the range of some numbers."""
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def mean_over(seeds: Sequence[int]) -> str:
    """Name the number of seeds per mark or bar."""
    return f"mean over {span(seeds)} seed{'s' if max(seeds) > 1 else ''}"


def spaced(number: float) -> str:
    """Write a whole number with thin gaps between thousands."""
    return f"{number:,.0f}".replace(",", "\N{THIN SPACE}")


def three_digits(number: float) -> str:
    """Write a positive number with three significant digits."""
    return f"{number:.{max(0, 2 - math.floor(math.log10(number)))}f}"


def nothing_to_draw(wanted: str, data: pd.DataFrame) -> NoResultsError:
    """Say that the runs of a figure are missing, and which ones there are."""
    done = data[data["status"] == "done"]
    if done.empty:
        return NoResultsError(
            f"`store` must hold {wanted}; all of its {len(data)} runs failed. See why "
            "with `fairret results`, and try again with `fairret run --retry`."
        )
    has = [", ".join(dict.fromkeys(done["method"]))]
    for_one = done[done["statistic"] != ""]
    if len(for_one):
        traits = "/".join(dict.fromkeys(for_one["traits"]))
        names = ", ".join(dict.fromkeys(for_one["statistic"]))
        has.append(f"for {names} with `traits` {traits}")
    return NoResultsError(
        f"`store` must hold {wanted}; got {many(len(done), 'run')} of "
        f"{' '.join(has)}. Draw another figure, or name an experiment that has them "
        "with `--experiment`."
    )
