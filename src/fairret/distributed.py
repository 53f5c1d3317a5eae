"""Sums over the processes that share a batch; in a process on its own, nothing happens.

Only sums cross processes: numerators, denominators, and what the projection adds up.
Losses of parts of a batch are never averaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor

from fairret.errors import ArgumentError, DtypeError

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Choice: TypeAlias = "ProcessGroup | Literal[False] | None"


class Processes(NamedTuple):
    """The processes that share a batch, and this one's place among them."""

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

        The gradient is multiplied by the number of processes, because those who train
        on several processes (DDP, FSDP) average it over them.
        """
        if self.size == 1:
            return parts
        return tuple(
            whole + self.size * (own - own.detach())
            for whole, own in zip(self.total(*parts), parts, strict=True)
        )

    def slot(self, number: Tensor) -> Tensor:
        """Put a number where only this process writes: the sum has one for each."""
        if self.size == 1:
            return number.reshape(1)
        slots = number.new_zeros(self.size)
        slots[self.rank] = number
        return slots


ALONE = Processes()
DEFAULT, OFF = "default", "off"
_GROUPS: dict[str, ProcessGroup] = {}  # by name: a group itself cannot be copied


def name_of(choice: Choice) -> str:
    """Check a choice, and give the name that `processes_of` knows it by.

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
            "processes. Make the loss in those alone, or pass False here."
        )
    if not (dist.is_available() and isinstance(choice, dist.ProcessGroup)):
        raise DtypeError(
            "`process_group` must be a `torch.distributed.ProcessGroup`, None for the "
            f"default group, or False for this process alone; got {choice!r}. Make "
            "one with `torch.distributed.new_group`."
        )
    _GROUPS[choice.group_name] = choice
    return choice.group_name


def processes_of(name: str) -> Processes:
    """Look up who shares the batch now."""
    if name == OFF or not (dist.is_available() and dist.is_initialized()):
        return ALONE
    if name not in (DEFAULT, *_GROUPS):
        raise ArgumentError(
            "`process_group` must be a group of this process; got a loss that was made "
            f"in another one, for a group {name!r}. Make the loss anew here."
        )
    group = None if name == DEFAULT else _GROUPS[name]
    size = dist.get_world_size(group)
    return ALONE if size < 2 else Processes(group, size, dist.get_rank(group))
