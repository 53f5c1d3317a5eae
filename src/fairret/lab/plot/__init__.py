"""The paper's figures from stored results, one module per family."""

from fairret.lab.plot.catalogue import FIGURES, Drawn, draw_figure, find_figure
from fairret.lab.plot.ellipse import Ellipse, mean_ellipse
from fairret.lab.plot.style import NoResultsError

__all__ = [
    "FIGURES",
    "Drawn",
    "Ellipse",
    "NoResultsError",
    "draw_figure",
    "find_figure",
    "mean_ellipse",
]
