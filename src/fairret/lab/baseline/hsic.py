"""Hilbert-Schmidt independence criterion of scores and trait: the baseline HSIC."""

import math
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairret.checks import check_positive
from fairret.errors import RangeError
from fairret.lab.baseline.base import IndependenceLoss, TraitBatch

SERIES_FROM = 0.2  # bandwidth from which 40 terms of a series stand for the kernel
CELLS = 2**18  # of the kernel at a time: 1 MB in float32, which stays in the cache
LEAST_BANDWIDTH = 1e-3  # of the median, where most scores are equal


def centred_trait(s: Tensor, p: Tensor) -> Tensor:
    r"""Weighted deviations of the trait from its mean, `(n, d)`.

    .. math:: a_{ik} = p_i \Bigl(S_{ik} - \sum_j p_j S_{jk}\Bigr)

    These are the rows of :math:`H S / n` where all weights are equal. Columns add up to
    zero: a constant that is added to the kernel does not matter.
    """
    return p.unsqueeze(1) * (s - p @ s)


def hsic_by_series(h: Tensor, a: Tensor, sigma: float) -> Tensor:
    r"""HSIC in time and memory linear in n, from the Taylor series of the kernel.

    With :math:`x = h - 1/2`, the kernel is an inner product of features

    .. math::
        e^{-(x - x')^2 / 2 \sigma^2} = \sum_{k \ge 0} \varphi_k(x) \varphi_k(x'), \qquad
        \varphi_k(x) = e^{-x^2 / 2 \sigma^2} \frac{(x / \sigma)^k}{\sqrt{k!}}

    so that :math:`\operatorname{tr}(a^\top K a) = \sum_k \lVert a^\top \varphi_k
    \rVert^2`. What is cut off is at most the tail of a Poisson distribution with mean
    :math:`1 / 4 \sigma^2`: less than the rounding of float64.
    """
    x = (h - 0.5) / sigma
    phi = [torch.exp(-x.square() / 2)]
    for k in range(1, _terms(sigma)):
        phi.append(phi[-1] * x / math.sqrt(k))
    return (torch.stack(phi) @ a).square().sum()


def _terms(sigma: float) -> int:
    r"""Least m with a tail of :math:`\lambda^m / m! \le 10^{-17}`, beyond its hump."""
    mean = 1 / (4 * sigma**2)
    m, term = 0, 1.0
    while term > 1e-17 or m < 2 * mean:
        m += 1
        term *= mean / m
    return m


def hsic_by_rows(
    h: Tensor, a: Tensor, sigma: Tensor, dtype: torch.dtype, rows: int | None = None
) -> Tensor:
    r"""HSIC for any bandwidth, with some rows of the kernel at a time.

    .. math:: \operatorname{tr}(a^\top K a) = \operatorname{tr}(a^\top (K - 1) a)

    The right-hand side is summed in `dtype`: scores and trait are centred before they
    lose digits, and :math:`K - 1` keeps its own where the scores are almost equal.
    """
    if rows is None:
        rows = max(1, CELLS // len(h))
    x = ((h - h.detach().mean()) / sigma).to(dtype)
    value: Tensor = _ByRows.apply(x, a.to(dtype), rows)  # type: ignore[no-untyped-call]  # untyped in torch
    return value


class _ByRows(torch.autograd.Function):
    """The sum, with its gradient taken on the way, so that no row is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, a: Tensor, rows: int) -> Tensor:
        value = a.new_zeros(())
        slope = []
        for i in range(0, len(x), rows):
            own = a[i : i + rows]
            delta = x[i : i + rows].unsqueeze(1) - x  # (rows, n)
            kernel = delta.square().mul_(-0.5).expm1_()  # K - 1
            value = value + (own * (kernel @ a)).sum()
            if ctx.needs_input_grad[0]:
                delta.addcmul_(delta, kernel)  # K (x - x')
                slope.append(-2 * (own * (delta @ a)).sum(1))
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(torch.cat(slope))
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return grad * slope, None, None


def median_distance(h: Tensor, p: Tensor) -> Tensor:
    r"""Median of :math:`|h - h'|` for two rows drawn from the batch, by bisection.

    Scores are sorted once; then the pairs within t are counted by their limits.
    """
    x, order = h.detach().sort()
    weight = p[order]
    below = torch.cat((weight.new_zeros(1), weight.cumsum(0)))
    low, high = torch.zeros_like(x[0]), torch.ones_like(x[0])
    for _ in range(40):  # to 1e-12
        t = (low + high) / 2
        last = torch.searchsorted(x, x + t, right=True)
        first = torch.searchsorted(x, x - t)
        enough = weight @ (below[last] - below[first]) >= 0.5
        low, high = torch.where(enough, low, t), torch.where(enough, t, high)
    return high


class HSICLoss(IndependenceLoss):
    r"""Hilbert-Schmidt independence criterion of scores and trait (App. D.3, HSIC).

    .. math::
        R(h) = \frac{1}{n^2} \operatorname{tr}(K H L H), \qquad
        K_{ij} = e^{-(h_i - h_j)^2 / 2 \sigma^2}, \quad L = S S^\top, \quad
        H = I - \frac{1}{n} 1 1^\top

    It is at least 0, and 0 if and only if the scores have the same distribution in all
    groups, of which demographic parity is a part. Division by :math:`n^2` instead of
    :math:`(n - 1)^2` makes weight 2 the row twice, and one row harmless.

    No n × n matrix is ever held: :math:`L` has rank d. From a bandwidth of 0.2 upwards
    time is linear in n; below, and for the median, it is quadratic and memory linear.

    Args:
        bandwidth: The :math:`\sigma` of the kernel on scores. 0.5 is half of their
            range: scores of 0 and 1 then have the similarity :math:`e^{-2} = 0.14`. A
            much wider kernel sees little more than the means of the groups, and in a
            much narrower one distant scores do not attract each other. "median" takes
            the median distance of two rows of the batch (at least 0.001), held fixed
            in the gradient; it follows the scores as they contract, so that values of
            different batches cannot be compared.

    Example:
        >>> import torch
        >>> baseline = HSICLoss()
        >>> logit = torch.tensor([0.0, 0.0, 2.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> baseline(logit, sens)
        tensor(0.0498)
    """

    def __init__(self, *, bandwidth: float | Literal["median"] = 0.5) -> None:
        super().__init__()
        if isinstance(bandwidth, str):
            if bandwidth != "median":
                raise RangeError(
                    f"`bandwidth` must be a number or 'median'; got {bandwidth!r}. "
                    "0.5 is half of the range of scores."
                )
        else:
            check_positive("bandwidth", bandwidth, "0.5 is half of the range.")
        self.bandwidth: float | Literal["median"] = bandwidth

    def evaluate(self, batch: TraitBatch) -> Tensor:
        """Compute the term of a checked batch."""
        h, a = batch.h, centred_trait(batch.s, batch.p)
        if isinstance(self.bandwidth, str):
            sigma = median_distance(h, batch.p).clamp_min(LEAST_BANDWIDTH)
        elif self.bandwidth >= SERIES_FROM:
            return hsic_by_series(h, a, self.bandwidth)
        else:
            sigma = h.new_tensor(self.bandwidth)
        # rounding may leave -1e-9
        return hsic_by_rows(h, a, sigma, batch.dtype).clamp_min(0)

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"bandwidth={self.bandwidth!r}"
