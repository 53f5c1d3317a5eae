"""The projection as a post-processing step, on tensors or NumPy arrays."""

from dataclasses import replace
from typing import Any, TypeAlias, overload

import numpy as np
import torch
from torch import Tensor

from fairret.distributed import Choice
from fairret.divergence import Divergence
from fairret.loss.projection import ProjectionLoss
from fairret.projection import MAX_ITER, TOLERANCE, Projection
from fairret.statistic.base import LinearFractionalStatistic

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@overload
def project(
    prob: Tensor,
    *args: object,
    statistic: LinearFractionalStatistic | str,
    divergence: Divergence | str = "kl",
    pred_as_logit: bool = False,
    max_iter: int = MAX_ITER,
    tol: float = TOLERANCE,
    process_group: Choice = False,
    **inputs: object,
) -> Projection[Tensor]: ...
@overload
def project(
    prob: Array,
    *args: object,
    statistic: LinearFractionalStatistic | str,
    divergence: Divergence | str = "kl",
    pred_as_logit: bool = False,
    max_iter: int = MAX_ITER,
    tol: float = TOLERANCE,
    process_group: Choice = False,
    **inputs: object,
) -> Projection[Array]: ...
def project(
    prob: Tensor | Array,
    *args: object,
    statistic: LinearFractionalStatistic | str,
    divergence: Divergence | str = "kl",
    pred_as_logit: bool = False,
    max_iter: int = MAX_ITER,
    tol: float = TOLERANCE,
    process_group: Choice = False,
    **inputs: object,
) -> Projection[Tensor] | Projection[Array]:
    r"""Find the fair scores that are closest to the given ones (Eq. 11).

    .. math::
        f^* = \arg\min_{f \in \mathcal{F}_\gamma(c)} E[D(f \| h)],
        \qquad c = \bar\gamma(h)

    Args:
        prob: Probabilities, `(n,)` or `(n, 1)`, a tensor or an array.
        *args: `[feat,] sens[, label]`, as in a loss; arrays, frames and lists too.
        statistic: The statistic that should be equal in all groups, or its name.
        divergence: "kl", "js", "sed", "tv" or "chi2".
        pred_as_logit: Whether `prob` holds logits.
        max_iter: Steps of the solver at the most.
        tol: Residual at which the projection counts as found.
        process_group: Who shares the rows; False for this process alone.
        **inputs: `feat`, `sens`, `label`, `weight`, `target_statistic`, and what else
            the statistic asks for.

    Returns:
        The projected scores, a tensor for a tensor and else an array, with status and
        residual.

    Example:
        >>> import numpy as np
        >>> prob = np.array([0.2, 0.4, 0.6, 0.8])
        >>> sens = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
        >>> result = project(prob, sens, statistic="pr")
        >>> result.f_star.round(3)
        array([0.38, 0.62, 0.38, 0.62])
        >>> result.status.name
        'CONVERGED'
    """
    loss = ProjectionLoss(
        statistic, divergence, max_iter=max_iter, tol=tol, process_group=process_group
    )
    call: list[Any] = [_as_tensor(value) for value in (prob, *args)]
    options: dict[str, Any] = {name: _as_tensor(v) for name, v in inputs.items()}
    found = loss.project(*call, pred_as_logit=pred_as_logit, **options)
    if isinstance(prob, Tensor):
        return found
    fields: dict[str, Any] = {"f_star": found.f_star.numpy()}  # of another type
    return replace(found, **fields)


def _as_tensor(value: object) -> object:
    """Turn what NumPy understands (arrays, series, frames, lists) into tensors."""
    if value is None or isinstance(value, Tensor | str | float | int):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        try:  # a frame of mixed columns is an array of objects
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            return value
    native = array.dtype.newbyteorder("=")
    if native == np.longdouble:
        native = np.dtype(np.float64)
    return torch.from_numpy(np.array(array, dtype=native))  # views may be read-only
