"""Figures of one unfair model's scores: gradients (Fig. 1) and projections (C.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairret.lab.experiment.trade_off import NOTIONS, Floats
from fairret.lab.plot import style
from fairret.lab.plot.unfair import UnfairScores
from fairret.loss import (
    FairnessLoss,
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    NormLoss,
    SmoothMaxLoss,
    SquaredEuclideanProjectionLoss,
    project,
)
from fairret.statistic import get_statistic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOSSES: dict[str, type[FairnessLoss]] = {
    "SmoothMax": SmoothMaxLoss,
    "Norm": NormLoss,
    "KL": KLProjectionLoss,
    "JS": JensenShannonProjectionLoss,
    "SED": SquaredEuclideanProjectionLoss,
}
DIVERGENCES = {"KL": "kl", "JS": "js", "SED": "sed"}
WIDTHS = {"SmoothMax": 4.5, "Norm": 2.6}  # they coincide, and SED with them
TICKS = (0, 0.2, 0.4, 0.6, 0.8, 1)
GRID = np.linspace(0, 1, 401)
MEASURES = {
    "pr": "positive rate",
    "tpr": "true positive rate",
    "ppv": "precision",
    "fn_fp": "ratio of false negatives to false positives",
}
"""Names of the paper's statistics."""


class Group(NamedTuple):
    """The people of one group."""

    name: str
    rows: Tensor  # (n,), bool
    gamma: float


def compute_gamma(unfair: UnfairScores, s: Tensor) -> float:
    """Compute the statistic of the people in one column, `(n,)`."""
    gamma = get_statistic(unfair.statistic)(unfair.h, s[:, None], unfair.y)
    return float(gamma.squeeze())


def sorted_groups(unfair: UnfairScores) -> list[Group]:
    """List the groups of the single trait, the highest statistic first."""
    groups = [
        Group(unfair.names[k], s > 0.5, compute_gamma(unfair, s))
        for k, s in ((k, unfair.s[:, k]) for k in unfair.single)
        if (s > 0.5).any()
    ]
    if len(groups) < 2:
        raise style.NoResultsError(
            f"The test rows must have people of at least two groups; they have "
            f"{len(groups)}. Choose another dataset or seed in the experiment's file."
        )
    return sorted(groups, key=lambda group: -group.gamma)


def gradients(unfair: UnfairScores) -> dict[str, Tensor]:
    r"""Compute :math:`\nabla_h R_\gamma` of every fairret for the single trait."""
    statistic = get_statistic(unfair.statistic)
    s = unfair.s[:, list(unfair.single)]
    found = {}
    for name, kind in LOSSES.items():
        h = unfair.h.clone().requires_grad_()
        loss = kind(statistic)(h, sens=s, label=unfair.y, pred_as_logit=False)
        (found[name],) = torch.autograd.grad(loss, h)
    return found


def draw_gradients(unfair: UnfairScores) -> Figure:
    """Draw scores and normalised gradients of each group (Fig. 1)."""
    groups = sorted_groups(unfair)
    slopes = gradients(unfair)
    size = (max(6.4, 3.4 * len(groups)), 4.6)
    with style.canvas(
        2, len(groups), size, sharex=True, sharey="row", height_ratios=(1, 2)
    ) as (figure, grid):
        for column, group in enumerate(groups):
            _draw_density(grid[0, column], unfair, group)
            handles = _draw_slopes(grid[1, column], unfair, group, slopes)
            grid[1, column].set_xlabel("score h")
        grid[0, 0].set_ylabel("density of h")
        grid[1, 0].set_ylabel("gradient / largest")
        grid[0, 0].set_ylim(bottom=0)
        style.set_legend(figure, handles)
        lines = [
            f"Gradients of every fairret for {_notion(unfair)} with respect to h, "
            "divided by their largest absolute value per fairret and per group: above "
            "0 a score should fall, below it should rise.",
            _setting(unfair),
            "Norm lies on SmoothMax after normalisation.",
        ]
        style.set_caption(figure, lines)
    return figure


