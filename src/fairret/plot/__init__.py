"""The paper's figures, from stored results: one module a family of them."""

from fairret.plot.catalogue import FIGURES, Drawn, draw_figure, find_figure
from fairret.plot.ellipse import Ellipse, ellipse_of_mean
from fairret.plot.style import NoResultsError

__all__ = [
    "FIGURES",
    "Drawn",
    "Ellipse",
    "NoResultsError",
    "draw_figure",
    "ellipse_of_mean",
    "find_figure",
]
