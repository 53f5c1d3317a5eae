"""The projection as a post-processing step, on tensors or NumPy arrays."""

from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from fairret.checks import example_of_text
from fairret.distributed import Choice
from fairret.divergence import Divergence
from fairret.loss.projection_base import ProjectionLoss
from fairret.projection import MAX_ITER, TOLERANCE, Projection
from fairret.statistic.base import LinearFractionalStatistic

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
ArrayT = TypeVar("ArrayT", bound=Tensor | Array)


def project(
    prob: ArrayT,
    *args: object,
    statistic: LinearFractionalStatistic | str,
    divergence: Divergence | str = "kl",
    max_violation: float = 0.0,
    pred_as_logit: bool = False,
    max_iter: int = MAX_ITER,
    tol: float = TOLERANCE,
    process_group: Choice = False,
    **inputs: object,
) -> Projection[ArrayT]:
    r"""Find the fair scores that are closest to the given ones (Eq. 11, Eq. 15).

    .. math::
        f^* = \arg\min_{f \in \mathcal{F}_\gamma(c)} E[D(f \| h)],
        \qquad c = \bar\gamma(h)

    Args:
        prob: Probabilities, `(n,)` or `(n, 1)`, a tensor or an array.
        *args: `[feat,] sens[, label]`, as in a loss; arrays, frames and lists too.
        statistic: The statistic that should be equal in all groups, or its name.
        divergence: "kl", "js", "sed", "tv" or "chi2".
        max_violation: Largest violation of the projected scores: their statistics may
            differ from c by this share of it; 0 asks for parity.
        pred_as_logit: Whether `prob` holds logits.
        max_iter: Largest number of solver steps.
        tol: Largest residual of a converged projection.
        process_group: The processes that share the rows; False for this one alone.
        **inputs: `feat`, `sens`, `label`, `weight`, `target_statistic`, and further
            inputs of the statistic.

    Returns:
        The projected scores, in the type of `prob`, with status and residual.

    Example:
        >>> import numpy as np
        >>> prob = np.array([0.2, 0.4, 0.6, 0.8])
        >>> sens = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
        >>> result = project(prob, sens, statistic="pr")
        >>> result.f_star.round(3)
        array([0.38, 0.62, 0.38, 0.62])
        >>> result.status.name
        'CONVERGED'
        >>> result = project(prob, sens, statistic="pr", max_violation=0.2)
        >>> result.f_star.round(3)  # rates of 0.4 and 0.6 instead of 0.5
        array([0.285, 0.515, 0.485, 0.715])
    """
    loss = ProjectionLoss(
        statistic,
        divergence,
        max_violation=max_violation,
        max_iter=max_iter,
        tol=tol,
        process_group=process_group,
    )
    call: list[Any] = [_as_tensor(value) for value in (prob, *args)]
    options: dict[str, Any] = {name: _as_tensor(v) for name, v in inputs.items()}
    found: Any = loss.project(*call, pred_as_logit=pred_as_logit, **options)
    if not isinstance(prob, Tensor):
        found = replace(found, f_star=found.f_star.numpy())
    result: Projection[ArrayT] = found
    return result


def _as_tensor(value: object) -> object:
    """Convert arrays, series, frames and lists to tensors."""
    if value is None or isinstance(value, Tensor | str | float | int):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        if example_of_text(array) is not None:
            return value  # the loss refuses it by name
        try:  # a frame of mixed columns is an array of objects
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            return value
    native = array.dtype.newbyteorder("=")
    if native == np.longdouble:
        native = np.dtype(np.float64)
    return torch.from_numpy(np.array(array, dtype=native))  # views may be read-only
