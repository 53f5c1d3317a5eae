"""Memberships of rows in groups, dense or sparse."""

from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from fairret.device import cut, is_large

MANY = 32  # groups from which sparse memberships are faster
FULL = 1 / 8  # largest share of nonzero memberships for which they are


class SparseMemberships(NamedTuple):
    """The q nonzero memberships of every row, one per trait."""

    place: Tensor  # (q, n): the group
    value: Tensor  # (q, n): the membership, 0 if a row has fewer
    d_s: int


Memberships: TypeAlias = Tensor | SparseMemberships


def read_memberships(s: Tensor, dtype: torch.dtype) -> Memberships:
    """Convert memberships, `(n, d_s)`, to a form with fast sums over rows.

    This is sparse if most are zero, which is free to see on the CPU only. Otherwise
    each column is contiguous in memory.
    """
    if s.shape[1] >= MANY and s.device.type == "cpu":
        few = _find_few(s.detach(), dtype)
        if few is not None:
            return few
    columns = torch.empty(s.shape[1], s.shape[0], dtype=dtype, device=s.device)
    if not is_large(s):
        return columns.copy_(s.T).T
    for i in cut(len(s)):
        columns[:, i] = s[i].T
    return columns.T


def take_rows(s: Memberships, which: slice) -> Memberships:
    """The memberships of some rows."""
    if isinstance(s, Tensor):
        return s[which]
    return SparseMemberships(s.place[:, which], s.value[:, which], s.d_s)


def add_up(x: Tensor, s: Memberships) -> Tensor:
    r""":math:`\sum_i x_{ji} S_{ik}` for x of shape `(K, n)`: `(K, d_s)`."""
    if isinstance(s, Tensor):
        return x @ s
    sums = x.new_zeros(len(x), s.d_s)
    places = s.place.flatten().expand(len(x), -1)
    return sums.scatter_add_(1, places, (x.unsqueeze(1) * s.value).flatten(1))


def _find_few(s: Tensor, dtype: torch.dtype) -> SparseMemberships | None:
    n, d_s = s.shape
    found = torch.from_numpy(np.flatnonzero(s.bool().numpy()))  # torch's takes 6 times
    if len(found) > FULL * n * d_s:
        return None
    row, group = found // d_s, found % d_s
    count = torch.bincount(row, minlength=n)
    q = max(int(count.max()) if n else 0, 1)
    if q > max(1, FULL * d_s):
        return None
    value = s[row, group].to(dtype)
    if len(found) == q * n:
        shape = (n, q)
        return SparseMemberships(
            group.view(shape).T.contiguous(), value.view(shape).T.contiguous(), d_s
        )
    turn = torch.arange(len(found)) - (count.cumsum(0) - count)[row]
    few = SparseMemberships(group.new_zeros(q, n), value.new_zeros(q, n), d_s)
    few.place[turn, row] = group
    few.value[turn, row] = value
    return few
