"""What all figures share: looks, captions and files."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairret.errors import FairretError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.92",
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.axisbelow": True,
}
DATASETS = {
    "bank": "Bank",
    "creditcard": "CreditCard",
    "lawschool": "LawSchool",
    "acsincome": "ACSIncome",
    "synthetic": "Synthetic",
}
CAPTION = 8  # points
PER_INCH = 16.0  # letters of a caption
ENTRY = 1.35  # inches of a legend's entry


class NoResultsError(FairretError, ValueError):
    """There is nothing to draw."""


class Look(NamedTuple):
    """How a method is told apart: by colour, and by marker or dashes."""

    colour: str
    marker: str
    dashes: tuple[int, tuple[float, ...]] = (0, ())


# Colours of Okabe and Ito, and of Tol, that colour-blind people tell apart.
LOOKS = {
    "Unfair": Look("#000000", "*"),
    "SmoothMax": Look("#0072B2", "o"),
    "KL": Look("#D55E00", "s"),
    "PRemover": Look("#009E73", "^"),
    "HSIC": Look("#CC79A7", "D"),
    "AdvDebias": Look("#E69F00", "v"),
    "Norm": Look("#56B4E9", "P", (0, (1.5, 1.5))),
    "JS": Look("#882255", "X", (0, (5, 1.5))),
    "SED": Look("#117733", "h", (0, (1.5, 1))),
    "SmoothMax 0.1.3": Look("#88CCEE", "8"),
    "KL 0.1.3": Look("#DDAA33", "d"),
    "ExponentiatedGradient": Look("#332288", "<"),
    "OxonFair": Look("#AA4499", "p"),
}
OTHERS = (Look("#999933", ">"), Look("#661100", "H"), Look("#6699CC", "1"))


def look_of(method: str) -> Look:
    """Give a method's look; the same one in every figure."""
    return LOOKS.get(method) or OTHERS[sum(method.encode()) % len(OTHERS)]


@contextmanager
def canvas(
    rows: int, columns: int, size: tuple[float, float], **options: object
) -> Iterator[tuple[Figure, Any]]:
    """Make a figure with a grid of axes, without touching anybody's settings.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    try:
        mpl = importlib.import_module("matplotlib")
        kind = importlib.import_module("matplotlib.figure").Figure
    except ImportError:
        raise MissingExtraError(
            "Figures need matplotlib, which is not installed. Run `pip install "
            "'fairret[experiment]'`."
        ) from None
    with mpl.rc_context(SETTINGS):
        figure = kind(figsize=size, layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False, **options)


def set_caption(figure: Figure, sentences: Sequence[str]) -> None:
    """Write sentences below the axes, in lines as wide as the figure."""
    width = int(PER_INCH * figure.get_figwidth())
    text = textwrap.fill(" ".join(filter(None, sentences)), width)
    figure.supxlabel(text, x=0.01, ha="left", fontsize=CAPTION, color="0.25")


def caption_of(figure: Figure) -> str:
    """Read the caption, in one line."""
    return figure.get_supxlabel().replace("\n", " ")


def set_legend(figure: Figure, handles: Sequence[object]) -> None:
    """Put the legend above the axes, in as many columns as there is room for."""
    columns = max(1, int(figure.get_figwidth() / ENTRY))
    lines = -(-len(handles) // columns)
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=-(-len(handles) // lines),  # lines of even length
    )


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
    with rc_context({"pdf.fonttype": 42}):  # text stays text
        figure.savefig(pdf, metadata={"CreationDate": None})  # the same file each time
    return [png, pdf]


def many(count: int, one: str) -> str:
    """Count things in words."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def span(values: Sequence[int]) -> str:
    """Say a number, or from where to where."""
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def spaced(number: float) -> str:
    """Write a whole number with thin gaps between thousands."""
    return f"{number:,.0f}".replace(",", "\N{THIN SPACE}")
