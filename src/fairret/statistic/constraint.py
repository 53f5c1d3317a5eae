r"""Parity with the statistic fixed at c is linear in the scores (Def. 5, Prop. 1)."""

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from fairret.device import cut, is_large
from fairret.distributed import ALONE, Processes
from fairret.statistic.memberships import Memberships, add_up, take_rows
from fairret.statistic.sums import Coefficients, find_incomparable, nearly_zero


class Line(NamedTuple):
    r""":math:`\alpha(X, Y, c)` and :math:`\beta(X, Y, c)` of Prop. 1.

    Each is `(K, n)`, or `(K, 1)` where it is the same for all rows.
    """

    alpha: Tensor
    beta: Tensor


class Moments(NamedTuple):
    r"""The sums of Def. 2, each over the groups and, last, over all rows.

    .. math::
        \sum_i w_i S_{ik}, \qquad
        \sum_i w_i S_{ik} \alpha_{0,i}, \quad
        N_k = \sum_i w_i S_{ik} (\alpha_{0,i} + h_i \beta_{0,i}), \qquad
        \sum_i w_i S_{ik} \alpha_{1,i}, \quad
        D_k = \sum_i w_i S_{ik} (\alpha_{1,i} + h_i \beta_{1,i})
    """

    weight: Tensor  # (1, d_s + 1)
    top: Tensor  # (2, K, d_s + 1): of the intercepts alone, and N_k
    bottom: Tensor  # (2, K, d_s + 1): of the intercepts alone, and D_k


class Totals(NamedTuple):
    """The sums that determine c and the groups that can be compared."""

    weight: Tensor  # (1,)
    num: Tensor  # (K,)
    den: Tensor  # (K,)
    group_den: Tensor  # (K, d_s)


class Margin(NamedTuple):
    r"""How unequal groups may be: :math:`|N_k - c D_k| \le \epsilon |c| |D_k|`.

    The right-hand side is linear in the scores, as long as :math:`D_k` keeps its sign.
    """

    scale: Tensor  # (K, d_s): epsilon |c|, with the sign of D_k
    per_c: Tensor  # (K, d_s): its derivative in c
    b: Tensor  # (K, d_s): the right-hand side without scores
    start: Tensor  # (K, d_s): the right-hand side at f = h


class Constraint(NamedTuple):
    r"""The m = K d_s equations :math:`b_k + \sum_i p_i a_{ik} f_i = 0`.

    Their matrix is a product, :math:`a_{ik} = S_{ik} \beta_i`.
    """

    beta: Tensor | float  # (K, n), or (K, 1); a number if the same for all rows
    kept: Tensor | None  # (K, d_s): 0 for groups whose equation is 0 = 0, else 1
    p: Tensor  # (n,)
    b: Tensor  # (K, d_s)
    start: Tensor  # (K, d_s): the left-hand side at f = h
    size: Tensor  # (K, d_s): sum_i p_i |a_i|
    level: Tensor  # (K, d_s): |c D_k|, the magnitude of both sides of N_k = c D_k
    weight: Tensor  # (1,): sum_i w_i
    den: Tensor  # (K,): the overall denominator, or 1 where there is none
    margin: Margin | None  # None if the equations must hold exactly


def fix(coef: Coefficients, c: Tensor) -> Line:
    r"""Fix the statistics at c, `(K,)` (Prop. 1, Eq. 6).

    .. math::
        \alpha = \alpha_0 - c \alpha_1, \qquad \beta = \beta_0 - c \beta_1
    """
    c = c[:, None]
    return Line(coef.alpha0 - c * coef.alpha1, coef.beta0 - c * coef.beta1)


def add_moments(
    h: Tensor,
    w: Tensor,
    coef: Coefficients,
    s: Memberships,
    parts: int,
    over: Processes = ALONE,
) -> Moments:
    """Sum the terms of Def. 2, all in one product with the memberships."""
    if is_large(h):
        blocks = (
            _add_terms(h[i], w[i], _take_rows(coef, i), take_rows(s, i))
            for i in cut(len(h))
        )
        sums = functools.reduce(torch.add, blocks)
    else:
        sums = _add_terms(h, w, coef, s)
    (sums,) = over.total(sums)
    constants = tuple(x if isinstance(x, float) else None for x in coef)
    combine = _combination(constants, parts, sums.dtype, sums.device, type(sums))
    weight, top, bottom = torch.split(combine @ sums, [1, 2 * parts, 2 * parts])
    shape = (2, parts, -1)
    return Moments(weight, top.view(shape), bottom.view(shape))


