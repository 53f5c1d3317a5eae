"""Memberships of rows in groups: all of them, or only those that are not zero."""

from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

MANY = 32  # groups from which it pays to look for the zeros
FULL = 1 / 8  # share of the groups that a row may belong to, for the same reason


class Few(NamedTuple):
    """The q memberships of every row that are not zero, one for each trait."""

    place: Tensor  # (q, n): of which group
    value: Tensor  # (q, n): the membership, 0 where a row has fewer
    d_s: int


Memberships: TypeAlias = Tensor | Few


def read_memberships(s: Tensor, dtype: torch.dtype) -> Memberships:
    """Bring memberships, `(n, d_s)`, to a form that is fast to add up.

    Where most are zero, which is free to see on the CPU alone, only the others are
    kept. Else the columns lie one after the other in memory.
    """
    if s.shape[1] >= MANY and s.device.type == "cpu":
        few = _find_few(s.detach(), dtype)
        if few is not None:
            return few
    columns = s.T.to(dtype, memory_format=torch.contiguous_format)
    return columns.contiguous().T


def add_up(x: Tensor, s: Memberships) -> Tensor:
    r""":math:`\sum_i x_{ji} S_{ik}` for x of shape `(K, n)`: `(K, d_s)`."""
    if isinstance(s, Tensor):
        return x @ s
    sums = x.new_zeros(len(x), s.d_s)
    places = s.place.flatten().expand(len(x), -1)
    return sums.scatter_add_(1, places, (x.unsqueeze(1) * s.value).flatten(1))


def _find_few(s: Tensor, dtype: torch.dtype) -> Few | None:
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
        return Few(
            group.view(shape).T.contiguous(), value.view(shape).T.contiguous(), d_s
        )
    turn = torch.arange(len(found)) - (count.cumsum(0) - count)[row]
    few = Few(group.new_zeros(q, n), value.new_zeros(q, n), d_s)
    few.place[turn, row] = group
    few.value[turn, row] = value
    return few
