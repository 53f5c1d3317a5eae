"""What depends on the device: dtypes, which host reads are free, and blocks of rows.

On the CPU a large batch is processed in blocks of rows that fit into its cache.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

BLOCK = 32_768  # rows


def reads_are_free(x: Tensor) -> bool:
    """Whether the host sees the numbers of a tensor without waiting for a device."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def may_read(x: Tensor) -> bool:
    """Whether the host may wait for a tensor: not while a graph is recorded."""
    recording = x.is_cuda and torch.cuda.is_current_stream_capturing()
    return not (recording or x.is_meta or torch.compiler.is_compiling())


def wide_dtype(device: torch.device) -> torch.dtype:
    """The dtype to compute in: beyond a logit of 17, 1 - h is 0 in float32."""
    return torch.float32 if device.type == "mps" else torch.float64


def result_dtype(pred: Tensor) -> torch.dtype:
    """The dtype of a result: float64 for float64 input, else float32."""
    return torch.float64 if pred.dtype == torch.float64 else torch.float32


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast from taking the sums in half precision."""
    kind = device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.autocast(kind, enabled=False)
    return nullcontext()


def cut(n: int) -> list[slice]:
    """Cut n rows into blocks."""
    return [slice(i, min(i + BLOCK, n)) for i in range(0, n, BLOCK)] or [slice(0, 0)]


def is_large(x: Tensor) -> bool:
    """Whether a tensor of n rows is to be processed in blocks."""
    return x.shape[0] > BLOCK and x.device.type == "cpu"


def join(parts: Sequence[Tensor]) -> Tensor:
    """Put vectors one after the other; a single one is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))
