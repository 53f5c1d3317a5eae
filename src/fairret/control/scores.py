"""Scores that are too good: signs that rows have trained the model that scores them."""

import warnings

import torch
from torch import Tensor

from fairret.control.rows import Array, FitRows, as_column

CLIP = 1e-6
SURE = 4.0  # standard errors
RELEVANT = 0.1  # of the log-loss
ENOUGH_ROWS = 100


def warn_if_too_good(eta: Tensor, label: Tensor, weight: Tensor) -> None:
    r"""Warn where labels are closer to the scores than the scores themselves claim.

    The log-loss of calibrated scores has the mean :math:`\overline{H(\eta)}`, their
    entropy, and the variance :math:`\eta (1 - \eta) \, \mathrm{logit}(\eta)^2` per
    row. In-sample scores of regularised models, forests above all, have less. A model
    that knows all labels by heart has scores of 0 and 1. A model may overfit without
    either sign: only held-out rows show that, see :func:`warn_if_fitted_to`.
    """
    h, share = eta.clamp(CLIP, 1 - CLIP), weight / weight.sum()
    loss, entropy = share @ _log_loss(h, label), share @ _entropy(h)
    variance = share.square() @ (h * (1 - h) * torch.logit(h).square())
    gap = entropy - loss
    by_heart = bool(((eta > 0.5) == (label > 0.5)).all()) and len(eta) >= ENOUGH_ROWS
    if by_heart or (gap > RELEVANT * entropy and gap > SURE * variance.sqrt()):
        warnings.warn(
            f"The scores predict the labels of these rows better (log-loss "
            f"{float(loss):.3f}) than calibrated scores would ({float(entropy):.3f}). "
            "If the rows trained the model, bounds are too low: pass out-of-fold "
            "scores.",
            stacklevel=3,
        )


def warn_if_fitted_to(rows: FitRows, eta: Array, label: Array) -> None:
    """Warn where scores are better on the fit rows than on held-out rows."""
    h = as_column("eta", eta).clamp(CLIP, 1 - CLIP)
    held_out = _log_loss(h, as_column("label", label, len(h)))
    own = _log_loss(rows.eta.clamp(CLIP, 1 - CLIP), rows.label)
    if min(len(held_out), len(own)) < ENOUGH_ROWS:
        return
    gap = held_out.mean() - own.mean()
    error = (held_out.var() / len(held_out) + own.var() / len(own)).sqrt()
    if gap > RELEVANT * own.mean() and gap > SURE * error:
        warnings.warn(
            f"The scores are better on the rows that fitted the rule (log-loss "
            f"{float(own.mean()):.3f}) than on held-out rows "
            f"({float(held_out.mean()):.3f}): the model is overfitted to them, and the "
            "rule with it. Fit the rule on out-of-fold scores.",
            stacklevel=3,
        )


def _log_loss(h: Tensor, y: Tensor) -> Tensor:
    return -(y * h.log() + (1 - y) * (1 - h).log())


def _entropy(h: Tensor) -> Tensor:
    return _log_loss(h, h)