@functools.lru_cache(maxsize=64)
def _combination(
    constants: tuple[float | None, ...],
    parts: int,
    dtype: torch.dtype,
    device: torch.device,
    kind: type[Tensor],
) -> Tensor:
    """The matrix that turns the sums of `_add_terms` into :class:`Moments`.

    A constant coefficient multiplies the sum of w or of w h; others have their own.
    The `kind` of tensor keeps fake ones, which graphs are traced with, apart.
    """
    width = 2 + parts * constants.count(None)
    place, picks = 2, []
    for term, constant in zip((0, 1, 0, 1), constants, strict=True):
        pick = torch.zeros(parts, width, dtype=dtype)
        if constant is None:
            pick[:, place : place + parts] = torch.eye(parts)
            place += parts
        else:
            pick[:, term] = constant
        picks.append(pick)
    alpha0, beta0, alpha1, beta1 = picks
    weight = torch.eye(1, width, dtype=dtype)
    rows = (weight, alpha0, alpha0 + beta0, alpha1, alpha1 + beta1)
    return torch.cat(rows).to(device)


def _add_terms(h: Tensor, w: Tensor, coef: Coefficients, s: Memberships) -> Tensor:
    """Sum w, w h, and the terms whose coefficients vary, over groups and rows."""
    terms = [w[None], (w * h)[None]]
    for term, x in zip((0, 1, 0, 1), coef, strict=True):
        if isinstance(x, Tensor):
            terms.append(terms[term] * x)
    rows = torch.cat(terms)
    return torch.cat((add_up(rows, s), rows.sum(-1, keepdim=True)), 1)


def _take_rows(coef: Coefficients, which: slice) -> Coefficients:
    return Coefficients(*(x[:, which] if isinstance(x, Tensor) else x for x in coef))


def read_totals(moments: Moments) -> Totals:
    """The totals of a batch by itself."""
    num, den = moments.top[1], moments.bottom[1]
    return Totals(moments.weight[0, -1:], num[:, -1], den[:, -1], den[:, :-1])


def pose(
    moments: Moments,
    totals: Totals,
    coef: Coefficients,
    s: Memberships,
    w: Tensor,
    *,
    target: Tensor | None = None,
    max_violation: float = 0.0,
    over: Processes = ALONE,
) -> Constraint:
    r"""Write parity at c as equations, one for each statistic and group (Prop. 1).

    .. math::
        c = \bar\gamma(h), \qquad a_{ik} = S_{ik} \beta_i,
        \qquad b_k = \sum_i p_i S_{ik} \alpha_i, \qquad p_i = w_i / \sum_j w_j

    Groups that cannot be compared are dropped: their equations become 0 = 0.

    Args:
        moments: Sums over the batch.
        totals: Sums that fix c: those of the batch, or running ones.
        coef: The coefficients of the rows of this process.
        s: Their memberships.
        w: Their weights.
        target: Takes the place of c, `(K,)`.
        max_violation: The violation (Eq. 9) that a group may have.
        over: The processes that have the other rows.
    """
    weight = totals.weight.clamp_min(torch.finfo(w.dtype).tiny)
    p, share, kept = w / weight, weight.reciprocal(), None
    num, den = totals.num, totals.den
    dropped = find_incomparable(totals.group_den, den)
    if dropped is not None:
        none = dropped.all(-1)
        num, den = num.masked_fill(none, 0), den.masked_fill(none, 1)
        kept = (~dropped).to(w)
        share = kept / weight
    num, c = (num, num / den) if target is None else (target, target)
    c = c[:, None]
    linear = isinstance(coef.beta1, float) and coef.beta1 == 0  # Def. 4
    beta = coef.beta0 if linear else coef.beta0 - c * coef.beta1
    both = torch.addcmul(moments.top, c, moments.bottom, value=-1)
    b, start = (both[..., :-1] * share).unbind()
    level = (c * totals.group_den).mul_(share).abs_()
    if isinstance(beta, float):
        size = abs(beta) * moments.weight[:, :-1] * share
    else:
        (size,) = over.total(add_up(beta.abs() * p, s))
        size = size if kept is None else size * kept
    margin = None
    if max_violation:
        unit = max_violation * totals.group_den.sign()
        unit = unit if kept is None else unit * kept
        margin = _find_margin(unit, num, c, moments.bottom[..., :-1] * share)
    return Constraint(beta, kept, p, b, start, size, level, weight, den, margin)


def _find_margin(unit: Tensor, num: Tensor, c: Tensor, bottom: Tensor) -> Margin:
    r"""Turn a tolerance into a margin of the equations.

    Where c = 0, a violation is absolute (the footnote of Eq. 9).

    Args:
        unit: The largest violation, with the sign of :math:`D_k`, `(K, d_s)`.
        num: The overall numerator, or the target, `(K,)`.
        c: The overall value, `(K, 1)`.
        bottom: The denominators without scores, and at f = h, `(2, K, d_s)`.
    """
    zero = num.abs()[:, None] <= nearly_zero(num.dtype)
    scale = unit * c.abs().masked_fill(zero, 1)
    b, start = scale * bottom
    return Margin(scale, unit * c.sign().masked_fill(zero, 0), b, start)
