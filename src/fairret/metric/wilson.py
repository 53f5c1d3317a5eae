"""Confidence intervals of single statistics: Wilson's where they are shares."""

import torch
from torch import Tensor

from fairret.metric.delta_method import NotionMoments, effective_rows, standard_error
from fairret.metric.max_t import normal_quantile


def interval(m: NotionMoments, confidence: float) -> tuple[Tensor, Tensor]:
    r"""Confidence interval of every statistic, `(..., K, d)` each.

    If :math:`0 \le u \le v`, the statistic is a share p, with Wilson's interval for
    :math:`p (1 - p) / \mathrm{se}^2` rows: for plain decisions, the counted rows. A
    ratio of two counts uses the share :math:`N / (N + D)`. Any other statistic has
    :math:`\gamma \pm z\,\mathrm{se}`. The variance of a share includes one row with the
    largest possible variance, because five equal scores do not prove that all are.
    """
    z = normal_quantile(confidence)
    gamma, se, rows = m.gamma, standard_error(m), effective_rows(m)
    plain = z * se * (rows / (rows - 1).clamp_min(0)).sqrt()
    low, high = gamma - plain, gamma + plain

    num, den = m.groups
    counts_both = m.has(0, 2)[..., None]
    a, b = _share_interval(num / (num + den), se / (1 + gamma).square(), rows, z)
    low = torch.where(counts_both, a / (1 - a), low)
    high = torch.where(counts_both, b / (1 - b), high)

    is_share = m.is_share[..., None]
    a, b = _share_interval(gamma, se, rows, z)
    low, high = torch.where(is_share, a, low), torch.where(is_share, b, high)
    return torch.minimum(low, gamma), torch.maximum(high, gamma)  # up to rounding


def _share_interval(
    p: Tensor, se: Tensor, rows: Tensor, z: float
) -> tuple[Tensor, Tensor]:
    """Interval of a share whose standard error was estimated from `rows` rows."""
    binomial = p * (1 - p)
    variance = (rows * se.square() + binomial / rows) / (rows + 1)
    return wilson(p, torch.where(binomial > 0, binomial / variance, rows), z)


def wilson(p: Tensor, n: Tensor, z: float) -> tuple[Tensor, Tensor]:
    r"""Wilson's interval of a share p of n rows.

    .. math::
        \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}
    """
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * (p * (1 - p) / n + z**2 / (4 * n**2)).sqrt() / (1 + z**2 / n)
    return (centre - half).clamp_min(0), (centre + half).clamp_max(1)
