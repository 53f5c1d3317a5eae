r"""The violation of parity (Eq. 9), its norms (Def. 7) and smooth maximum (Def. 8)."""

import math

import torch
from torch import Tensor

from fairret.statistic.sums import LEAST_SHARE, Sums, find_incomparable, nearly_zero

LARGEST = 1e12  # violation that still has a gradient


def violation(
    groups: Sums,
    overall: Sums,
    target: Tensor | None = None,
    least: float = LEAST_SHARE[torch.float64],
) -> Tensor:
    r"""Relative distance from parity (Eq. 9), `(K, d_s)`.

    .. math::
        v_k = \left| \frac{\gamma(k; h)}{\bar\gamma(h)} - 1 \right|,
        \qquad v_k = |\gamma(k; h)| \text{ where } \bar\gamma(h) = 0

    A group that cannot be compared has violation 0 and gradient 0. A violation above
    1e12 has gradient 0, so that the loss fits into float32. A `target`, `(K,)`,
    replaces :math:`\bar\gamma`.
    """
    dropped = find_incomparable(groups.den, overall.den, least)
    if target is not None:
        overall = Sums(target, torch.ones_like(target))
    (N_k, D_k), (N, D) = groups, (x.unsqueeze(-1) for x in overall)
    tiny = nearly_zero(N.dtype)
    if dropped is None:  # host reads are free
        gamma, gamma_bar = N_k / D_k, N / D
        v = (gamma / gamma_bar - 1).abs()
        nonzero = all(abs(x) > tiny for x in overall.num.flatten().tolist())
        if nonzero and v.detach().amax().item() <= LARGEST:
            return v
    else:
        D_k = D_k.masked_fill(dropped, 1)
    zero = N.abs() <= tiny  # the footnote: divide by 1 and subtract nothing
    # gamma_k / gamma_bar as (N_k / N) / (D_k / D): no factor leaves the range of
    # float32 where all scores are close to 0 or 1
    num = N_k / N.masked_fill(zero, 1)
    den = D_k / D.masked_fill(zero | (D == 0), 1)
    v = (num / den - (~zero).to(num)).abs().clamp_max(LARGEST)
    return v if dropped is None else v.masked_fill(dropped, 0)


def norm(v: Tensor, p: float) -> Tensor:
    r"""The p-norm :math:`\lVert v \rVert_p` (Def. 7), summed over a stack."""
    norms: Tensor
    if p in (1, 2, math.inf):
        norms = torch.linalg.vector_norm(v, p, dim=-1)
    else:  # a high power of a small or large number leaves the range of floats
        largest = v.detach().amax(-1)
        largest = largest.masked_fill(largest == 0, 1)
        relative = v / largest.unsqueeze(-1)
        norms = largest * torch.linalg.vector_norm(relative, p, dim=-1)
    return norms.sum()


def smooth_max(v: Tensor) -> Tensor:
    r"""The smooth maximum :math:`\log \sum_k e^{v_k} - \log d_s` (Def. 8), summed."""
    smooth = torch.logsumexp(v, -1) - math.log(v.shape[-1])
    return smooth.clamp_min(0).sum()  # rounding may leave -1e-16