def _draw_slopes(
    ax: Axes, unfair: UnfairScores, group: Group, slopes: dict[str, Tensor]
) -> list[object]:
    h, order = unfair.h[group.rows].sort()
    handles: list[object] = []
    for name, slope in slopes.items():
        own = slope[group.rows][order]
        largest = own.abs().max()
        own = own / largest if largest > 0 else own
        look = style.LOOKS[name]
        handles += ax.plot(
            *(h.numpy(), own.numpy()),
            color=look.colour,
            linestyle=look.dashes,
            linewidth=WIDTHS.get(name, 1.6),
            label=name,
        )
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.set_xticks(TICKS, [f"{x:g}" for x in TICKS])  # "1" and "0" do not touch
    ax.set_xlim(0, 1)
    ax.set_ylim(-1.08, 1.08)
    return handles


def draw_projections(unfair: UnfairScores) -> Figure:
    """Draw densities of h and of its projections for each group (App. C.2)."""
    groups = sorted_groups(unfair)
    s = unfair.s[:, list(unfair.single)]
    found = {
        name: project(
            unfair.h, s, unfair.y, statistic=unfair.statistic, divergence=divergence
        )
        for name, divergence in DIVERGENCES.items()
    }
    size = (max(6.4, 3.4 * len(groups)), 3.6)
    with style.canvas(1, len(groups), size, sharey=True) as (figure, grid):
        for ax, group in zip(grid[0], groups, strict=True):
            handles = _draw_density(ax, unfair, group)
            for name, result in found.items():
                look = style.LOOKS[name]
                handles += ax.plot(
                    GRID,
                    density(result.f_star[group.rows].numpy()),
                    color=look.colour,
                    linestyle=look.dashes if name != "KL" else (0, (4, 2, 1, 2)),
                    linewidth=1.5,
                    label=f"f* of {name}",
                )
            ax.set_xticks(TICKS, [f"{x:g}" for x in TICKS])
            ax.set_xlabel("score")
        grid[0, 0].set_ylabel("density")
        grid[0, 0].set_ylim(bottom=0)
        style.set_legend(figure, handles)
        states = {r.status.name.lower().replace("_", " ") for r in found.values()}
        lines = [
            f"Scores h and their projections f* onto {_notion(unfair)}, as densities "
            "on one scale (Gaussian kernel, reflected at 0 and 1).",
            _setting(unfair),
            f"Projections: {', '.join(sorted(states))}.",
        ]
        style.set_caption(figure, lines)
    return figure


def density(values: Floats, grid: Floats = GRID) -> Floats:
    r"""Estimate a density on [0, 1] with Gaussian kernels.

    The width is Silverman's, :math:`0.9 \min(s, IQR / 1.34) n^{-1/5}`, and at least
    0.01; mass outside [0, 1] is reflected into it.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    spread = min(values.std(), (high - low) / 1.34)
    width = max(0.01, 0.9 * spread * len(values) ** -0.2)
    edges = np.linspace(0, 1, 1001)
    counts, _ = np.histogram(values.clip(0, 1), edges)  # far finer than any width
    middles = (edges[1:] + edges[:-1]) / 2
    total = np.zeros_like(grid)
    for centre in (middles, -middles, 2 - middles):
        z = (grid[:, None] - centre) / width
        total += np.exp(-(z**2) / 2) @ counts
    return np.asarray(total / (len(values) * width * np.sqrt(2 * np.pi)))


def _draw_density(ax: Axes, unfair: UnfairScores, group: Group) -> list[object]:
    h = unfair.h[group.rows].numpy()
    curve = density(h)
    ax.fill_between(GRID, curve, color="0.85", lw=0)
    lines = ax.plot(GRID, curve, color="0.25", lw=1.6, label="h")
    ax.set_xlim(0, 1)
    name = group.name.partition("=")[2] or group.name
    ax.set_title(f"{name}: γ = {group.gamma:.3f}, n = {style.spaced(len(h))}")
    return list(lines)


def _notion(unfair: UnfairScores) -> str:
    return NOTIONS.get(unfair.statistic, unfair.statistic)


def _setting(unfair: UnfairScores) -> str:
    overall = compute_gamma(unfair, torch.ones_like(unfair.h))
    of = MEASURES.get(unfair.statistic, f"statistic `{unfair.statistic}`")
    return (
        f"h was trained on {unfair.title} without a fairret; "
        f"{style.spaced(len(unfair.h))} test rows. γ is the {of} of the scores: "
        f"{overall:.3f} overall."
    )
