r"""Scores that are calibrated given the groups: :math:`P(Y{=}1 \mid x, s)`.

An informed rule compares people of different groups by their scores. A model that has
not seen S has :math:`P(Y{=}1 \mid x)`, which is another number where groups differ.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

RIDGE = 0.1  # on coefficients, per sum of log-losses
STEPS = 50
CLOSE = 1e-10
LARGEST_LOGIT = 15.0


@dataclass(frozen=True)
class Recalibration:
    r"""A logistic regression of the label on :math:`[l, S, S l]`, l the logit."""

    weight: Tensor  # (2 + 2 d_s,)

    def __call__(self, eta: Tensor, sens: Tensor) -> Tensor:
        """Recalibrate probabilities, `(n,)`, for memberships, `(n, d_s)`."""
        return torch.sigmoid(_features(eta, sens) @ self.weight.to(eta))


def recalibrate(
    eta: Tensor, sens: Tensor, label: Tensor, weight: Tensor | None = None
) -> Recalibration:
    """Fit the regression by Newton's method, on rows that did not train the model."""
    x = _features(eta, sens)
    y, w = label.to(x), torch.ones_like(eta) if weight is None else weight.to(x)
    ridge = torch.full((x.shape[1],), RIDGE, dtype=x.dtype, device=x.device)
    ridge[0] = 0  # not on the intercept
    beta = x.new_zeros(x.shape[1])
    beta[1] = 1  # the scores as they are

    def loss(beta: Tensor) -> Tensor:
        z = x @ beta
        return (w * (softplus(z) - y * z)).sum() + (ridge * beta.square()).sum() / 2

    best = loss(beta)
    for _ in range(STEPS):
        p = torch.sigmoid(x @ beta)
        gradient = x.T @ (w * (p - y)) + ridge * beta
        hessian = (x.T * (w * p * (1 - p))) @ x + torch.diag(ridge + 1e-9)
        step = torch.linalg.solve(hessian, gradient)
        new = loss(beta - step)
        while new > best and step.abs().max() >= CLOSE:  # scores are far too sure
            step = step / 2
            new = loss(beta - step)
        if step.abs().max() < CLOSE:
            break
        beta, best = beta - step, new
    return Recalibration(beta)


def _features(eta: Tensor, sens: Tensor) -> Tensor:
    logit = torch.logit(eta).clamp(-LARGEST_LOGIT, LARGEST_LOGIT)[:, None]
    s = sens.to(eta)
    return torch.cat((torch.ones_like(logit), logit, s, s * logit), 1)
