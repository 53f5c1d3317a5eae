"""Batches with rows of every stratum, and the weights that correct for it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import Sampler

from fairret.errors import DtypeError, RangeError, ShapeError


class StratifiedBatchSampler(Sampler[list[int]]):
    r"""Sample batches that have rows of every stratum.

    A small batch may have no rows of a rare group. Here every stratum gets its share of
    each batch, but at least `least` rows. Rows of a rare stratum are therefore sampled
    more often than others, and get a smaller weight:

    .. math:: w_i = \frac{n_k / n}{b_k / b}

    for a row i of stratum k, which has :math:`n_k` of the n rows and :math:`b_k` of
    the b rows of a batch. Weighted sums over a batch are unbiased. Pass the weight to
    the fairret and to the other loss.

    Args:
        strata: The stratum of each row, `(n,)`; or memberships, `(n, d_s)`, of which
            every distinct row is a stratum.
        batch_size: Rows per batch.
        least: Minimum number of rows per stratum and batch.
        seed: Of the order, which differs between epochs.
        rank: Rank of this process. Each process gets its own batches.
        processes: Number of processes.

    Example:
        >>> import torch
        >>> strata = torch.tensor([0] * 90 + [1] * 10)
        >>> sampler = StratifiedBatchSampler(strata, batch_size=10, least=2)
        >>> batch = next(iter(sampler))
        >>> strata[batch].bincount()
        tensor([8, 2])
        >>> sampler.weight[[0, 99]]
        tensor([1.1250, 0.5000])
    """

    def __init__(
        self,
        strata: Tensor,
        batch_size: int,
        *,
        least: int = 1,
        seed: int = 0,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        codes = _codes(strata)
        for name, value, hint in (
            ("batch_size", batch_size, "For example, pass 32."),
            ("least", least, "Leave it out for 1."),
            ("processes", processes, "Pass `torch.distributed.get_world_size()`."),
        ):
            if type(value) is not int or value < 1:
                raise RangeError(
                    f"`{name}` must be a whole number of at least 1; got {value!r}. "
                    + hint
                )
        if type(seed) is not int:
            raise DtypeError(
                f"`seed` must be a whole number; got {seed!r}. Leave it out for 0."
            )
        if rank not in range(processes):
            raise RangeError(
                f"`rank` must be one of 0 to {processes - 1} for {processes} "
                f"processes; got {rank!r}. Pass `torch.distributed.get_rank()` and "
                "`get_world_size()`."
            )
        count = codes.bincount()
        self.batch_size, self.seed, self.epoch = batch_size, seed, 0
        self.rank, self.processes = rank, processes
        self.shares = _shares(count, batch_size, least)
        """Rows per batch of each stratum."""
        self._rows = [(codes == k).nonzero()[:, 0] for k in range(len(count))]
        self._batches = max(1, len(codes) // (batch_size * processes))
        weight = (count / len(codes)) / (self.shares / batch_size)
        self.weight = weight[codes].to(torch.get_default_dtype())
        """Weight of each row of the data, `(n,)`."""

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return self._batches

    def __iter__(self) -> Iterator[list[int]]:
        """Iterate over the batches of an epoch; the next epoch has another order."""
        # epochs of one seed must not be those of another
        mixed = random.Random(f"{self.seed} {self.epoch}").getrandbits(63)
        rng = torch.Generator().manual_seed(mixed)
        self.epoch += 1
        count = self._batches * self.processes
        dealt = [
            _cycle(own, count * int(share), rng).view(count, -1)
            for own, share in zip(self._rows, self.shares, strict=True)
        ]
        for batch in torch.cat(dealt, 1)[self.rank :: self.processes]:
            yield batch[torch.randperm(len(batch), generator=rng)].tolist()

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, for example after resuming."""
        self.epoch = epoch


def rarest_group(sens: Tensor) -> Tensor:
    """Number each row by the rarest group that it belongs to, `(n,)`.

    With several traits, this gives few strata, and rare groups have their own. A group
    whose members all belong to groups that are as rare or rarer has none, and may still
    be absent from a batch. Columns with values other than 0 and 1 are ignored. Rows
    without a group have the number d_s.

    Args:
        sens: Memberships, `(n, d_s)`.

    Example:
        >>> import torch
        >>> sens = torch.tensor(
        ...     [[1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]
        ... )
        >>> rarest_group(sens)
        tensor([0, 0, 3, 1])
    """
    if not isinstance(sens, Tensor):
        raise DtypeError(
            f"`sens` must be a tensor; got {type(sens).__name__}. Convert it with "
            "`torch.as_tensor`, or encode traits with `SensitiveEncoder`."
        )
    if sens.dim() != 2:
        raise ShapeError(
            "`sens` must have memberships, (n, d_s); got shape "
            f"{tuple(sens.shape)}. Encode traits with `SensitiveEncoder`."
        )
    member = sens == 1
    is_group = (member | (sens == 0)).all(0)
    member = member & is_group
    size = torch.where(member, member.sum(0).to(torch.float64), torch.inf)
    number: Tensor = torch.where(member.any(1), size.argmin(1), sens.shape[1])
    return number


def _codes(strata: Tensor) -> Tensor:
    """Number the strata from 0, without gaps."""
    if not isinstance(strata, Tensor):
        raise DtypeError(
            "`strata` must be a tensor, one number or one row of memberships for every "
            f"row of the data; got {type(strata).__name__}. Convert it with "
            "`torch.as_tensor`."
        )
    if strata.dim() not in (1, 2) or len(strata) == 0:
        raise ShapeError(
            "`strata` must have shape (n,) or (n, d_s) with at least one row; got "
            f"{tuple(strata.shape)}. Pass the codes of a trait, or `sens`."
        )
    codes: Tensor = torch.unique(strata, dim=0, return_inverse=True)[1]
    return codes


def _shares(count: Tensor, batch_size: int, least: int) -> Tensor:
    """Divide a batch among the strata in proportion, with a minimum for each."""
    k = len(count)
    if least * k > batch_size:
        raise RangeError(
            f"`batch_size` must be at least {least * k}, for {k} strata with `least` "
            f"{least} rows each; got {batch_size}. Pass a larger one, or fewer strata: "
            "such as the codes of one trait, with amounts such as age cut into bins."
        )
    ideal = count / count.sum() * batch_size
    shares = ideal.floor().clamp_min(least)
    while shares.sum() != batch_size:  # one row at a time, where the error is largest
        missing = shares.sum() < batch_size
        gap = ideal - shares
        if missing:
            shares[gap.argmax()] += 1
        else:
            shares[gap.masked_fill(shares <= least, torch.inf).argmin()] -= 1
    return shares.long()


def _cycle(rows: Tensor, number: int, rng: torch.Generator) -> Tensor:
    """Repeat the rows in random order until there are enough."""
    times = -(-number // len(rows))
    order = [rows[torch.randperm(len(rows), generator=rng)] for _ in range(times)]
    return torch.cat(order)[:number]
