"""The base class of all metrics: sums over a stream of batches."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.distributed import gather_all_tensors

from fairret.batch import Batch, read_batch
from fairret.checks import check_positive, check_share
from fairret.distributed import DEFAULT, find_processes
from fairret.errors import RangeError, ShapeError
from fairret.metric.by_label import sum_batch
from fairret.metric.compute import Measured, compute_results
from fairret.metric.fingerprint import fingerprint, require_equal
from fairret.metric.moments import Moments, add, no_moments
from fairret.metric.studentised_test import MIN_SIZE
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.stacked import get_statistic


class GroupMetric(Metric):
    """Sums over groups, additive over batches and processes.

    The state has a fixed size: memory does not grow with the stream. Subclasses differ
    in what they compute from it. In a :class:`torchmetrics.MetricCollection`, metrics
    with the same settings share it.

    Args:
        statistics: The notions, each a statistic, a stack or a name.
        names: Names of the groups, the columns of `sens`: `encoder.names`.
        d_s: Number of groups, if they have no names. By default, that of the first
            batch.
        traits: The columns of `sens` of each trait: `encoder.traits`.
        threshold: Scores above it are positive decisions. By default, only the scores
            are measured.
        pred_as_logit: Whether `update` gets logits.
        confidence: Of intervals, and that a fair model has no group beyond chance.
        min_size: Rows that must count for a group to be judged, such as positives for
            a true positive rate. Smaller groups are shown, but not judged.
        **kwargs: Options of :class:`torchmetrics.Metric`.
    """

    is_differentiable = False
    higher_is_better: bool | None = False
    full_state_update = False
    first: Tensor
    second: Tensor
    members: Tensor
    decided: Tensor
    excess: Tensor
    key: Tensor

    def __init__(
        self,
        statistics: Sequence[LinearFractionalStatistic | str],
        *,
        names: Sequence[str] | None = None,
        d_s: int | None = None,
        traits: Mapping[str, Sequence[int]] | None = None,
        threshold: float | None = None,
        pred_as_logit: bool = False,
        confidence: float = 0.95,
        min_size: float = MIN_SIZE,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.notions = torch.nn.ModuleList(map(get_statistic, statistics))
        self.names = None if names is None else tuple(map(str, names))
        d_s = _number_of_groups(self.names, d_s)
        self.traits = _checked_traits(traits, d_s)
        if threshold is not None:
            threshold = check_share("threshold", threshold)
        self.threshold = threshold
        self.confidence = check_share("confidence", confidence)
        self.min_size = check_positive("min_size", min_size, "The default is 30.")
        self.pred_as_logit = pred_as_logit
        key = fingerprint(self.notions, self.names, d_s, self.threshold, pred_as_logit)
        self.add_state("key", key, dist_reduce_fx=require_equal)  # compared first
        for field, zeros in self._no_moments(1 + (d_s or 0))._asdict().items():
            kind = "max" if field == "excess" else "sum"
            self.add_state(field, zeros, dist_reduce_fx=kind)

    @property
    def _statistics(self) -> list[LinearFractionalStatistic]:
        return [x for x in self.notions if isinstance(x, LinearFractionalStatistic)]

    def _no_moments(self, d: int) -> Moments:
        channels = 1 if self.threshold is None else 2
        sizes = [len(notion.parts) for notion in self._statistics]
        return no_moments(channels, sizes, d)

    def update(self, pred: Tensor, *args: Tensor | None, **inputs: object) -> None:
        """Add a batch.

        Args:
            pred: Probabilities, or logits with `pred_as_logit`, `(n,)` or `(n, 1)`.
            *args: `[feat,] sens[, label]`: features for a statistic that asks for them,
                memberships in [0, 1], `(n, d_s)`, labels in [0, 1].
            **inputs: The same by keyword; `weight`, sample weights, `(n,)` or `(n, 1)`;
                and whatever else a statistic asks for by name.
        """
        kind = "logit" if self.pred_as_logit else "prob"
        others = find_processes(DEFAULT).size > 1  # they may have all rows
        batch = read_batch(
            pred, args, inputs, name=kind, layout="given", may_be_empty=others
        )
        self._check_width(batch.sens.shape[1])
        if batch.n == 0:
            return
        new = sum_batch(batch, self._statistics, self._as_channels(batch, pred))
        self._state = add(self._state, new)

    def _as_channels(self, batch: Batch, pred: Tensor) -> list[Tensor]:
        """Return scores and, with a threshold, decisions."""
        h = torch.sigmoid(batch.pred) if self.pred_as_logit else batch.pred
        if self.threshold is None:
            return [h]
        # 0.3 in float32 exceeds 0.3: compare in the dtype of the scores
        dtype = torch.float64 if self.pred_as_logit else pred.dtype
        dtype = dtype if dtype.is_floating_point else torch.float64
        limit = torch.tensor(self.threshold, dtype=dtype).to(h)
        return [h, (h > limit).to(h)]

    @property
    def _state(self) -> Moments:
        return Moments(*(getattr(self, field) for field in Moments._fields))

    @_state.setter
    def _state(self, total: Moments) -> None:
        for field, value in total._asdict().items():
            setattr(self, field, value)

    def _check_width(self, d_s: int) -> None:
        known = self.members.shape[0] - 1
        if known and d_s != known:
            raise ShapeError(
                f"`sens` must have d_s={known} columns, as the metric was told or has "
                f"seen before; got {d_s}. Encode every batch with the same encoder."
            )

    def _reduce_states(self, incoming_state: dict[str, Any]) -> None:
        """Merge the state of a batch, for `forward`, or of another metric.

        The state of a metric that does not know its groups yet has width 1 and is all
        zero, so it broadcasts.
        """
        own = self.members.shape[0] - 1
        before = Moments(*(incoming_state[field] for field in Moments._fields))
        if own and before.members.shape[0] not in (1, 1 + own):
            self._state = before
            self._check_width(own)
        super()._reduce_states(incoming_state)
        self._computed = None  # `merge_state` keeps an old result
        if self.members.shape[0] > 1:
            self._update_count = max(self._update_count, 1)  # or `compute` would warn

    def _sync_dist(
        self,
        dist_sync_fn: Callable[..., Any] = gather_all_tensors,
        process_group: Any | None = None,
    ) -> None:
        """Sum over the processes, some of which may not know the groups yet."""
        own = torch.tensor(self.members.shape[0], device=self.device)
        widths = {
            int(width)
            for width in dist_sync_fn(own, group=process_group or self.process_group)
        }
        if len(widths - {1}) > 1:
            raise ShapeError(
                "`sens` must have the same columns in all processes; got "
                f"{sorted(width - 1 for width in widths)} columns. Fit one encoder, "
                "and use it in every process."
            )
        if self.members.shape[0] == 1:
            empty = self._no_moments(max(widths))
            self._state = Moments(*(x.to(self.device) for x in empty))
        super()._sync_dist(dist_sync_fn, process_group)

    def _results(self) -> dict[str, Measured]:
        """Compute every notion."""
        total = Moments(*(x.detach().cpu() for x in self._state))
        d_s = total.members.shape[0] - 1
        if d_s == 0:
            raise ShapeError(
                "`compute` needs at least one batch to know the groups; got none. Call "
                "`update` first, or give `names` to the metric."
            )
        return compute_results(
            total,
            self._statistics,
            names=self.names or tuple(f"group {k}" for k in range(d_s)),
            traits=self.traits,
            confidence=self.confidence,
            min_size=self.min_size,
        )


def _number_of_groups(names: tuple[str, ...] | None, d_s: int | None) -> int | None:
    if names is None:
        if d_s is not None and d_s < 1:
            raise RangeError(
                f"`d_s` must be at least 1; got {d_s}. Leave it out to take the number "
                "of columns of the first batch."
            )
        return d_s
    if not names or len(set(names)) < len(names):
        raise RangeError(
            f"`names` must hold a different name for every group; got {list(names)}. "
            "Take those of the encoder: `encoder.names`."
        )
    if d_s not in (None, len(names)):
        raise ShapeError(
            f"`d_s` must be the number of `names`, {len(names)}; got {d_s}. Leave it "
            "out."
        )
    return len(names)


def _checked_traits(
    traits: Mapping[str, Sequence[int]] | None, d_s: int | None
) -> dict[str, tuple[int, ...]]:
    kept = {str(trait): tuple(own) for trait, own in (traits or {}).items()}
    for trait, own in kept.items():
        if not own or d_s is None or not all(0 <= k < d_s for k in own):
            raise RangeError(
                "`traits` must give each trait its columns of `sens`, numbered from 0, "
                f"with `names` or `d_s` given too; got {list(own)} for {trait!r} and "
                f"{d_s or 'no'} groups. Pass `traits=encoder.traits, "
                "names=encoder.names`."
            )
    return kept
