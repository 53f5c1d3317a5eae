"""Mutual information of prediction and trait: the baseline PRemover."""

import torch
from torch import Tensor

from fairret.lab.baseline.base import IndependenceLoss, TraitBatch


def mutual_information(joint: Tensor) -> Tensor:
    r"""Mutual information of a table of probabilities, in nats.

    .. math::
        I(Y; S) = \sum_{y, s} P(y, s) \log \frac{P(y, s)}{P(y) P(s)}
                = \sum_{y, s} P(y, s) \log \frac{P(y \mid s)}{P(y)}

    An empty cell counts 0, with a finite gradient.
    """
    tiny = torch.finfo(joint.dtype).tiny

    def log(p: Tensor) -> Tensor:
        return p.clamp_min(tiny).log()

    ratio = log(joint) - log(joint.sum(1, keepdim=True)) - log(joint.sum(0))
    return (joint * ratio).sum().clamp_min(0)  # rounding may leave -1e-17


class PRemoverLoss(IndependenceLoss):
    r"""Mutual information of the prediction and the trait (App. D.3, PRemover).

    The prediction :math:`\hat y` is 1 with probability h. With :math:`P(1 \mid s)` the
    mean score of a group, :math:`P(1)` that of all rows, and :math:`P(s)` a group's
    share, the term of Kamishima et al. (2012) is

    .. math::
        R(h) = \sum_s P(s) \sum_{y \in \{0, 1\}} P(y \mid s)
               \log \frac{P(y \mid s)}{P(y)}

    It is at least 0, and 0 if and only if all groups have the same mean score, which is
    demographic parity.

    Example:
        >>> import torch
        >>> baseline = PRemoverLoss()
        >>> logit = torch.tensor([0.0, 0.0, 2.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> baseline(logit, sens)
        tensor(0.0767)
    """

    def evaluate(self, batch: TraitBatch) -> Tensor:
        """Compute the term of a checked batch."""
        y = torch.stack((batch.complement, batch.h))  # (2, n)
        return mutual_information(y @ (batch.p.unsqueeze(1) * batch.s))
