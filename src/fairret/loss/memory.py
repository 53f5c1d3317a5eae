r"""What a loss remembers of earlier batches, so that small ones suffice.

A ratio of sums over a few rows is mostly noise, and a function of noise is not zero on
average. The sums themselves are right on average, so that their running means are as
good as those of a larger batch. The gradient is that of the batch alone: its sums are
linear in the scores, so it is right on average too.
"""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from fairret.errors import ArgumentError, DtypeError, RangeError, ShapeError

LONG = 1 << 40  # rows


def check_memory(memory: object) -> int:
    """Insist on a number of rows."""
    if isinstance(memory, bool) or not isinstance(memory, Integral):
        raise DtypeError(
            f"`memory` must be a whole number of rows, 0 for none; got {memory!r}. "
            "Pass 4096, say, where a batch has fewer rows than that."
        )
    rows = int(memory)
    if not 0 <= rows < LONG:
        raise RangeError(
            f"`memory` must be at least 0 and below {LONG}; got {rows}. Pass the "
            "number of rows to remember: 4096, say, or 0 for none."
        )
    return rows


class Memory(nn.Module):
    """Running means over about the last `rows` rows; the first are a plain mean.

    They are part of the state that a checkpoint keeps, and stay in float64 whatever
    the model is cast to.

    Args:
        rows: How many rows count, about.
        names: What is remembered.
    """

    seen: Tensor

    def __init__(self, rows: int, names: Sequence[str]) -> None:
        super().__init__()
        self.rows, self.names = rows, tuple(names)
        # of shape (1,): compiled graphs lose changes of a 0-dim tensor (torch 2.13)
        self.register_buffer("seen", torch.zeros(1, dtype=torch.int64))
        for name in self.names:  # the first batch tells their shapes
            self.register_buffer(name, torch.zeros(0, dtype=torch.float64))

    def rooms(self) -> list[Tensor]:
        """What is remembered, in the order of the names, for a compiled graph."""
        rooms = [self.get_buffer(name) for name in self.names]
        if torch.compiler.is_compiling() and not all(x.numel() for x in rooms):
            raise ArgumentError(
                "A loss with `memory` must see a batch before it is compiled, which "
                "tells how many groups there are; it has seen none. Call it once "
                "outside of `torch.compile`, in training mode and with gradients."
            )
        return rooms

    def share_of(self, n: Tensor, *values: Tensor) -> Tensor:
        """Give the share that a batch of n rows has in the means from now on.

        A batch whose values are not finite does not count.
        """
        if self.seen.device != n.device:
            self._buffers["seen"] = self.seen.to(n.device)
        fine = torch.stack([x.isfinite().all() for x in values]).all()
        self.seen.add_((n * fine).to(self.seen))
        return n * fine / self.seen.to(n).clamp(1.0, float(self.rows)).clamp_min(n)

    def mix(self, name: str, value: Tensor, share: Tensor) -> Tensor:
        """Add a value to the running mean of that name, and give the mean."""
        old = self._room(name, value)
        lerp = _lerp_node if torch.compiler.is_compiling() else torch.lerp
        mean = lerp(old.to(value), value, share)
        # a model that has diverged must not spoil what is kept
        counts = value.isfinite().all() & (share > 0)
        old.copy_(torch.where(counts, mean, old))
        return mean

    def recall(self, name: str, like: Tensor) -> Tensor:
        """Give what is kept by that name, at first zeros."""
        return self._room(name, like).to(like)

    def keep(self, name: str, value: Tensor) -> None:
        """Keep a value as it is."""
        self._room(name, value).copy_(value)

    def _room(self, name: str, like: Tensor) -> Tensor:
        """Look a buffer up; the first batch tells its shape."""
        room = self.get_buffer(name)
        if room.numel() == 0 and like.numel():
            self.rooms()
            room = like.new_zeros(like.shape, dtype=_dtype_on(like.device))
        elif room.shape != like.shape:
            raise ShapeError(
                "`sens` must have the same columns in all batches, since the loss "
                f"remembers them; got {like.shape[-1]} after {room.shape[-1]}. "
                "Encode every batch with the same encoder, or call "
                "`loss.memory.forget()`."
            )
        elif room.device != like.device:
            room = room.to(like.device)
        self._buffers[name] = room
        return room

    def forget(self) -> None:
        """Start anew, as after a change of the data."""
        for name in self.names:
            self._buffers[name] = self.get_buffer(name).new_zeros(0)
        self.seen.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Memory":
        """Follow the model to a device, but not to a dtype."""
        for name, room in self._buffers.items():
            assert room is not None  # all are tensors
            device = fn(torch.zeros(0, device=room.device)).device
            dtype = room.dtype if name == "seen" else _dtype_on(device)
            self._buffers[name] = room.to(device, dtype)
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        """Make room for what was remembered: before the first batch there is none."""
        for name in self.names:
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor):
                room = self.get_buffer(name)
                self._buffers[name] = room.new_zeros(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        """Show the length."""
        return f"rows={self.rows}"


def memory_of(
    rows: int, names: Sequence[str], seen: Tensor, rooms: Sequence[Tensor]
) -> Memory:
    """Make a memory that writes to the tensors of another."""
    memory = Memory(rows, names)
    memory._buffers.update(zip(names, rooms, strict=True), seen=seen)
    return memory


@torch.library.custom_op("fairret::lerp", mutates_args=())
def _lerp_node(old: Tensor, value: Tensor, share: Tensor) -> Tensor:
    """A node that the backward pass does not compute anew, as it may `torch.lerp`.

    By then the memory has changed, of which inductor takes no notice (torch 2.13).
    """
    return torch.lerp(old, value, share)


@_lerp_node.register_fake
def _(old: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.empty_like(value)


def _dtype_on(device: torch.device) -> torch.dtype:
    return torch.float32 if device.type == "mps" else torch.float64
