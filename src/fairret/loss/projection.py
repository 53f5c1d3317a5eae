"""Projection fairrets by the name of their divergence (Def. 9-11, and two more)."""

from fairret.distributed import Choice
from fairret.loss.legacy import read_solver_options
from fairret.loss.projection_base import Gradient, ProjectionLoss
from fairret.projection import MAX_ITER, TOLERANCE
from fairret.statistic.base import LinearFractionalStatistic

__all__ = [
    "ChiSquaredProjectionLoss",
    "JensenShannonProjectionLoss",
    "KLProjectionLoss",
    "ProjectionLoss",
    "SquaredEuclideanProjectionLoss",
    "TotalVariationProjectionLoss",
]


class _NamedProjectionLoss(ProjectionLoss):
    """A projection whose class says the divergence; takes 0.1.3's options too."""

    _divergence: str

    def __init__(
        self,
        statistic: LinearFractionalStatistic | str,
        *legacy: object,
        max_violation: float = 0.0,
        gradient: Gradient = "paper",
        max_iter: int = MAX_ITER,
        tol: float = TOLERANCE,
        sharpness: float = 1.0,
        memory: int = 0,
        process_group: Choice = None,
        **solver_options: object,
    ) -> None:
        limit = read_solver_options(legacy, solver_options, type(self).__name__)
        super().__init__(
            statistic,
            self._divergence,
            max_violation=max_violation,
            gradient=gradient,
            max_iter=max_iter if limit is None else limit,
            tol=tol,
            sharpness=sharpness,
            memory=memory,
            process_group=process_group,
        )


class KLProjectionLoss(_NamedProjectionLoss):
    r"""The Kullback-Leibler divergence to the closest fair scores (Def. 9).

    .. math::
        R_\gamma(h) = \min_{f \in \mathcal{F}_\gamma(\bar\gamma(h))}
        E\left[f \log \frac{f}{h} + (1 - f) \log \frac{1 - f}{1 - h}\right]

    The constraint set :math:`\mathcal{F}_\gamma(c)` holds all scores whose statistic
    is c in every group.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        *legacy: Options of 0.1.3's solver, which have no effect.
        max_violation: Violation that a group may have at no cost, see
            :class:`ProjectionLoss`.
        gradient: "paper" holds :math:`f^*` fixed, "exact" also follows the overall
            value :math:`\bar\gamma(h)`; see :class:`ProjectionLoss`.
        max_iter: Largest number of solver steps; fewer are faster and less exact.
        tol: Largest residual of a converged projection, relative to the groups.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Number of past rows to remember, see :class:`FairnessLoss`.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.
        **solver_options: Options of 0.1.3's solver; `max_iters` sets `max_iter`.

    Example:
        >>> import torch
        >>> fairret = KLProjectionLoss("pr")
        >>> logit = torch.tensor([-1.0, 0.0, 2.0, 1.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> fairret(logit, sens)
        tensor(0.1094)
        >>> fairret.project(logit, sens).f_star
        tensor([0.4775, 0.7129, 0.7129, 0.4775])
    """

    _divergence = "kl"


class JensenShannonProjectionLoss(_NamedProjectionLoss):
    r"""The Jensen-Shannon divergence to the closest fair scores (Def. 10).

    .. math::
        R_\gamma(h) = \min_{f \in \mathcal{F}_\gamma(\bar\gamma(h))}
        \tfrac{1}{2} E\left[D_{KL}(f \| m) + D_{KL}(h \| m)\right],
        \qquad m = \tfrac{1}{2} (f + h)

    It is symmetric in f and h, and at most :math:`\log 2`.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        *legacy: Options of 0.1.3's solver, which have no effect.
        max_violation: Violation that a group may have at no cost, see
            :class:`ProjectionLoss`.
        gradient: "paper" holds :math:`f^*` fixed, "exact" also follows the overall
            value :math:`\bar\gamma(h)`; see :class:`ProjectionLoss`.
        max_iter: Largest number of solver steps; fewer are faster and less exact.
        tol: Largest residual of a converged projection, relative to the groups.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Number of past rows to remember, see :class:`FairnessLoss`.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.
        **solver_options: Options of 0.1.3's solver; `max_iters` sets `max_iter`.

    Example:
        >>> import torch
        >>> fairret = JensenShannonProjectionLoss("pr")
        >>> logit = torch.tensor([-1.0, 0.0, 2.0, 1.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> fairret(logit, sens)
        tensor(0.0259)
        >>> fairret.project(logit, sens).f_star
        tensor([0.4881, 0.7023, 0.6976, 0.4928])
    """

    _divergence = "js"


