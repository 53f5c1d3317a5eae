"""Sums over the processes that share a batch; a single process sends nothing.

Losses of parts of a batch are never averaged. Processes exchange sums (numerators,
denominators, the sums of a projection) or, if a batch is small, its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor

from fairret.errors import ArgumentError, DtypeError

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Choice: TypeAlias = "ProcessGroup | Literal[False] | None"


class Processes(NamedTuple):
    """The processes that share a batch, and the rank of this one."""

    group: ProcessGroup | None = None  # None: the default group, or no other process
    size: int = 1
    rank: int = 0

    def total(self, *parts: Tensor) -> tuple[Tensor, ...]:
        """Sum tensors of one dtype over the processes, in a single message."""
        if self.size == 1:
            return parts
        packed = torch.cat([part.detach().flatten() for part in parts])
        dist.all_reduce(packed, group=self.group)
        sums = torch.split(packed, [part.numel() for part in parts])
        return tuple(x.view_as(part) for x, part in zip(sums, parts, strict=True))

    def add_up(self, *parts: Tensor) -> tuple[Tensor, ...]:
        """Sum over the processes, with a gradient through this process's own part.

        The gradient is multiplied by the number of processes, because DDP and FSDP
        average it over them.
        """
        if self.size == 1:
            return parts
        return tuple(
            whole + self.size * (own - own.detach())
            for whole, own in zip(self.total(*parts), parts, strict=True)
        )

    def gather(self, rows: Tensor, most: int) -> tuple[Tensor, slice] | None:
        """Gather the rows of all processes, `(n, r)`, in every process.

        A message is as long as the last call needed, so that batches of one size take
        one message.

        Args:
            rows: The rows of this process, possibly none.
            most: Largest number of elements to gather.

        Returns:
            All rows and the slice of this process's own; None if they are too many.
        """
        key = dist.group.WORLD if self.group is None else self.group
        capacity = _CAPACITY.get(key, 0)
        counts, parts = self._exchange(rows, capacity)
        _CAPACITY[key] = largest = max(counts)
        if sum(counts) * rows.shape[1] > most:
            _CAPACITY[key] = 0
            return None
        if largest > capacity:
            _, parts = self._exchange(rows, largest)
        first = sum(counts[: self.rank])
        whole = torch.cat([part[:n] for part, n in zip(parts, counts, strict=True)])
        return whole, slice(first, first + counts[self.rank])

    def _exchange(self, rows: Tensor, capacity: int) -> tuple[list[int], list[Tensor]]:
        """Send the number of rows and, if they fit, the rows."""
        n, r = rows.shape
        message = rows.new_zeros(1 + capacity * r)
        message[0] = n
        if n <= capacity:
            message[1 : 1 + n * r] = rows.flatten()
        found = [torch.empty_like(message) for _ in range(self.size)]
        dist.all_gather(found, message, group=self.group)
        counts = [int(part[0]) for part in found]
        return counts, [part[1:].view(capacity, r) for part in found]

    def once(self, x: Tensor) -> Tensor:
        """Return x in one process and 0 in the others, so that a sum counts it once."""
        return x if self.rank == 0 else torch.zeros_like(x)

    def slot(self, number: Tensor) -> Tensor:
        """Place a scalar in this rank's slot, so that a sum gathers one per rank."""
        if self.size == 1:
            return number.reshape(1)
        slots = number.new_zeros(self.size)
        slots[self.rank] = number
        return slots


ALONE = Processes()
DEFAULT, OFF = "default", "off"
_GROUPS: dict[str, ProcessGroup] = {}  # by name: a group itself cannot be copied
_CAPACITY: WeakKeyDictionary[object, int] = WeakKeyDictionary()  # rows, by group


def check_group(choice: Choice) -> str:
    """Check a choice of processes, and return its name for `find_processes`.

    Args:
        choice: A process group; None for the default one, if there is one; False for
            this process alone.
    """
    if choice is None:
        return DEFAULT
    if choice is False:
        return OFF
    other: object = choice
    if dist.is_available() and other is dist.GroupMember.NON_GROUP_MEMBER:
        raise ArgumentError(
            "`process_group` must be a group that this process is in; got one of other "
            "processes. Create the loss in those only, or pass False here."
        )
    if not (dist.is_available() and isinstance(choice, dist.ProcessGroup)):
        raise DtypeError(
            "`process_group` must be a `torch.distributed.ProcessGroup`, None for the "
            f"default group, or False for this process alone; got {choice!r}. Make "
            "one with `torch.distributed.new_group`."
        )
    _GROUPS[choice.group_name] = choice
    return choice.group_name


def find_processes(name: str) -> Processes:
    """Find the processes that share a batch at present."""
    if name == OFF or not (dist.is_available() and dist.is_initialized()):
        return ALONE
    if name not in (DEFAULT, *_GROUPS):
        raise ArgumentError(
            "`process_group` must be a group of this process; got a loss from "
            f"another process, for group {name!r}. Create the loss again here."
        )
    group = None if name == DEFAULT else _GROUPS[name]
    size = dist.get_world_size(group)
    return ALONE if size < 2 else Processes(group, size, dist.get_rank(group))
