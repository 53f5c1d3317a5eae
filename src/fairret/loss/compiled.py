"""Projections as single nodes of a compiled graph.

An operator of torch takes only tensors, numbers and strings. So the parts of a batch
are passed one by one, and the divergence and the processes by name.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from fairret.distributed import find_processes
from fairret.divergence import Divergence, get_divergence, is_built_in
from fairret.loss.base import Evaluated
from fairret.loss.memory import Memory
from fairret.loss.nearest import Settings, measure
from fairret.loss.running import measure_running, remembered
from fairret.statistic.sums import Coefficients


def is_node(divergence: Divergence) -> bool:
    """Whether a graph is being compiled and can look up the divergence."""
    return torch.compiler.is_compiling() and is_built_in(divergence)


def measure_as_node(
    batch: Evaluated, memory: Memory | None, settings: Settings, group: str
) -> tuple[Tensor, Tensor]:
    """Compute the loss and its derivative as one node; `group` is a name."""
    divergence, *others = settings
    coef = [torch.as_tensor(x, dtype=batch.pred.dtype) for x in batch.coef]
    kept: tuple[int, Tensor, list[Tensor]] = (0, batch.pred.new_zeros(1), [])
    if memory is not None:
        kept = (memory.rows, memory.seen, memory.kept())
    loss, slope = _measure(
        *(batch.pred, batch.s, batch.w, coef, batch.parts, batch.target),
        *(group, divergence.name, *others),
        *kept,
    )
    return loss, slope


@torch.library.custom_op("fairret::measure", mutates_args=("seen", "kept"))
def _measure(
    logit: Tensor,
    s: Tensor,
    w: Tensor | None,
    coef: Sequence[Tensor],
    parts: int,
    target: Tensor | None,
    group: str,
    divergence: str,
    gradient: str,
    tol: float,
    max_iter: int,
    max_violation: float,
    rows: int,  # of the memory; 0 if there is none
    seen: Tensor,
    kept: list[Tensor],
) -> tuple[Tensor, Tensor]:
    # constant coefficients come as scalar tensors
    numbers = Coefficients(*(float(x) if x.dim() == 0 else x for x in coef))
    over = find_processes(group)
    batch = Evaluated(logit, True, s, w, numbers, parts, target, over)
    how = get_divergence(divergence), gradient, tol, max_iter, max_violation
    settings = Settings(*how)
    if not rows:
        return measure(batch, settings)[:2]
    names = remembered(max_violation)
    memory = Memory(rows, names)
    memory._buffers.update(zip(names, kept, strict=True), seen=seen)
    return measure_running(batch, memory, settings)


@_measure.register_fake
def _(logit: Tensor, *args: object) -> tuple[Tensor, Tensor]:
    return logit.new_empty(()), torch.empty_like(logit)
