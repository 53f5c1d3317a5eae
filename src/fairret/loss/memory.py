r"""What a loss remembers of earlier batches, so that small ones suffice.

A ratio of sums over a few rows is mostly noise, and a function of noise is not zero on
average. The sums themselves are right on average, so that their running means are as
good as those of a larger batch. The gradient is that of the batch alone: its sums are
linear in the scores, so it is right on average too.
"""

from typing import Any

import torch
from torch import Tensor, nn

from fairret.errors import ArgumentError, RangeError, ShapeError

LONG = 1 << 40  # rows


def check_memory(memory: object) -> int:
    """Insist on a number of rows."""
    if type(memory) is not int or not 0 <= memory < LONG:
        raise RangeError(
            f"`memory` must be a whole number of rows, 0 for none; got {memory!r}. "
            "Pass 4096, say, where a batch has fewer rows than that."
        )
    return memory


class Memory(nn.Module):
    """Running means over about the last `rows` rows; the first are a plain mean.

    They are part of the state that a checkpoint keeps.
    """

    seen: Tensor

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows
        # of shape (1,): compiled graphs lose changes of a 0-dim tensor (torch 2.13)
        self.register_buffer("seen", torch.zeros(1, dtype=torch.float64))

    def share_of(self, n: Tensor) -> Tensor:
        """Give the share that a batch of n rows has in the means from now on."""
        self.seen.add_(n.to(self.seen))
        return n / self.seen.clamp(1.0, float(self.rows)).clamp_min(n)

    def mix(self, name: str, value: Tensor, share: Tensor) -> Tensor:
        """Add a value to the running mean of that name, and give the mean."""
        old = self._room(name, value)
        mean = torch.lerp(old.to(value), value, share)
        # a model that has diverged must not spoil what is kept
        old.copy_(torch.where(value.isfinite().all(), mean, old))
        return mean

    def recall(self, name: str, like: Tensor) -> Tensor:
        """Give what is kept by that name, at first zeros."""
        return self._room(name, like).to(like)

    def keep(self, name: str, value: Tensor) -> None:
        """Keep a value as it is."""
        self._room(name, value).copy_(value)

    def _room(self, name: str, like: Tensor) -> Tensor:
        """Look a buffer up; the first batch tells its shape."""
        room = self._buffers.get(name)
        if room is None:
            if torch.compiler.is_compiling():
                raise ArgumentError(
                    "A loss with `memory` must see a batch before it is compiled, "
                    "which tells how many groups there are; it has seen none. Call it "
                    "once outside of `torch.compile`."
                )
            room = torch.zeros_like(like)
            self.register_buffer(name, room)
        elif room.shape != like.shape:
            raise ShapeError(
                "`sens` must have the same columns in all batches, since the loss "
                f"remembers them; got {tuple(like.shape)} after {tuple(room.shape)}. "
                "Encode every batch with the same encoder, or call "
                "`loss.memory.forget()`."
            )
        return room

    def forget(self) -> None:
        """Start anew, as after a change of the data."""
        for name in [name for name in self._buffers if name != "seen"]:
            del self._buffers[name]
        self.seen.zero_()

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        """Make room for what was remembered: before the first batch there is none."""
        self.forget()
        for key, value in state_dict.items():
            name = key.removeprefix(prefix)
            if key.startswith(prefix) and "." not in name and name != "seen":
                self.register_buffer(name, torch.zeros_like(value))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def extra_repr(self) -> str:
        """Show the length."""
        return f"rows={self.rows}"
