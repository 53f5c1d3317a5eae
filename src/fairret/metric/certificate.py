r"""Certificates: confidence bounds for the violation of decisions in the population.

Plain functions over additive sums, shared by audits and decision rules::

    m = decision_moments(decision, sens, "tpr", label=label)  # add_moments to stream
    certify(m, confidence=0.95).largest  # estimate, L and U

All functions that take sums accept any number of leading dimensions.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairret.batch import read_batch
from fairret.metric.by_label import sum_batch
from fairret.metric.delta_method import NotionMoments, enough_rows
from fairret.metric.moments import select_notion
from fairret.metric.simultaneous_intervals import (
    Bounds,
    Contrasts,
    Upper,
    log_scale,
    violation_intervals,
)
from fairret.metric.studentised_test import MIN_SIZE
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.stacked import get_statistic


def decision_moments(
    decision: Tensor,
    sens: Tensor,
    statistic: LinearFractionalStatistic | str,
    *,
    label: Tensor | None = None,
    weight: Tensor | None = None,
    **inputs: object,
) -> NotionMoments:
    """Sum the influences of the rows; sums of batches merge with `add_moments`.

    Args:
        decision: Decisions or scores in [0, 1], `(n,)`.
        sens: Memberships, `(n, d_s)`.
        statistic: The statistic or stack, or its name.
        label: Labels, `(n,)`, if the statistic asks for them.
        weight: Sample weights, `(n,)`.
        **inputs: Further inputs of the statistic, by name.
    """
    notion = get_statistic(statistic)
    named = {"sens": sens, "label": label, "weight": weight, **inputs}
    batch = read_batch(decision, (), named, layout="given")
    total = sum_batch(batch, [notion], [batch.pred])
    found = select_notion(total, [len(notion.parts)], 0)
    return NotionMoments(*(x[0] for x in found))


class LogRatios(NamedTuple):
    r"""The log-ratios :math:`\lambda_k = \log(\gamma_k / \bar\gamma)` of all groups."""

    estimate: Tensor  # (..., K, d_s); a group with N_k = 0 gets half a row
    covariance: Tensor  # (..., K, d_s, d_s)
    standard_error: Tensor  # (..., K, d_s), with pseudo-counts
    counted: Tensor  # (..., K, d_s): effective rows


def log_ratios(m: NotionMoments) -> LogRatios:
    r"""Estimate the log-ratios with their covariance by the delta method.

    The influence of row i is

    .. math::
        \varphi_{ik} = \frac{S_{ik} (u_i - \gamma_k v_i)}{D_k \gamma_k}
        - \frac{u_i - \bar\gamma v_i}{D \bar\gamma}, \qquad
        \mathrm{Cov}(\lambda_k, \lambda_l) = \sum_i \varphi_{ik} \varphi_{il}.

    Variances have the lower bounds of :mod:`fairret.metric.variance_floor`. Needs
    statistics with :math:`u, v \ge 0` and :math:`\bar\gamma > 0`.
    """
    scale = log_scale(m)
    groups = torch.arange(1, scale.x.shape[-1])
    contrasts = Contrasts(scale, groups, torch.zeros_like(groups))
    cov = scale.covariance
    to_all = cov[..., 1:, :1]
    between = cov[..., 1:, 1:] - to_all - to_all.mT + cov[..., :1, :1]
    return LogRatios(
        contrasts.difference, between, contrasts.standard_error, scale.rows[..., 1:]
    )


class Certificate(NamedTuple):
    """Bounds of the violations of the population, at a confidence."""

    each: Bounds  # (..., K, d_s): simultaneous intervals of all judged groups
    largest: Bounds  # (..., K): estimate, L and U; NaN if no group is judged
    judged: Tensor  # (..., K, d_s): groups with enough rows; the others are not covered


def certify(
    m: NotionMoments,
    *,
    confidence: float = 0.95,
    min_size: float = MIN_SIZE,
    upper: Upper = "one-sided",
) -> Certificate:
    r"""Bound the largest violation :math:`\max_k |\gamma_k / \bar\gamma - 1|`.

    Args:
        m: The sums of one statistic or stack.
        confidence: Of U alone with "one-sided", of [L, U] otherwise.
        min_size: Effective rows that a group needs to be covered.
        upper: Quantile of U, see
            :func:`~fairret.metric.simultaneous_intervals.violation_intervals`:
            "one-sided" for a tolerance on held-out rows, "two-sided" for an interval,
            "simultaneous" for rows on which the decision rule was fitted.
    """
    judged = enough_rows(m, min_size) & m.estimable[..., 1:]
    judged = judged & (m.gamma[..., :1] != 0)
    return Certificate(*violation_intervals(m, judged, confidence, upper), judged)
