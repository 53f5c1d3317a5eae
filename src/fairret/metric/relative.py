r"""The relative deviation :math:`r_k = \gamma_k / \bar\gamma - 1` by the delta method.

All functions accept any number of leading dimensions, and treat the K statistics of a
stack one by one.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from fairret.metric.delta_method import (
    NotionMoments,
    block_covariance,
    effective_rows,
    raise_diagonal,
)


def relative_deviation(m: NotionMoments) -> Tensor:
    r""":math:`\gamma_k / \bar\gamma - 1`, `(..., K, d_s)`.

    It is :math:`\gamma_k` if :math:`\bar\gamma = 0`, as in Eq. 9.
    """
    gamma = m.gamma.masked_fill(~m.estimable, 0)
    one = (gamma[..., :1] != 0).to(gamma)
    return gamma[..., 1:] / _overall(gamma) - one


def relative_jacobian(m: NotionMoments) -> Tensor:
    r"""Derivative of :math:`\gamma_k / \bar\gamma` by all :math:`\gamma`.

    Returns:
        `(..., K, d_s, d)`: :math:`1 / \bar\gamma` for the group itself and
        :math:`-\gamma_k / \bar\gamma^2` for everybody.
    """
    gamma = m.gamma.masked_fill(~m.estimable, 0)
    own = torch.eye(gamma.shape[-1]).to(gamma)[1:] / _overall(gamma)[..., None]
    everybody = -gamma[..., 1:] / _overall(gamma).square()
    return torch.cat((everybody[..., None], own[..., 1:]), -1)


def relative_covariance(m: NotionMoments, *, unbiased: bool = False) -> Tensor:
    r"""Covariance of :math:`\gamma_k / \bar\gamma`, `(..., K, d_s, d_s)`.

    Args:
        m: The sums.
        unbiased: Whether to multiply the groups' variances by n / (n - 1).
    """
    cov = block_covariance(m)
    if unbiased:
        n = effective_rows(m)
        more = (n / (n - 1)).masked_fill(~(n > 1), 1)
        more[..., 0] = 0
        cov = raise_diagonal(cov, cov.diagonal(dim1=-2, dim2=-1) * more)
    jacobian = relative_jacobian(m)
    return jacobian @ cov @ jacobian.mT


def mean_square_violation(
    m: NotionMoments, traits: Sequence[Sequence[int]], judged: Tensor
) -> Tensor:
    r"""Estimate the mean square violation without the contribution of chance.

    .. math::
        \sum_k q_k (v_k^2 - \mathrm{Var}\,v_k)

    with :math:`q_k` the judged group's share of the counted rows of its trait, averaged
    over the traits, `(..., K)`. It is nearly unbiased, and may be negative at parity.
    """
    variance = relative_covariance(m, unbiased=True).diagonal(dim1=-2, dim2=-1)
    square = relative_deviation(m).square() - variance
    square = square.masked_fill(m.gamma[..., :1] == 0, 0)  # then all are 0
    n = effective_rows(m)[..., 1:]
    unknown = ~(judged & (n > 1))
    n, square = n.masked_fill(unknown, 0), square.masked_fill(unknown, 0)
    means = [
        (n * square)[..., list(own)].sum(-1) / n[..., list(own)].sum(-1)
        for own in traits
    ]
    return torch.stack(means, -1).nanmean(-1)


def _overall(gamma: Tensor) -> Tensor:
    return gamma[..., :1].masked_fill(gamma[..., :1] == 0, 1)
