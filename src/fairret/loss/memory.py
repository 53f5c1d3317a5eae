r"""Running means over past batches, so that small batches suffice.

A ratio of sums over a few rows is mostly noise, and a function of noise is biased. The
sums themselves are unbiased, so their running means are as good as those of a larger
batch. The gradient is that of the current batch only: its sums are linear in the
scores, so it is unbiased too.
"""

import re
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from fairret.device import wide_dtype
from fairret.errors import ArgumentError, DtypeError, RangeError, ShapeError, StateError

LONG = 1 << 40  # rows
OWNER = "statistic"  # name of a buffer; states of older versions do not have it


def check_memory(memory: object) -> int:
    """Require a number of rows."""
    if isinstance(memory, bool) or not isinstance(memory, Integral):
        raise DtypeError(
            f"`memory` must be a whole number of rows, 0 for none; got {memory!r}. "
            "Pass 4096, for example, if batches have fewer rows."
        )
    rows = int(memory)
    if not 0 <= rows < LONG:
        raise RangeError(
            f"`memory` must be at least 0 and below {LONG}; got {rows}. Pass the "
            "number of rows to remember, such as 4096, or 0 for none."
        )
    return rows


class Memory(nn.Module):
    """Running means over about the last `rows` rows; at first plain means.

    Older rows are down-weighted exponentially, never dropped. The means are part of the
    state dict, and stay in float64 if the model is cast.

    Args:
        rows: Approximate number of rows.
        names: Names of the means.
        statistic: Name of the statistic that the sums belong to. It is kept as a buffer
            of UTF-8 bytes: a state is loaded only for the same statistic.
    """

    seen: Tensor

    def __init__(self, rows: int, names: Sequence[str], statistic: str = "") -> None:
        super().__init__()
        self.rows, self.names = rows, tuple(names)
        self._owner = re.sub(" at 0x[0-9a-f]+", "", statistic)  # of a lambda
        owner = torch.tensor(list(self._owner.encode()), dtype=torch.uint8)
        self.register_buffer(OWNER, owner)
        # of shape (1,): compiled graphs lose changes of a 0-dim tensor (torch 2.13)
        self.register_buffer("seen", torch.zeros(1, dtype=torch.int64))
        for name in self.names:  # the first batch sets their shapes
            self.register_buffer(name, torch.zeros(0, dtype=torch.float64))

    def kept(self) -> list[Tensor]:
        """The means, in the order of the names, for a compiled graph."""
        kept = [self.get_buffer(name) for name in self.names]
        if torch.compiler.is_compiling() and not all(x.numel() for x in kept):
            raise ArgumentError(
                "A loss with `memory` must see a batch before it is compiled, to know "
                "the number of groups; it has seen none. Call it once without "
                "`torch.compile`, in training mode and with gradients."
            )
        return kept

    def add_rows(self, n: Tensor, *values: Tensor) -> Tensor:
        """Count the n rows of a batch, and return its share in the means.

        A batch whose values are not finite does not count.

        Args:
            n: The number of rows.
            *values: What the batch adds to the first of the names, in their order.
        """
        for name, value in zip(self.names, values, strict=False):
            self._find_buffer(name, value)  # a batch that is refused changes nothing
        if self.seen.device != n.device:
            self._buffers["seen"] = self.seen.to(n.device)
        fine = torch.stack([x.isfinite().all() for x in values]).all()
        self.seen.add_((n * fine).to(self.seen))
        return n * fine / self.seen.to(n).clamp(1.0, float(self.rows)).clamp_min(n)

    def mix(self, name: str, value: Tensor, share: Tensor) -> Tensor:
        """Update the running mean of that name with a value, and return it."""
        old = self._find_buffer(name, value)
        lerp = _lerp_node if torch.compiler.is_compiling() else torch.lerp
        mean = lerp(old.to(value), value, share)
        # a model that has diverged must not spoil what is kept
        counts = value.isfinite().all() & (share > 0)
        old.copy_(torch.where(counts, mean, old))
        return mean

    def recall(self, name: str, like: Tensor) -> Tensor:
        """Return what is kept by that name, at first zeros."""
        return self._find_buffer(name, like).to(like)

    def keep(self, name: str, value: Tensor) -> None:
        """Keep a value as it is."""
        self._find_buffer(name, value).copy_(value)

    def _find_buffer(self, name: str, like: Tensor) -> Tensor:
        """Look up a buffer; the first batch sets its shape."""
        buffer = self.get_buffer(name)
        if buffer.numel() == 0 and like.numel():
            self.kept()
            buffer = like.new_zeros(like.shape, dtype=wide_dtype(like.device))
        elif buffer.shape != like.shape:
            raise ShapeError(
                "`sens` must have the same columns in all batches of a loss with "
                f"memory; got {like.shape[-1]} after {buffer.shape[-1]}. "
                "Encode every batch with the same encoder, or call "
                "`loss.memory.forget()`."
            )
        elif buffer.device != like.device:
            buffer = buffer.to(like.device)
        self._buffers[name] = buffer
        return buffer

    def forget(self) -> None:
        """Start again, for example after a change of the data."""
        for name in self.names:
            self._buffers[name] = self.get_buffer(name).new_zeros(0)
        self.seen.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Memory":
        """Move with the model to a device, but keep the dtype."""
        for name, buffer in self._buffers.items():
            assert buffer is not None  # all are tensors
            device = fn(torch.zeros(0, device=buffer.device)).device
            dtype = buffer.dtype if name in ("seen", OWNER) else wide_dtype(device)
            self._buffers[name] = buffer.to(device, dtype)
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        """Give buffers the shapes of the state: before the first batch they are empty.

        Raises:
            StateError: If the state belongs to another statistic.
        """
        owner = state_dict.setdefault(prefix + OWNER, self.get_buffer(OWNER))
        if isinstance(owner, Tensor) and owner.device.type != "meta":
            self._check_owner(bytes(owner.flatten().tolist()).decode(errors="replace"))
            state_dict[prefix + OWNER] = self.get_buffer(OWNER)
        for name in self.names:
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor):
                buffer = self.get_buffer(name)
                self._buffers[name] = buffer.new_zeros(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _check_owner(self, owner: str) -> None:
        if owner != self._owner:
            raise StateError(
                "The state of a memory must come from a loss with the same statistic "
                f"and divergence; got that of {owner!r} for {self._owner!r}. Load it "
                f"into a loss for {owner!r}, or remove the keys of the memory and pass "
                "`strict=False` to start with an empty one."
            )

    def extra_repr(self) -> str:
        """Show the length."""
        return f"rows={self.rows}"


@torch.library.custom_op("fairret::lerp", mutates_args=())
def _lerp_node(old: Tensor, value: Tensor, share: Tensor) -> Tensor:
    """A node that the backward pass does not recompute, as it may do with `torch.lerp`.

    By then the memory has changed, which inductor does not notice (torch 2.13).
    """
    return torch.lerp(old, value, share)


@_lerp_node.register_fake
def _(old: Tensor, value: Tensor, share: Tensor) -> Tensor:
    return torch.empty_like(value)