class SquaredEuclideanProjectionLoss(_NamedProjectionLoss):
    r"""The squared Euclidean distance to the closest fair scores (Def. 11).

    .. math::
        R_\gamma(h) = \min_{f \in \mathcal{F}_\gamma(\bar\gamma(h))}
        E\left[2 (f - h)^2\right]

    The 2 counts both classes: :math:`(f - h)^2 + ((1 - f) - (1 - h))^2`.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        *legacy: Options of 0.1.3's solver, which have no effect.
        max_violation: Violation that a group may have at no cost, see
            :class:`ProjectionLoss`.
        gradient: "paper" holds :math:`f^*` fixed, "exact" also follows the overall
            value :math:`\bar\gamma(h)`; see :class:`ProjectionLoss`.
        max_iter: Largest number of solver steps; fewer are faster and less exact.
        tol: Largest residual of a converged projection, relative to the groups.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Number of past rows to remember, see :class:`FairnessLoss`.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.
        **solver_options: Options of 0.1.3's solver; `max_iters` sets `max_iter`.

    Example:
        >>> import torch
        >>> fairret = SquaredEuclideanProjectionLoss("pr")
        >>> logit = torch.tensor([-1.0, 0.0, 2.0, 1.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> fairret(logit, sens)
        tensor(0.0888)
        >>> fairret.project(logit, sens).f_star
        tensor([0.4797, 0.7107, 0.6701, 0.5203])
    """

    _divergence = "sed"


class TotalVariationProjectionLoss(_NamedProjectionLoss):
    r"""The total variation distance to the closest fair scores.

    .. math::
        R_\gamma(h) = \min_{f \in \mathcal{F}_\gamma(\bar\gamma(h))} E[|f - h|]

    It is the smallest share of random decisions that change when h is replaced by f. It
    is not smooth, so several f may be equally close, and `memory` is not supported.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        *legacy: Options of 0.1.3's solver, which have no effect.
        max_violation: Violation that a group may have at no cost, see
            :class:`ProjectionLoss`.
        gradient: "paper" holds :math:`f^*` fixed, "exact" also follows the overall
            value :math:`\bar\gamma(h)`; see :class:`ProjectionLoss`.
        max_iter: Largest number of solver steps; fewer are faster and less exact.
        tol: Largest residual of a converged projection, relative to the groups.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Must be 0: the scores do not follow from multipliers alone.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.
        **solver_options: Options of 0.1.3's solver; `max_iters` sets `max_iter`.

    Example:
        >>> import torch
        >>> fairret = TotalVariationProjectionLoss("pr")
        >>> logit = torch.tensor([-1.0, 0.0, 2.0, 1.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> fairret(logit, sens)
        tensor(0.2107)
    """

    _divergence = "tv"


class ChiSquaredProjectionLoss(_NamedProjectionLoss):
    r"""The chi-squared divergence to the closest fair scores.

    .. math::
        R_\gamma(h) = \min_{f \in \mathcal{F}_\gamma(\bar\gamma(h))}
        E\left[\frac{(f - h)^2}{h (1 - h)}\right]

    The denominator is at least 1e-6, so confident scores are expensive to move, but not
    infinitely so.

    Args:
        statistic: The statistic that should be equal in all groups, or its name.
        *legacy: Options of 0.1.3's solver, which have no effect.
        max_violation: Violation that a group may have at no cost, see
            :class:`ProjectionLoss`.
        gradient: "paper" holds :math:`f^*` fixed, "exact" also follows the overall
            value :math:`\bar\gamma(h)`; see :class:`ProjectionLoss`.
        max_iter: Largest number of solver steps; fewer are faster and less exact.
        tol: Largest residual of a converged projection, relative to the groups.
        sharpness: The a of :math:`\sigma_a`, see :class:`FairnessLoss`.
        memory: Number of past rows to remember, see :class:`FairnessLoss`.
        process_group: The processes that share a batch, see :class:`FairnessLoss`.
        **solver_options: Options of 0.1.3's solver; `max_iters` sets `max_iter`.

    Example:
        >>> import torch
        >>> fairret = ChiSquaredProjectionLoss("pr")
        >>> logit = torch.tensor([-1.0, 0.0, 2.0, 1.0])
        >>> sens = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> fairret(logit, sens)
        tensor(0.2467)
        >>> fairret.project(logit, sens).f_star
        tensor([0.4545, 0.7359, 0.7341, 0.4563])
    """

    _divergence = "chi2"
